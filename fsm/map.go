package fsm

import "slices"

// A value of the loop language is one of nil, bool, int64, *big.Int, float64, string, []any and *Map.

// A Map is a mapping with string keys that keeps the order in which they were first set, because the language
// prints maps. A nil *Map is an empty one that cannot be written. It is not safe for concurrent writes.
type Map struct {
	keys []string
	vals map[string]any
}

// NewMap returns a Map of alternating keys (strings) and values.
func NewMap(pairs ...any) *Map {
	m := &Map{}
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

// Get returns the value of key and whether it is there.
func (m *Map) Get(key string) (any, bool) {
	if m == nil {
		return nil, false
	}
	v, ok := m.vals[key]
	return v, ok
}

// Set sets key to v; a new key goes to the end.
func (m *Map) Set(key string, v any) {
	if m.vals == nil {
		m.vals = make(map[string]any)
	}
	if _, ok := m.vals[key]; !ok {
		m.keys = append(m.keys, key)
	}
	m.vals[key] = v
}

// Delete removes key.
func (m *Map) Delete(key string) {
	if m == nil {
		return
	}
	if _, ok := m.vals[key]; ok {
		delete(m.vals, key)
		i := slices.Index(m.keys, key)
		m.keys = slices.Delete(m.keys, i, i+1)
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
	for _, k := range m.Keys() {
		c.Set(k, m.vals[k])
	}
	return c
}
