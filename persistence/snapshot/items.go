package snapshot

import (
	"loops/fsm"
	"loops/fsm/value"
)

// The list that a state works on is written once, and how its items ended beside it: a text of many items each,
// of which a patch has those that changed.

func putItems(e *Writer, s *fsm.Snapshot) bool {
	x := s.Items
	if x == nil {
		return false
	}
	m := value.NewMap("state", x.State, "iteration", int64(x.Step), "count", int64(x.Count), "list", x.List)
	if x.Since > 0 {
		m.Set("since", int64(x.Since))
	}
	return e.Value(m)
}

func takeItems(r *memory, v any) error {
	r.Items = &fsm.Items{}
	x := r.Items
	return TakeParts(v, map[string]func(any) error{
		"state":     func(v any) error { return TakeText(&x.State, v) },
		"iteration": func(v any) error { return TakeInt(&x.Step, v) },
		"count":     func(v any) error { return TakeInt(&x.Count, v) },
		"list":      func(v any) error { return TakeText(&x.List, v) },
		"since":     func(v any) error { return TakeInt(&x.Since, v) },
	})
}

func sameItems(a, b *fsm.Snapshot) bool {
	x, y := a.Items, b.Items
	return x == y || x != nil && y != nil && x.State == y.State && x.Step == y.Step && x.Count == y.Count &&
		x.List == y.List && x.Since == y.Since
}

func itemEnds(s *fsm.Snapshot) map[string]string {
	if s.Items == nil {
		return nil
	}
	return s.Items.Ends
}

func takeItemEnds(r *memory, v any) error {
	return takeEntries(v, func(k string, v any) error {
		var text string
		err := TakeText(&text, v)
		if r.Items != nil {
			put(&r.Items.Ends, k, text)
		}
		return err
	})
}

func itemStarts(s *fsm.Snapshot) map[string]int {
	if s.Items == nil {
		return nil
	}
	return s.Items.Starts
}

func takeItemStarts(r *memory, v any) error {
	return takeEntries(v, func(k string, v any) error {
		var n int
		err := TakeInt(&n, v)
		if r.Items != nil {
			put(&r.Items.Starts, k, n)
		}
		return err
	})
}

func itemsThrough(s *fsm.Snapshot) uint64 {
	if s.Items == nil {
		return 0
	}
	return s.Items.Through
}

func takeItemsThrough(r *memory, v any) error {
	if r.Items == nil {
		return nil
	}
	return TakeInt(&r.Items.Through, v)
}
