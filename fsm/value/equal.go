package value

// Equal reports whether two values are the same, as == of Python does: numbers and booleans by their numeric value
// (1, 1.0 and true are equal), maps whatever the order of their keys, and NaN never.
func Equal(a, b any) bool {
	if x, ok := NumberOf(a); ok {
		y, ok := NumberOf(b)
		if !ok {
			return false
		}
		c, ordered := x.Compare(y)
		return ordered && c == 0
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		s, ok := b.(string)
		return ok && s == a
	case []any, []string:
		x, y := list(a), list(b)
		if y == nil || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !Equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case *Map:
		y, ok := b.(*Map)
		if !ok || y.Len() != a.Len() {
			return false
		}
		for _, k := range a.Keys() {
			v, ok := y.Get(k)
			if !ok || !Equal(a.Value(k), v) {
				return false
			}
		}
		return true
	}
	return false
}

// list returns the elements of a list, never nil if v is one.
func list(v any) []any {
	switch v := v.(type) {
	case []any:
		if v == nil {
			return []any{}
		}
		return v
	case []string:
		l := make([]any, len(v))
		for i, s := range v {
			l[i] = s
		}
		return l
	}
	return nil
}

// Truthy reports whether Python takes v for true: 0, the empty text, the empty list, the empty map and nil are false.
func Truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case []string:
		return len(v) > 0
	case *Map:
		return v.Len() > 0
	}
	if n, ok := NumberOf(v); ok {
		c, ordered := n.Compare(Number{})
		return !ordered || c != 0
	}
	return true
}
