package snapshot

import (
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

func putAwaiting(e *Writer, s *fsm.Snapshot) bool {
	x := s.Awaiting
	if x == nil {
		return false
	}
	m := value.NewMap("state", x.State, "kind", x.Kind, "what", x.What, "since", fsm.FormatTime(x.Since), "next",
		fsm.FormatTime(x.Next))
	for _, f := range []struct {
		key string
		at  time.Time
	}{{"until", x.Until}, {"deadline", x.Deadline}, {"remind_at", x.RemindAt}, {"escalate_at", x.EscalateAt}} {
		if !f.at.IsZero() {
			m.Set(f.key, fsm.FormatTime(f.at))
		}
	}
	if x.Status != "" {
		m.Set("status", x.Status)
	}
	if x.Form != "" {
		m.Set("form", x.Form)
	}
	if x.Number > 0 {
		m.Set("number", int64(x.Number))
	}
	if x.Looks > 0 {
		m.Set("looks", int64(x.Looks))
	}
	if x.Heard > 0 {
		m.Set("heard", int64(x.Heard)) //nolint:gosec // there are never so many answers
	}
	if x.Reminders > 0 {
		m.Set("reminders", int64(x.Reminders))
	}
	if x.Looking {
		m.Set("looking", true)
	}
	if x.Seen != "" {
		m.Set("seen", x.Seen)
	}
	return e.Value(m)
}

func takeAwaiting(r *memory, v any) error {
	r.Awaiting = &fsm.Awaiting{}
	x := r.Awaiting
	return TakeParts(v, map[string]func(any) error{
		"state":    func(v any) error { return TakeText(&x.State, v) },
		"kind":     func(v any) error { return TakeText(&x.Kind, v) },
		"what":     func(v any) error { return TakeText(&x.What, v) },
		"status":   func(v any) error { return TakeText(&x.Status, v) },
		"form":     func(v any) error { return TakeText(&x.Form, v) },
		"number":   func(v any) error { return TakeInt(&x.Number, v) },
		"since":    func(v any) error { return TakeTime(&x.Since, v) },
		"until":    func(v any) error { return TakeTime(&x.Until, v) },
		"deadline": func(v any) error { return TakeTime(&x.Deadline, v) },
		"next":     func(v any) error { return TakeTime(&x.Next, v) },
		"looks":    func(v any) error { return TakeInt(&x.Looks, v) },
		"looking":  func(v any) error { return takeBool(&x.Looking, v) },
		"seen":     func(v any) error { return TakeText(&x.Seen, v) },

		"heard":       func(v any) error { return TakeInt(&x.Heard, v) },
		"reminders":   func(v any) error { return TakeInt(&x.Reminders, v) },
		"remind_at":   func(v any) error { return TakeTime(&x.RemindAt, v) },
		"escalate_at": func(v any) error { return TakeTime(&x.EscalateAt, v) },
	})
}
