package fsm

import (
	"maps"
	"slices"
)

// A value of the loop language is one of nil, bool, int64, *big.Int, float64, string, []any and *Map.

// A Map is a mapping with string keys that keeps the order in which they were first set, because the language
// prints maps. A nil *Map is an empty one that cannot be written. It is not safe for concurrent writes.
//
// Most maps have a handful of keys, so a key is looked for one by one; only where there are many is there an index.
type Map struct {
	keys  []string
	vals  []any          // of the key at the same place
	index map[string]int // place of each key, or nil
}

// indexFrom is the number of keys from which there is an index.
const indexFrom = 12

// NewMap returns a Map of alternating keys (strings) and values.
func NewMap(pairs ...any) *Map {
	m := &Map{keys: make([]string, 0, len(pairs)/2), vals: make([]any, 0, len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		m.Set(pairs[i].(string), pairs[i+1])
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

// Get returns the value of key and whether it is there.
func (m *Map) Get(key string) (any, bool) {
	if i := m.place(key); i >= 0 {
		return m.vals[i], true
	}
	return nil, false
}

// val is the value of a key, or nil.
func (m *Map) val(key string) any {
	v, _ := m.Get(key)
	return v
}

// Set sets key to v; a new key goes to the end.
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
	m.index = make(map[string]int, 2*len(m.keys))
	for i, k := range m.keys {
		m.index[k] = i
	}
}

// Delete removes key.
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

// Keys returns the keys in order. The caller must not change the slice.
func (m *Map) Keys() []string {
	if m == nil {
		return nil
	}
	return m.keys
}

// Clone returns a shallow copy.
func (m *Map) Clone() *Map {
	c := &Map{}
	if m != nil {
		c.keys, c.vals, c.index = slices.Clone(m.keys), slices.Clone(m.vals), maps.Clone(m.index)
	}
	return c
}
