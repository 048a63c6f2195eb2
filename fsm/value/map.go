package value

import (
	"iter"
	"maps"
	"slices"
)

// A Map maps strings to values and keeps the order in which its keys were first set, because the language prints
// maps. A nil *Map is an empty map that cannot be written. A Map is not safe for concurrent writes.
//
// Most maps have a handful of keys, so Get compares them one by one; only a large map has an index.
type Map struct {
	keys  []string
	vals  []any          // of the key at the same place
	index map[string]int // place of each key, or nil
}

// indexFrom is the number of keys from which there is an index.
const indexFrom = 32

// NewMap returns a Map of alternating keys (strings) and values.
func NewMap(pairs ...any) *Map {
	m := &Map{keys: make([]string, 0, len(pairs)/2), vals: make([]any, 0, len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		m.Set(pairs[i].(string), pairs[i+1])
	}
	return m
}

// mapOf returns a Map of keys and their values, which it copies; of equal keys the last value wins.
func mapOf(keys []string, vals []any) *Map {
	m := &Map{keys: slices.Clone(keys), vals: slices.Clone(vals)}
	twice := false
	if len(keys) < indexFrom {
		for i, k := range keys {
			twice = twice || slices.Contains(keys[:i], k)
		}
	} else {
		m.makeIndex()
		twice = len(m.index) < len(keys)
	}
	if twice {
		m = &Map{}
		for i, k := range keys {
			m.Set(k, vals[i])
		}
	}
	return m
}

// Len returns the number of keys.
func (m *Map) Len() int {
	if m == nil {
		return 0
	}
	return len(m.keys)
}

// place returns where a key is, or -1.
func (m *Map) place(key string) int {
	switch {
	case m == nil:
		return -1
	case m.index != nil:
		if i, ok := m.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range m.keys {
		if k == key {
			return i
		}
	}
	return -1
}

// Get returns the value of key and reports whether it is there.
func (m *Map) Get(key string) (any, bool) {
	if i := m.place(key); i >= 0 {
		return m.vals[i], true
	}
	return nil, false
}

// Value returns the value of key, or nil if it is not there.
func (m *Map) Value(key string) any {
	v, _ := m.Get(key)
	return v
}

// Set sets key to v. A new key comes last; one that is there keeps its place.
func (m *Map) Set(key string, v any) {
	if i := m.place(key); i >= 0 {
		m.vals[i] = v
		return
	}
	m.keys, m.vals = append(m.keys, key), append(m.vals, v)
	switch {
	case m.index != nil:
		m.index[key] = len(m.keys) - 1
	case len(m.keys) >= indexFrom:
		m.makeIndex()
	}
}

func (m *Map) makeIndex() {
	m.index = make(map[string]int, len(m.keys))
	for i, k := range m.keys {
		m.index[k] = i
	}
}

// Delete removes key, if it is there.
func (m *Map) Delete(key string) {
	i := m.place(key)
	if i < 0 {
		return
	}
	m.keys, m.vals = slices.Delete(m.keys, i, i+1), slices.Delete(m.vals, i, i+1)
	if m.index != nil {
		m.makeIndex()
	}
}

// Keys returns the keys, in order. The caller must not change the slice.
func (m *Map) Keys() []string {
	if m == nil {
		return nil
	}
	return m.keys
}

// All returns the keys and their values, in order. The map must not change meanwhile.
func (m *Map) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i, k := range m.Keys() {
			if !yield(k, m.vals[i]) {
				return
			}
		}
	}
}

// Clone returns a shallow copy, which is never nil.
func (m *Map) Clone() *Map {
	c := &Map{}
	if m != nil {
		c.keys, c.vals, c.index = slices.Clone(m.keys), slices.Clone(m.vals), maps.Clone(m.index)
	}
	return c
}
