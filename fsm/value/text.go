package value

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns v as the language prints it inside a text: a string as it is, everything else as [Repr] writes it.
func Text(v any) string {
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

// IsSpace reports whether r is white space in Python, where the four ASCII separators are, too.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// TrimSpace returns s without the white space at both ends, as [IsSpace] has it.
func TrimSpace(s string) string { return strings.TrimFunc(s, IsSpace) }

// Lines returns the lines of text without their ends. A line ends wherever str.splitlines of Python ends one.
func Lines(text string) []string {
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

// Truncate returns the first n characters of s, all of it if it has no more.
func Truncate(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
