package snapshot

import (
	"loops/fsm"
	"loops/fsm/value"
)

func putItems(e *Writer, s *fsm.Snapshot) bool {
	x := s.Items
	return x != nil && e.Value(value.NewMap("state", x.State, "iteration", int64(x.Step), "count", int64(x.Count), "list", x.List))
}

func takeItems(r *memory, v any) error {
	r.Items = &fsm.Items{}
	x := r.Items
	return TakeParts(v, map[string]func(any) error{
		"state":     func(v any) error { return TakeText(&x.State, v) },
		"iteration": func(v any) error { return TakeInt(&x.Step, v) },
		"count":     func(v any) error { return TakeInt(&x.Count, v) },
		"list":      func(v any) error { return TakeText(&x.List, v) },
	})
}
