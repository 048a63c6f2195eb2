package snapshot

import (
	"maps"
	"slices"

	"loops/fsm"
	"loops/fsm/value"
)

func spentValue(s fsm.Spent) any {
	return value.NewMap("cost_usd", s.CostUSD, "unpriced", s.Unpriced, "usage", usageValue(s.Usage), "prompts", s.Prompts, "steps", s.Steps,
		"wall_ns", int64(s.Wall))
}

func takeSpent(to *fsm.Spent, v any) error {
	return TakeParts(v, map[string]func(any) error{
		"cost_usd": func(v any) error { return takeFloat(&to.CostUSD, v) },
		"unpriced": func(v any) error { return TakeInt(&to.Unpriced, v) },
		"usage":    func(v any) error { return takeUsage(&to.Usage, v) },
		"prompts":  func(v any) error { return TakeInt(&to.Prompts, v) },
		"steps":    func(v any) error { return TakeInt(&to.Steps, v) },
		"wall_ns":  func(v any) error { return TakeInt(&to.Wall, v) },
	})
}

func putStateSpent(e *Writer, s *fsm.Snapshot) bool {
	if len(s.StateSpent) == 0 {
		return false
	}
	e.Open('{')
	for _, k := range slices.Sorted(maps.Keys(s.StateSpent)) {
		e.Key(k)
		e.Value(spentValue(s.StateSpent[k]))
	}
	return e.Close('}')
}

func takeStateSpent(r *memory, v any) error {
	return takeEntries(v, func(k string, v any) error {
		var x fsm.Spent
		err := takeSpent(&x, v)
		put(&r.StateSpent, k, x)
		return err
	})
}
