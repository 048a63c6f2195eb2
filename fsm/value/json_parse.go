package value

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"
	"unicode/utf8"
)

// The limits of ParseJSON. They keep a damaged or hostile file from exhausting the stack or the processor.
const (
	maxJSONDepth  = 1000
	maxJSONDigits = 4300 // of an integer
)

// ParseJSON reads exactly one JSON value and nothing else. Objects become a *Map in their order (of equal keys
// the last wins), integers int64 or *big.Int, other numbers float64. It accepts what Python's parser accepts:
// also NaN, Infinity, -Infinity and halves of surrogate pairs, which become U+FFFD as invalid UTF-8 does. Nesting is
// limited to 1000 levels and integers to 4300 digits. The error says what was expected at which byte, from 1.
func ParseJSON(data []byte) (any, error) {
	p := parsers.Get().(*jsonParser)
	p.data, p.pos = data, 0
	p.space()
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(p.data) {
		return nil, p.fail("one value only, but more text follows")
	}
	if cap(p.vals) <= mostStacked {
		p.data = nil
		parsers.Put(p)
	}
	return v, nil
}

type jsonParser struct {
	data []byte
	pos  int

	// Of the objects and lists that are being read, what was read so far: each takes its part when all of it is
	// there, so that it is allocated once.
	keys []string
	vals []any
}

// mostStacked is how much a parser that is used again may have room for.
const mostStacked = 1 << 10

// parsers are those that came to the end of their text: nothing is stacked in them.
var parsers = sync.Pool{New: func() any { return &jsonParser{keys: make([]string, 0, 64), vals: make([]any, 0, 64)} }}

func (p *jsonParser) fail(expected string) error {
	if p.pos >= len(p.data) {
		return fmt.Errorf("expected %s, but the text ends", expected)
	}
	return fmt.Errorf("expected %s at byte %d", expected, p.pos+1)
}

func (p *jsonParser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// next reports whether the next byte is c.
func (p *jsonParser) next(c byte) bool { return p.pos < len(p.data) && p.data[p.pos] == c }

func (p *jsonParser) word(w string) bool {
	if bytes.HasPrefix(p.data[p.pos:], []byte(w)) {
		p.pos += len(w)
		return true
	}
	return false
}

func (p *jsonParser) value(depth int) (any, error) {
	if depth > maxJSONDepth {
		return nil, p.fail("at most 1000 levels of nesting")
	}
	if p.pos >= len(p.data) {
		return nil, p.fail("a value")
	}
	switch c := p.data[p.pos]; {
	case c == '"':
		return p.text()
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.list(depth)
	case c == '-' || isDigit(c):
		if p.word("-Infinity") {
			return math.Inf(-1), nil
		}
		return p.number()
	case p.word("null"):
		return nil, nil
	case p.word("true"):
		return true, nil
	case p.word("false"):
		return false, nil
	case p.word("NaN"):
		return math.NaN(), nil
	case p.word("Infinity"):
		return math.Inf(1), nil
	}
	return nil, p.fail("a value")
}

func (p *jsonParser) object(depth int) (any, error) {
	p.pos++
	p.space()
	if p.next('}') {
		p.pos++
		return &Map{}, nil
	}
	keys, vals := len(p.keys), len(p.vals)
	for {
		if !p.next('"') {
			return nil, p.fail("a key in double quotes")
		}
		key, err := p.key()
		if err != nil {
			return nil, err
		}
		p.space()
		if !p.next(':') {
			return nil, p.fail("a colon after the key")
		}
		p.pos++
		p.space()
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.keys, p.vals = append(p.keys, key), append(p.vals, v)
		p.space()
		if p.next('}') {
			p.pos++
			m := mapOf(p.keys[keys:], p.vals[vals:])
			clear(p.keys[keys:])
			clear(p.vals[vals:])
			p.keys, p.vals = p.keys[:keys], p.vals[:vals]
			return m, nil
		}
		if !p.next(',') {
			return nil, p.fail("a comma or }")
		}
		p.pos++
		p.space()
	}
}

func (p *jsonParser) list(depth int) (any, error) {
	p.pos++
	p.space()
	if p.next(']') {
		p.pos++
		return []any{}, nil
	}
	vals := len(p.vals)
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.vals = append(p.vals, v)
		p.space()
		if p.next(']') {
			p.pos++
			l := slices.Clone(p.vals[vals:])
			clear(p.vals[vals:])
			p.vals = p.vals[:vals]
			return l, nil
		}
		if !p.next(',') {
			return nil, p.fail("a comma or ]")
		}
		p.pos++
		p.space()
	}
}

func (p *jsonParser) number() (any, error) {
	start := p.pos
	if p.next('-') {
		p.pos++
	}
	switch {
	case p.next('0'):
		p.pos++
	case p.digits() == 0:
		return nil, p.fail("a digit")
	}
	whole := true
	if p.next('.') {
		p.pos++
		whole = false
		if p.digits() == 0 {
			return nil, p.fail("a digit after the point")
		}
	}
	if p.next('e') || p.next('E') {
		p.pos++
		whole = false
		if p.next('+') || p.next('-') {
			p.pos++
		}
		if p.digits() == 0 {
			return nil, p.fail("a digit in the exponent")
		}
	}
	text := string(p.data[start:p.pos])
	if !whole {
		f, _ := strconv.ParseFloat(text, 64) // out of range gives ±Inf
		return f, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if len(text) > maxJSONDigits {
		p.pos = start
		return nil, p.fail("an integer of at most 4300 digits")
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		p.pos = start
		return nil, p.fail("a number")
	}
	return n, nil
}

func (p *jsonParser) digits() int {
	start := p.pos
	for p.pos < len(p.data) && isDigit(p.data[p.pos]) {
		p.pos++
	}
	return p.pos - start
}

// The keys that were met last: the objects of a program have the same few, and each would be allocated again.
var met [256]atomic.Pointer[string]

// longestMet is the length up to which a key is kept.
const longestMet = 32

// key is text of a key.
func (p *jsonParser) key() (string, error) {
	hash := uint32(2166136261) // FNV-1a
	for i := p.pos + 1; i < len(p.data) && i <= p.pos+1+longestMet; i++ {
		c := p.data[i]
		if c == '\\' || c < ' ' {
			break
		}
		if c != '"' {
			hash = (hash ^ uint32(c)) * 16777619
			continue
		}
		place := &met[(hash^hash>>16)%uint32(len(met))]
		if s := place.Load(); s != nil && *s == string(p.data[p.pos+1:i]) {
			p.pos = i + 1
			return *s, nil
		}
		s, err := p.text()
		place.Store(&s)
		return s, err
	}
	return p.text()
}

func (p *jsonParser) text() (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.data) { // most strings hold no escape
		c := p.data[p.pos]
		if c == '"' {
			s := strings.ToValidUTF8(string(p.data[start:p.pos]), "\ufffd")
			p.pos++
			return s, nil
		}
		if c == '\\' || c < ' ' {
			break
		}
		p.pos++
	}
	buf := append([]byte(nil), p.data[start:p.pos]...)
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			return strings.ToValidUTF8(string(buf), "\ufffd"), nil
		case c < ' ':
			return "", p.fail("no control character inside a string")
		case c != '\\':
			buf = append(buf, c)
			p.pos++
		default:
			var err error
			if buf, err = p.escape(buf); err != nil {
				return "", err
			}
		}
	}
	return "", p.fail("a closing double quote")
}

func (p *jsonParser) escape(buf []byte) ([]byte, error) {
	if p.pos+1 >= len(p.data) {
		p.pos = len(p.data)
		return nil, p.fail("a closing double quote")
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	c := p.data[p.pos+1]
	if i := strings.IndexByte(from, c); i >= 0 {
		p.pos += 2
		return append(buf, to[i]), nil
	}
	r, ok := p.unit(p.pos)
	if !ok {
		return nil, p.fail(`a valid escape such as \n or \u00e9`)
	}
	p.pos += 6
	if utf16.IsSurrogate(r) {
		low, ok := p.unit(p.pos)
		if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
			p.pos += 6
			r = pair
		}
	}
	return utf8.AppendRune(buf, r), nil // a lone half becomes U+FFFD
}

// unit reads \uXXXX at byte i.
func (p *jsonParser) unit(i int) (rune, bool) {
	if i+6 > len(p.data) || p.data[i] != '\\' || p.data[i+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range p.data[i+2 : i+6] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
