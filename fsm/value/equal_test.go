package value

import (
	"math"
	"math/big"
	"testing"
)

func TestEqual(t *testing.T) {
	t.Parallel()
	huge := new(big.Int).Lsh(big.NewInt(1), 80)
	for _, c := range []struct {
		a, b any
		want bool
	}{
		{int64(1), 1.0, true},
		{true, int64(1), true},
		{false, 0.0, true},
		{"1", int64(1), false},
		{nil, false, false},
		{math.NaN(), math.NaN(), false},
		{math.Inf(1), math.Inf(1), true},
		{int64(1<<53 + 1), float64(1 << 53), false},
		{huge, math.Ldexp(1, 80), true},
		{huge, int64(5), false},
		{huge, math.Inf(1), false},
		{[]any{"a"}, []string{"a"}, true},
		{[]any{}, NewMap(), false},
		{[]any{int64(1)}, []any{int64(1), int64(2)}, false},
		{NewMap("a", int64(1), "b", nil), NewMap("b", nil, "a", true), true},
		{NewMap("a", nil), NewMap("b", nil), false},
	} {
		if Equal(c.a, c.b) != c.want || Equal(c.b, c.a) != c.want {
			t.Errorf("%s and %s: want equal = %v both ways", Repr(c.a), Repr(c.b), c.want)
		}
	}
}
