package snapshot

import (
	"loops/fsm"
	"loops/fsm/value"
)

func putGuard(e *Writer, s *fsm.Snapshot) bool {
	g := s.Guard
	if g == nil {
		return false
	}
	m := value.NewMap("before", g.Before)
	if b := g.Breach; b != nil {
		files := make([]any, len(b.Files))
		for i, f := range b.Files {
			files[i] = f
		}
		m.Set("breach", value.NewMap("at", b.At, "after", b.After, "reason", b.Reason, "files", files))
	}
	if g.Reset != "" {
		m.Set("reset", g.Reset)
	}
	return e.Value(m)
}

func takeGuard(r *memory, v any) error {
	g := &fsm.Guarded{}
	r.Guard = g
	return TakeParts(v, map[string]func(any) error{
		"before": func(v any) error { return TakeText(&g.Before, v) },
		"reset":  func(v any) error { return TakeText(&g.Reset, v) },
		"breach": func(v any) error {
			b := &fsm.Breach{}
			g.Breach = b
			return TakeParts(v, map[string]func(any) error{
				"at":     func(v any) error { return TakeText(&b.At, v) },
				"after":  func(v any) error { return TakeText(&b.After, v) },
				"reason": func(v any) error { return TakeText(&b.Reason, v) },
				"files":  func(v any) error { return takeTexts(&b.Files, v) },
			})
		},
	})
}
