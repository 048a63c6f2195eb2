package view

import (
	"fmt"
	"time"

	"loops/engine"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// WaitObject is a wait for a program.
func WaitObject(w *fsm.Wait) *value.Map {
	m := value.NewMap("for", w.Why, "tier", terminal.OrNull(w.Tier), "state", w.State, "since", terminal.Stamp(w.Since), "until", terminal.Stamp(w.Until),
		"seconds_left", max(0, int64(time.Until(w.Until).Seconds())), "host", terminal.OrNull(w.Host))
	if w.Why != fsm.WaitState {
		return m
	}
	if w.Until.IsZero() {
		m.Set("until", nil)
		m.Set("seconds_left", nil)
	}
	m.Set("what", w.What)
	m.Set("event", terminal.OrNull(w.Event))
	m.Set("choices", terminal.OrNull(w.Choices))
	m.Set("question", terminal.OrNull(w.Question))
	m.Set("checks", int64(w.Looks))
	m.Set("seen", terminal.OrNull(w.Seen))
	return m
}

// addWaits adds what a run waits for: the first wait, and all of them with their places.
func addWaits(m *value.Map, v *inspect.Status) {
	if v.Wait == nil {
		return
	}
	m.Set("waiting", WaitObject(v.Wait))
	m.Set("waits", terminal.List(v.Open(), func(w fsm.OpenWait) any {
		o := WaitObject(w.Wait)
		o.Set("address", w.Address)
		o.Set("path", terminal.OrNull(w.Path))
		return o
	}))
}

// WokenText says that a wait of a run was ended.
func WokenText(s engine.Effect) string {
	who := "it"
	if s.Path != "" {
		who = inspect.PlaceText(s.Path)
	}
	text := fmt.Sprintf("Woke %s (pid %d): %s waited for %s.", s.Before.ID, s.Before.Owner.PID, who, inspect.WaitText(s.Wait))
	switch {
	case s.Others == 1:
		text += " The run has another wait; each call ends one."
	case s.Others > 1:
		text += fmt.Sprintf(" The run has %d other waits; each call ends one.", s.Others)
	}
	return text
}

// WokenObject returns a wait of a run that was ended, for a program.
func WokenObject(s engine.Effect) *value.Map {
	r := s.Before
	return value.NewMap("instance_id", string(r.ID), "run_id", r.RunID, "loop", r.Loop, "pid", int64(r.Owner.PID), "path", terminal.OrNull(s.Path),
		"waited_for", inspect.WaitText(s.Wait), "other_waits", int64(s.Others))
}
