package fsm

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Str returns v as the language prints it in text: strings as they are, everything else as [Repr] has it.
func Str(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return Repr(v)
}

// Repr returns v in the literal syntax of Python: 'text', True, None, 2.5, 1e+16, [1, 'a'], {'k': 'v'}. Loop files
// that exist rely on it.
func Repr(v any) string { return string(appendRepr(nil, v)) }

func appendRepr(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "None"...)
	case bool:
		if v {
			return append(dst, "True"...)
		}
		return append(dst, "False"...)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case *big.Int:
		return v.Append(dst, 10)
	case float64:
		return appendFloat(dst, v)
	case string:
		return appendStringRepr(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendRepr(dst, e)
		}
		return append(dst, ']')
	case []string:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendStringRepr(dst, e)
		}
		return append(dst, ']')
	case *Map:
		dst = append(dst, '{')
		for i, k := range v.Keys() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendStringRepr(dst, k)
			dst = append(dst, ": "...)
			dst = appendRepr(dst, v.vals[i])
		}
		return append(dst, '}')
	}
	return fmt.Append(dst, v)
}

// appendFloat writes the shortest decimal that reads back as f, with an exponent from 1e16 on and below 1e-4.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	if a := math.Abs(f); a != 0 && (a >= 1e16 || a < 1e-4) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[n:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

func appendStringRepr(dst []byte, s string) []byte {
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	dst = append(dst, quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case unicode.IsPrint(r):
			dst = utf8.AppendRune(dst, r)
		case r < 0x100:
			dst = fmt.Appendf(dst, `\x%02x`, r)
		case r < 0x10000:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = fmt.Appendf(dst, `\U%08x`, r)
		}
	}
	return append(dst, quote)
}

// ShellQuote returns s as one word of a POSIX shell: in single quotes unless it needs none.
func ShellQuote(s string) string {
	for i := range len(s) {
		c := s[i]
		if !isAlnum(c) && strings.IndexByte("@%+=:,./-_", c) < 0 {
			return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
		}
	}
	if s == "" {
		return "''"
	}
	return s
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// ParseFloat reads a number the way Python's float does: white space around it, single underscores between
// digits, decimal digits of any script, inf, infinity and nan in any case. Too large a number is an infinity.
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

// isSpace is white space in the sense of Python, which counts the four ASCII separators too.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

func trimSpace(s string) string { return strings.TrimFunc(s, isSpace) }

// splitLines cuts text at every line end Python knows; the line ends are not kept.
func splitLines(text string) []string {
	var lines []string
	start := 0
	for i, r := range text {
		if i < start { // the \n of a \r\n
			continue
		}
		switch r {
		case '\r':
			lines = append(lines, text[start:i])
			start = i + 1
			if start < len(text) && text[start] == '\n' {
				start++
			}
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
			lines = append(lines, text[start:i])
			start = i + utf8.RuneLen(r)
		}
	}
	if start < len(text) {
		lines = append(lines, text[start:])
	}
	return lines
}

// firstRunes returns the first n characters of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// truthy says whether Python would take v for true.
func truthy(v any) bool {
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
	if n, ok := toNumber(v); ok {
		c, ordered := n.compare(number{})
		return !ordered || c != 0
	}
	return true
}
