package ui

import (
	"fmt"

	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/persistence"
)

// ForkedText says in a few words where a run comes from; "" = it is no fork.
func ForkedText(o *persistence.Origin) string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf("%s at step %d [%d]", o.ID, o.Step, o.Seq)
}

// AddOrigin adds to an object where a run comes from, if it is a fork, and what started it, if that was not a user.
func AddOrigin(m *value.Map, r persistence.Run) {
	if by := inspect.StartedBy(r); by != "" {
		m.Set("started_by", by)
	}
	if r.Origin != nil {
		m.Set("forked_from", r.Origin.Map())
	}
}
