package snapshot

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"unsafe"

	"loops/fsm"
	"loops/fsm/value"
)

// A patch is how the flat object changed since the memory line before. It is an object with the changed keys of
// the flat object, each with its whole new value, null for none; but for maps of counters and of records (see
// field.entries) it holds the entries that changed, each whole. A counter that is null is gone. Entries of
// captured and context can be null themselves, so if one is gone, or moved, the whole map is written under the
// key with _all added. Messages only grow; the new ones are in messages_add. What changed of a sub-loop is a patch of
// the same form in sub_loop; see child.go.
//
// This is not RFC 7386: there, null means "remove" at every depth, so a record could not say timeout_kind: null.

// appendPatch writes the difference between two snapshots.
func appendPatch(e *Writer, now, before *fsm.Snapshot) {
	e.Open('{')
	for i := range layout {
		f := &layout[i]
		if f.same(now, before) {
			continue
		}
		if f.patch != nil {
			mark := len(e.Buf)
			e.keyOf(f)
			start := len(e.Buf)
			f.patch(e, now, before)
			if string(e.Buf[start:]) == "{}" { // nothing changed after all
				e.Buf = e.Buf[:mark]
				continue
			}
			if len(e.Buf) > start {
				continue
			}
			e.Buf = e.Buf[:mark] // it has no short form
			e.Key(f.key + "_all")
		} else {
			e.keyOf(f)
		}
		if !f.put(e, now) {
			e.Value(nil)
		}
	}
	e.Close('}')
}

func patchEntries[V comparable](e *Writer, now, before map[string]V, put func(V)) {
	keys := e.names[:0]
	for k, v := range now {
		if w, ok := before[k]; !ok || v != w {
			keys = append(keys, k)
		}
	}
	for k := range before {
		if _, ok := now[k]; !ok {
			keys = append(keys, k)
		}
	}
	if len(keys) > 1 {
		slices.Sort(keys)
	}
	e.names = keys
	e.Open('{')
	for _, k := range keys {
		e.Key(k)
		if v, ok := now[k]; ok {
			put(v)
		} else {
			e.Value(nil)
		}
	}
	clear(keys)
	e.Close('}')
}

// patchDict writes the changed entries, or nothing if entries are gone or in another order.
func patchDict(e *Writer, now, before *value.Map) {
	if now.Len() < before.Len() || !slices.Equal(now.Keys()[:before.Len()], before.Keys()) {
		return
	}
	e.Open('{')
	for _, k := range now.Keys() {
		v, _ := now.Get(k)
		if w, ok := before.Get(k); !ok || !sameValue(v, w) {
			e.Key(k)
			e.record(v)
		}
	}
	e.Close('}')
}

// patchTexts writes what was added to a list that only grows, under its key with _add added, or nothing if more
// changed.
func patchTexts(e *Writer, now, before []string) {
	if !extends(now, before) {
		return
	}
	e.Buf = e.Buf[:len(e.Buf)-len(`": `)]
	e.Buf = append(e.Buf, `_add": `...)
	e.texts(now[len(before):])
}

func sameTexts(a, b []string) bool { return len(a) == len(b) && extends(a, b) }

// extends reports whether a list begins with the other. Two states of a list that grew mostly share their memory, so
// its length does not matter.
func extends(now, before []string) bool {
	return len(now) >= len(before) &&
		(unsafe.SliceData(now) == unsafe.SliceData(before) || slices.Equal(now[:len(before)], before))
}

// Apply brings a flat object up to date.
func Apply(flat, patch *value.Map) error {
	for _, k := range patch.Keys() {
		v, _ := patch.Get(k)
		if base, ok := cutAny(k, "_all"); ok {
			flat.Set(base, v)
			continue
		}
		if base, ok := cutAny(k, "_add"); ok {
			if err := addTexts(flat, base, v); err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
			continue
		}
		f := byKey[k]
		if f != nil && f.apply != nil && v != nil {
			old, _ := flat.Get(k)
			now, err := f.apply(old, v)
			if err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
			flat.Set(k, now)
			continue
		}
		if f == nil || !f.entries || v == nil {
			flat.Set(k, v)
			continue
		}
		entries, ok := v.(*value.Map)
		if !ok {
			return fmt.Errorf("%s: %w", k, wrong("an object", v))
		}
		old, _ := flat.Get(k)
		to, ok := old.(*value.Map)
		if !ok {
			to = value.NewMap()
			flat.Set(k, to)
		}
		for _, name := range entries.Keys() {
			x, _ := entries.Get(name)
			if x == nil && f.dropNull {
				to.Delete(name)
			} else {
				to.Set(name, x)
			}
		}
	}
	return nil
}

// addTexts makes the list under a key longer.
func addTexts(to *value.Map, key string, v any) error {
	more, ok := v.([]any)
	if !ok {
		return wrong("a list", v)
	}
	old, _ := to.Get(key)
	l, _ := old.([]any)
	to.Set(key, append(l, more...))
	return nil
}

// cutAny takes a suffix off the key of a layout's field.
func cutAny(key, suffix string) (string, bool) {
	if n := len(key) - len(suffix); n > 0 && key[n:] == suffix && byKey[key] == nil && byKey[key[:n]] != nil {
		return key[:n], true
	}
	return key, false
}

// Remember makes shadow, which no one else has, what now is. Records and lists within are shared with now, because
// they never change.
func Remember(shadow *fsm.Snapshot, now *fsm.Snapshot) {
	old := *shadow
	*shadow = *now
	shadow.Context = keepDict(old.Context, now.Context)
	shadow.Captured = keepDict(old.Captured, now.Captured)
	shadow.Messages = now.Messages[:len(now.Messages):len(now.Messages)]
	shadow.Retries = keepCounts(old.Retries, now.Retries)
	shadow.RateLimits = keepCounts(old.RateLimits, now.RateLimits)
	shadow.APIErrors = keepCounts(old.APIErrors, now.APIErrors)
	shadow.InfraErrors = keepCounts(old.InfraErrors, now.InfraErrors)
	shadow.Throttles = keepCounts(old.Throttles, now.Throttles)
	shadow.Holds = keepCounts(old.Holds, now.Holds)
	shadow.StallCounts = keepCounts(old.StallCounts, now.StallCounts)
	shadow.StallPrints = keepCounts(old.StallPrints, now.StallPrints)
	shadow.Evaluators = keepCounts(old.Evaluators, now.Evaluators)
	shadow.StateSpent = keepCounts(old.StateSpent, now.StateSpent)
	shadow.BudgetWarned = keepCounts(old.BudgetWarned, now.BudgetWarned)
	if !equalSlices(old.StallRing, now.StallRing) {
		shadow.StallRing = slices.Clone(now.StallRing)
	} else {
		shadow.StallRing = old.StallRing
	}
	if now.Result != nil {
		r := *now.Result
		shadow.Result = &r
	}
	if now.Outcome != nil {
		o := *now.Outcome
		shadow.Outcome = &o
	}
	shadow.Child = keepChild(old.Child, now.Child)
	shadow.Branches = keepBranches(old.Branches, now.Branches)
}

// Clone returns a copy that shares only what never changes.
func Clone(s *fsm.Snapshot) *fsm.Snapshot {
	c := &fsm.Snapshot{}
	Remember(c, s)
	return c
}

func keepDict(old, now *value.Map) *value.Map {
	if old != nil && sameEntries(old, now) {
		return old
	}
	if now == nil {
		return nil
	}
	return now.Clone()
}

// keepCounts brings old, which is ours, up to date.
func keepCounts[V comparable](old, now map[string]V) map[string]V {
	if old == nil || now == nil {
		return maps.Clone(now)
	}
	for k, v := range now {
		if w, ok := old[k]; !ok || v != w {
			old[k] = v
		}
	}
	if len(old) > len(now) {
		maps.DeleteFunc(old, func(k string, _ V) bool { _, ok := now[k]; return !ok })
	}
	return old
}

func equalSlices[T comparable](a, b []T) bool { return slices.Equal(a, b) }

// sameEntries reports whether two maps have the same keys in the same order with the same values.
func sameEntries(a, b *value.Map) bool {
	if a == b {
		return true
	}
	if a.Len() != b.Len() || !slices.Equal(a.Keys(), b.Keys()) {
		return false
	}
	for _, k := range a.Keys() {
		v, _ := a.Get(k)
		w, _ := b.Get(k)
		if !sameValue(v, w) {
			return false
		}
	}
	return true
}

func sameValue(a, b any) bool {
	switch x := a.(type) {
	case *value.Map:
		y, ok := b.(*value.Map)
		return ok && (x == y || x != nil && y != nil && sameEntries(x, y))
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameValue)
	case *big.Int:
		y, ok := b.(*big.Int)
		return ok && (x == y || x != nil && y != nil && x.Cmp(y) == 0)
	case float64:
		y, ok := b.(float64)
		return ok && math.Float64bits(x) == math.Float64bits(y)
	case nil, bool, int, int64, string:
		return a == b
	}
	return false
}
