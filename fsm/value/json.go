package value

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends v as one line of JSON in the layout of existing history files: ", " and ": " between
// things, everything outside ASCII escaped, floats with a point or an exponent. NaN and the infinities become
// the strings "NaN", "Infinity" and "-Infinity" (D15), invalid UTF-8 becomes U+FFFD. It takes the values of the
// language and of Go: a struct as encoding/json would, with the keys of its fields in their order; the keys of a map
// are sorted.
func AppendJSON(dst []byte, v any) []byte { return appendJSON(dst, v, "", "") }

// AppendJSONIndent is [AppendJSON] with every element on a line of its own, indented by indent per level.
func AppendJSONIndent(dst []byte, v any, indent string) []byte {
	return appendJSON(dst, v, indent, "\n")
}

// appendJSON writes on one line if newline is "". Otherwise newline is the line end and the current indent.
func appendJSON(dst []byte, v any, indent, newline string) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	case *big.Int:
		if v == nil {
			return append(dst, "null"...)
		}
		return v.Append(dst, 10)
	case float64:
		return appendJSONFloat(dst, v)
	case string:
		return AppendJSONString(dst, v)
	case []any:
		w := beginJSON(dst, '[', indent, newline)
		for _, e := range v {
			w.next()
			w.dst = appendJSON(w.dst, e, indent, w.inner)
		}
		return w.end(']', newline)
	case []string:
		w := beginJSON(dst, '[', indent, newline)
		for _, e := range v {
			w.next()
			w.dst = AppendJSONString(w.dst, e)
		}
		return w.end(']', newline)
	case *Map:
		w := beginJSON(dst, '{', indent, newline)
		for i, k := range v.Keys() {
			w.key(k)
			w.dst = appendJSON(w.dst, v.vals[i], indent, w.inner)
		}
		return w.end('}', newline)
	case map[string]int:
		w := beginJSON(dst, '{', indent, newline)
		for _, k := range sortedKeys(v) {
			w.key(k)
			w.dst = strconv.AppendInt(w.dst, int64(v[k]), 10)
		}
		return w.end('}', newline)
	}
	return appendGo(dst, v, indent, newline)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// jsonWriter writes the elements of one list or map.
type jsonWriter struct {
	dst   []byte
	inner string // before each element, if on lines of their own
	n     int
}

func beginJSON(dst []byte, open byte, indent, newline string) jsonWriter {
	w := jsonWriter{dst: append(dst, open)}
	if newline != "" {
		w.inner = newline + indent
	}
	return w
}

func (w *jsonWriter) next() {
	if w.n > 0 {
		w.dst = append(w.dst, ',')
		if w.inner == "" {
			w.dst = append(w.dst, ' ')
		}
	}
	w.dst = append(w.dst, w.inner...)
	w.n++
}

func (w *jsonWriter) key(k string) {
	w.next()
	w.dst = AppendJSONString(w.dst, k)
	w.dst = append(w.dst, ": "...)
}

func (w *jsonWriter) end(closing byte, newline string) []byte {
	if w.n > 0 {
		w.dst = append(w.dst, newline...)
	}
	return append(w.dst, closing)
}

func appendJSONFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	return appendFloat(dst, f)
}

const hexDigits = "0123456789abcdef"

// AppendJSONString appends s as [AppendJSON] does; the caller need not wrap it in an any.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if ' ' <= c && c <= '~' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		if c < utf8.RuneSelf {
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			case '\b':
				dst = append(dst, '\\', 'b')
			case '\f':
				dst = append(dst, '\\', 'f')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
		} else {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r >= 0x10000 {
				r -= 0x10000
				dst = appendUnit(dst, 0xd800+r>>10)
				r = 0xdc00 + r&0x3ff
			}
			dst = appendUnit(dst, r)
			i += size
		}
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendUnit writes one UTF-16 unit as an escape.
func appendUnit(dst []byte, u rune) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12&15], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}
