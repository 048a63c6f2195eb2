package value

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Number is an integer of any size or a float; the zero Number is the integer 0.
type Number struct {
	big     *big.Int // if not nil
	float   float64  // if isFloat
	int     int64
	isFloat bool
}

// NumberOf returns v as a Number and reports whether it is one; false and true are 0 and 1.
func NumberOf(v any) (Number, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return Number{int: 1}, true
		}
		return Number{}, true
	case int:
		return Number{int: int64(v)}, true
	case int64:
		return Number{int: v}, true
	case *big.Int:
		return Number{big: v}, v != nil
	case float64:
		return Number{float: v, isFloat: true}, true
	}
	return Number{}, false
}

// Float returns the float nearest to n.
func (n Number) Float() float64 {
	switch {
	case n.isFloat:
		return n.float
	case n.big != nil:
		f, _ := new(big.Float).SetInt(n.big).Float64()
		return f
	}
	return float64(n.int)
}

// Compare compares exactly, large integers with floats too, and returns -1, 0 or 1 as cmp.Compare does. With a
// NaN there is no order: ordered is false then.
func (n Number) Compare(m Number) (c int, ordered bool) {
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

func (n Number) exact() *big.Float {
	switch {
	case n.isFloat:
		return new(big.Float).SetFloat64(n.float)
	case n.big != nil:
		return new(big.Float).SetInt(n.big) // takes the precision it needs
	}
	return new(big.Float).SetInt64(n.int)
}

// ParseFloat reads a number as Python's float does, and reports whether there is one: white space around it,
// single underscores between digits, decimal digits of any script, inf, infinity and nan in any case. A number
// that is too large is an infinity.
func ParseFloat(s string) (float64, bool) {
	s = strings.TrimFunc(s, unicode.IsSpace)
	buf := make([]byte, 0, 32)
	for _, r := range s {
		if r >= utf8.RuneSelf {
			d, ok := decimalDigit(r)
			if !ok {
				return 0, false
			}
			r = '0' + d
		}
		buf = append(buf, byte(r))
	}
	body := buf
	negative := false
	if len(body) > 0 && (body[0] == '+' || body[0] == '-') {
		negative = body[0] == '-'
		body = body[1:]
	}
	switch strings.ToLower(string(body)) {
	case "inf", "infinity":
		if negative {
			return math.Inf(-1), true
		}
		return math.Inf(1), true
	case "nan":
		return math.NaN(), true
	}
	whole, rest, ok := digits(body)
	if !ok {
		return 0, false
	}
	fraction := 0
	if len(rest) > 0 && rest[0] == '.' {
		if fraction, rest, ok = digits(rest[1:]); !ok {
			return 0, false
		}
	}
	if whole+fraction == 0 {
		return 0, false
	}
	if len(rest) > 0 && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		if len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		var n int
		if n, rest, ok = digits(rest); !ok || n == 0 {
			return 0, false
		}
	}
	if len(rest) > 0 {
		return 0, false
	}
	f, _ := strconv.ParseFloat(strings.ReplaceAll(string(buf), "_", ""), 64) // out of range gives ±Inf
	return f, true
}

// digits counts the digits at the start of b and returns what follows them. A misplaced underscore is not ok.
func digits(b []byte) (n int, rest []byte, ok bool) {
	i := 0
	for ; i < len(b); i++ {
		switch {
		case isDigit(b[i]):
			n++
		case b[i] == '_' && i > 0 && b[i-1] != '_' && i+1 < len(b) && isDigit(b[i+1]):
		case b[i] == '_':
			return 0, nil, false
		default:
			return n, b[i:], true
		}
	}
	return n, b[i:], true
}

// decimalDigit returns the value of a decimal digit of any script. They stand in runs of ten from zero on.
func decimalDigit(r rune) (rune, bool) {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10, true
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10, true
		}
	}
	return 0, false
}

// maxDigits bounds the integers that text may stand for; reading them takes time that grows faster than they do.
const maxDigits = 4300

// ParseInteger reads an integer as Python's int does, with a sign and single underscores between ASCII digits,
// and reports whether there is one. It returns an int64 or, where that is too small, a *big.Int of up to 4300
// digits.
func ParseInteger(s string) (any, bool) {
	if len(s) > 2*maxDigits {
		return nil, false
	}
	body := s
	if body != "" && (body[0] == '+' || body[0] == '-') {
		body = body[1:]
	}
	n, rest, ok := digits([]byte(body))
	if !ok || n == 0 || n > maxDigits || len(rest) > 0 {
		return nil, false
	}
	s = strings.ReplaceAll(s, "_", "")
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, true
	}
	b, ok := new(big.Int).SetString(strings.TrimPrefix(s, "+"), 10)
	return b, ok
}
