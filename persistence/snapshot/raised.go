package snapshot

import (
	"loops/fsm"
	"loops/fsm/value"
)

func putRaised(e *Writer, s *fsm.Snapshot) bool {
	x := s.Raised
	return x != nil &&
		e.Value(value.NewMap("n", int64(x.N), "attempt", int64(x.Attempt), "steps", int64(x.By.Steps), "passes",
			int64(x.By.Passes),
			"cost_usd", x.By.CostUSD, "tokens", x.By.Tokens, "prompts", int64(x.By.Prompts), "ms",
			x.By.Time.Milliseconds()))
}

func takeRaised(r *memory, v any) error {
	r.Raised = &fsm.Raised{}
	x := r.Raised
	return TakeParts(v, map[string]func(any) error{
		"n":        func(v any) error { return TakeInt(&x.N, v) },
		"attempt":  func(v any) error { return TakeInt(&x.Attempt, v) },
		"steps":    func(v any) error { return TakeInt(&x.By.Steps, v) },
		"passes":   func(v any) error { return TakeInt(&x.By.Passes, v) },
		"cost_usd": func(v any) error { return takeFloat(&x.By.CostUSD, v) },
		"tokens":   func(v any) error { return TakeInt(&x.By.Tokens, v) },
		"prompts":  func(v any) error { return TakeInt(&x.By.Prompts, v) },
		"ms":       func(v any) error { return takeMillis(&x.By.Time, v) },
	})
}
