package views

import (
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/ui"
)

// WaitObject is a wait for a program.
func WaitObject(w *fsm.Wait) *value.Map {
	m := value.NewMap("for", w.Why, "tier", ui.OrNull(w.Tier), "state", w.State, "since", ui.Stamp(w.Since), "until", ui.Stamp(w.Until),
		"seconds_left", max(0, int64(time.Until(w.Until).Seconds())), "host", ui.OrNull(w.Host))
	if w.Why != fsm.WaitState {
		return m
	}
	if w.Until.IsZero() {
		m.Set("until", nil)
		m.Set("seconds_left", nil)
	}
	m.Set("what", w.What)
	m.Set("event", ui.OrNull(w.Event))
	m.Set("choices", ui.OrNull(w.Choices))
	m.Set("checks", int64(w.Looks))
	m.Set("seen", ui.OrNull(w.Seen))
	return m
}
