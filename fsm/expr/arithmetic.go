package expr

import (
	"math"
	"strings"

	"loops/fsm/value"
)

// number returns a value as an int64 or a float64 if it is a number, or a text that reads as one.
func number(v any) (any, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64, float64:
		return v, true
	case string:
		return readNumber(v)
	}
	return nil, false
}

// readNumber reads a text that is exactly a number, as a program prints one: digits with a sign, a decimal
// point followed by digits and an exponent. Blanks around it do not count.
func readNumber(text string) (any, bool) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 64 || strings.Trim(text, "+-0123456789.eE") != "" || strings.Contains(text, ".e") ||
		strings.Contains(text, ".E") || strings.HasSuffix(text, ".") {
		return nil, false
	}
	v, err := value.ParseJSON([]byte(strings.TrimPrefix(text, "+")))
	if err == nil {
		switch v := v.(type) {
		case int64, float64:
			return v, true
		}
	}
	f, ok := value.ParseFloat(text)
	return f, ok && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// arithmetic works on numbers: int64 as long as that is exact, else float64.
var arithmetic = map[string]func(a, b any) (any, error){
	"+": exact(func(a, b int64) (int64, bool) { c := a + b; return c, (c > a) == (b > 0) },
		func(a, b float64) float64 { return a + b }),
	"-": exact(func(a, b int64) (int64, bool) { c := a - b; return c, (c < a) == (b > 0) },
		func(a, b float64) float64 { return a - b }),
	"*": exact(func(a, b int64) (int64, bool) {
		if a == 0 || b == 0 {
			return 0, true
		}
		c := a * b
		return c, c/b == a && (a != -1 || b != math.MinInt64) && (b != -1 || a != math.MinInt64)
	}, func(a, b float64) float64 { return a * b }),
	"/": func(a, b any) (any, error) {
		if float(b) == 0 {
			return nil, &operandError{"division by zero"}
		}
		x, aOK := a.(int64)
		y, bOK := b.(int64)
		if aOK && bOK && y != -1 && x%y == 0 {
			return x / y, nil
		}
		return finite(float(a) / float(b))
	},
	"%": func(a, b any) (any, error) {
		if float(b) == 0 {
			return nil, &operandError{"division by zero"}
		}
		x, aOK := a.(int64)
		y, bOK := b.(int64)
		if aOK && bOK {
			if y == -1 {
				return int64(0), nil
			}
			return x % y, nil
		}
		return finite(math.Mod(float(a), float(b)))
	},
	"**": power,
	"^":  power,
}

func power(a, b any) (any, error) {
	f := math.Pow(float(a), float(b))
	_, aOK := a.(int64)
	n, bOK := b.(int64)
	if aOK && bOK && n >= 0 && math.Abs(f) < 1<<53 {
		return int64(f), nil
	}
	return finite(f)
}

func exact(whole func(a, b int64) (int64, bool), broken func(a, b float64) float64) func(a, b any) (any, error) {
	return func(a, b any) (any, error) {
		x, aOK := a.(int64)
		y, bOK := b.(int64)
		if aOK && bOK {
			if c, ok := whole(x, y); ok || y == 0 {
				return c, nil
			}
		}
		return finite(broken(float(a), float(b)))
	}
}

func finite(f float64) (any, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, &operandError{"the number is too large"}
	}
	return f, nil
}

func float(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

var comparison = map[string]func(order int) bool{
	"==": func(int) bool { return false }, // see equal
	"!=": func(int) bool { return false },
	"<":  func(o int) bool { return o < 0 },
	"<=": func(o int) bool { return o <= 0 },
	">":  func(o int) bool { return o > 0 },
	">=": func(o int) bool { return o >= 0 },
	"in": func(int) bool { return false }, // see within
}

// compare orders two texts as texts, and two numbers, or a number and a text that is one, as numbers.
func compare(a, b any) (int, bool) {
	s, sOK := a.(string)
	t, tOK := b.(string)
	if sOK && tOK {
		return strings.Compare(s, t), true
	}
	x, aOK := number(a)
	y, bOK := number(b)
	if aOK && bOK {
		i, iOK := x.(int64)
		j, jOK := y.(int64)
		if iOK && jOK {
			return order(i, j), true
		}
		return order(float(x), float(y)), true
	}
	return 0, false
}

func order[T int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// equal compares two values by the rule of compare, and lists and mappings by what is in them.
func equal(a, b any) bool {
	if o, ok := compare(a, b); ok {
		return o == 0
	}
	a, b = untyped(a), untyped(b)
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, there := y[k]
			if !there || !equal(v, w) {
				return false
			}
		}
		return true
	case bool, string, nil:
		return a == b
	}
	return false
}

// untyped turns a list that a function of the library made, as split does, into one as any other.
func untyped(v any) any {
	switch v := v.(type) {
	case []string:
		list, _ := listOf(v, func(item string) (any, error) { return item, nil })
		return list
	case []int:
		list, _ := listOf(v, func(item int) (any, error) { return int64(item), nil })
		return list
	}
	return v
}
