package ui

import (
	"fmt"

	"loops/fsm/value"
	"loops/persistence"
)

// ForkedText says in a few words where a run comes from; "" = it is no fork.
func ForkedText(o *persistence.Origin) string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf("%s at step %d [%d]", o.ID, o.Step, o.Seq)
}

// AddOrigin adds to an object where a run comes from, if it is a fork.
func AddOrigin(m *value.Map, r persistence.Run) {
	if r.Origin != nil {
		m.Set("forked_from", r.Origin.Map())
	}
}
