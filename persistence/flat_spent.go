package persistence

import (
	"loops/fsm"
	"loops/fsm/value"
)

func spentValue(s fsm.Spent) any {
	return value.NewMap("cost_usd", s.CostUSD, "unpriced", s.Unpriced, "usage", usageValue(s.Usage), "prompts", s.Prompts, "steps", s.Steps,
		"wall_ns", int64(s.Wall))
}

func takeSpent(to *fsm.Spent, v any) error {
	return takeParts(v, map[string]func(any) error{
		"cost_usd": func(v any) error { return takeFloat(&to.CostUSD, v) },
		"unpriced": func(v any) error { return takeInt(&to.Unpriced, v) },
		"usage":    func(v any) error { return takeUsage(&to.Usage, v) },
		"prompts":  func(v any) error { return takeInt(&to.Prompts, v) },
		"steps":    func(v any) error { return takeInt(&to.Steps, v) },
		"wall_ns":  func(v any) error { return takeInt(&to.Wall, v) },
	})
}

func putStateSpent(e *encoder, s *fsm.Snapshot) bool {
	if len(s.StateSpent) == 0 {
		return false
	}
	e.open('{')
	for _, k := range sortedKeys(s.StateSpent) {
		e.key(k)
		e.value(spentValue(s.StateSpent[k]))
	}
	return e.close('}')
}

func takeStateSpent(r *record, v any) error {
	return takeEntries(v, func(k string, v any) error {
		var x fsm.Spent
		err := takeSpent(&x, v)
		put(&r.StateSpent, k, x)
		return err
	})
}
