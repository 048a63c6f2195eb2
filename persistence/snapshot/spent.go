package snapshot

import (
	"maps"
	"slices"

	"loops/fsm"
	"loops/fsm/value"
)

func spentValue(s fsm.Spent) any {
	m := value.NewMap("cost_usd", s.CostUSD, "unpriced", s.Unpriced, "usage", usageValue(s.Usage), "prompts",
		s.Prompts, "steps", s.Steps,
		"wall_ns", int64(s.Wall))
	if s.Unsure != (fsm.Unsure{}) {
		m.Set("unsure", unsureValue(s.Unsure))
	}
	return m
}

func unsureValue(u fsm.Unsure) any {
	return value.NewMap("count", u.Count, "bounded", u.Bounded, "usd", u.USD)
}

func takeUnsure(to *fsm.Unsure, v any) error {
	return TakeParts(v, map[string]func(any) error{
		"count":   func(v any) error { return TakeInt(&to.Count, v) },
		"bounded": func(v any) error { return TakeInt(&to.Bounded, v) },
		"usd":     func(v any) error { return takeFloat(&to.USD, v) },
	})
}

// unsureField is a field that has prompts whose cost is not known.
func unsureField(key, name string, of func(s *fsm.Snapshot) *fsm.Unsure) field {
	return field{
		key: key, name: name,
		put:  func(e *Writer, s *fsm.Snapshot) bool { return *of(s) != fsm.Unsure{} && e.Value(unsureValue(*of(s))) },
		take: func(r *memory, v any) error { return takeUnsure(of(&r.Snapshot), v) },
		same: func(a, b *fsm.Snapshot) bool { return *of(a) == *of(b) },
	}
}

func takeSpent(to *fsm.Spent, v any) error {
	return TakeParts(v, map[string]func(any) error{
		"cost_usd": func(v any) error { return takeFloat(&to.CostUSD, v) },
		"unpriced": func(v any) error { return TakeInt(&to.Unpriced, v) },
		"unsure":   func(v any) error { return takeUnsure(&to.Unsure, v) },
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
