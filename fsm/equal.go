package fsm

import (
	"cmp"
	"math"
	"math/big"
)

// Equal says whether two values are the same, as == has it in Python: numbers and booleans by their numeric value
// (1, 1.0 and true are equal), maps whatever the order of their keys, NaN never.
func Equal(a, b any) bool {
	if x, ok := toNumber(a); ok {
		y, ok := toNumber(b)
		if !ok {
			return false
		}
		c, ordered := x.compare(y)
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
			if !ok || !Equal(a.val(k), v) {
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

// A number is an integer of any size or a float; the zero number is the integer 0.
type number struct {
	big     *big.Int // if not nil
	float   float64  // if isFloat
	int     int64
	isFloat bool
}

// toNumber reads a number; booleans count as 0 and 1.
func toNumber(v any) (number, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return number{int: 1}, true
		}
		return number{}, true
	case int:
		return number{int: int64(v)}, true
	case int64:
		return number{int: v}, true
	case *big.Int:
		return number{big: v}, v != nil
	case float64:
		return number{float: v, isFloat: true}, true
	}
	return number{}, false
}

func (n number) toFloat() float64 {
	switch {
	case n.isFloat:
		return n.float
	case n.big != nil:
		f, _ := new(big.Float).SetInt(n.big).Float64()
		return f
	}
	return float64(n.int)
}

// compare is exact also between large integers and floats. It is not ordered if one of them is NaN.
func (n number) compare(m number) (c int, ordered bool) {
	if n.isFloat && math.IsNaN(n.float) || m.isFloat && math.IsNaN(m.float) {
		return 0, false
	}
	switch {
	case n.isFloat && m.isFloat:
		return cmp.Compare(n.float, m.float), true
	case !n.isFloat && !m.isFloat && n.big == nil && m.big == nil:
		return cmp.Compare(n.int, m.int), true
	}
	return n.exact().Cmp(m.exact()), true
}

func (n number) exact() *big.Float {
	switch {
	case n.isFloat:
		return new(big.Float).SetFloat64(n.float)
	case n.big != nil:
		return new(big.Float).SetInt(n.big) // takes the precision it needs
	}
	return new(big.Float).SetInt64(n.int)
}

// matches applies an operator of the language. known is false for an operator that there is not.
func (n number) matches(operator string, m number) (holds, known bool) {
	c, ordered := n.compare(m)
	switch operator {
	case "eq":
		return ordered && c == 0, true
	case "ne":
		return !ordered || c != 0, true
	case "lt":
		return ordered && c < 0, true
	case "le":
		return ordered && c <= 0, true
	case "gt":
		return ordered && c > 0, true
	case "ge":
		return ordered && c >= 0, true
	}
	return false, false
}
