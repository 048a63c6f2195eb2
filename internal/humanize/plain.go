package humanize

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A mark is markBegin, random characters of this process, the parameters of a sequence SGR, and markEnd.
const (
	markBegin = '\x01'
	markEnd   = '\x02'
	mostCode  = 32 // bytes of the parameters
)

// mark is made at its first use, because the system's random numbers take a while to be ready.
var mark = sync.OnceValue(func() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return string(markBegin) + hex.EncodeToString(b[:])
})

func marked(code string) string { return mark() + code + string(markEnd) }

// Style returns s in a style of this program, which is the parameters of a sequence SGR, such as "31". [Writer]
// writes the sequence.
func Style(code, s string) string { return marked(code) + s + marked("0") }

// Ours returns text that this program made, with nothing of others in it that was not made harmless, so that
// its colours pass.
func Ours(text string) string {
	text, _ = colours(text, marked)
	return text
}

// Colours returns a line that an action wrote, so that its colours pass and end with it, and nothing of it is
// concealed. A carriage return before the line's end is left out.
func Colours(line string) string {
	line, last := colours(strings.TrimSuffix(line, "\r"), func(code string) string {
		seen := revealed(code)
		if seen == "" && code != "" {
			return ""
		}
		return marked(seen)
	})
	if strings.Trim(last, "0") != "" {
		line += marked("0")
	}
	return line
}

// concealed is the parameter of a sequence SGR that hides text.
const concealed = 8

// revealed returns the parameters of a sequence SGR without those that hide text.
func revealed(code string) string {
	if !strings.Contains(code, "8") {
		return code
	}
	var kept []string
	skip := 0 // parameters that belong to the colour before them: 38;5;N and 38;2;R;G;B
	all := strings.Split(code, ";")
	for i, p := range all {
		first, _, inside := strings.Cut(p, ":")
		n, _ := strconv.Atoi(first)
		switch {
		case skip > 0:
			skip--
		case n == concealed:
			continue
		case (n == 38 || n == 48 || n == 58) && !inside && i+1 < len(all):
			switch kind, _ := strconv.Atoi(all[i+1]); kind {
			case 5:
				skip = 2
			case 2:
				skip = 4
			}
		}
		kept = append(kept, p)
	}
	return strings.Join(kept, ";")
}

// Uncoloured returns text without its colours.
func Uncoloured(text string) string {
	text, _ = colours(text, func(string) string { return "" })
	return text
}

// colours replaces the sequences SGR of a text, and returns the parameters of the last one.
func colours(text string, with func(code string) string) (out, last string) {
	const begin = "\x1b["
	i := strings.Index(text, begin)
	if i < 0 {
		return text, ""
	}
	var b strings.Builder
	for ; i >= 0; i = strings.Index(text, begin) {
		n := codeLen(text[i+len(begin):])
		end := i + len(begin) + n
		if end >= len(text) || text[end] != 'm' {
			b.WriteString(text[:i+len(begin)])
			text = text[i+len(begin):]
			continue
		}
		last = text[i+len(begin) : end]
		b.WriteString(text[:i])
		b.WriteString(with(last))
		text = text[end+1:]
	}
	b.WriteString(text)
	return b.String(), last
}

// codeLen returns how many bytes at the beginning of s can be parameters of a sequence SGR.
func codeLen[T string | []byte](s T) int {
	n := 0
	for n < len(s) && n < mostCode && (s[n] >= '0' && s[n] <= '9' || s[n] == ';' || s[n] == ':') {
		n++
	}
	return n
}

// Sequences returns harmless text with the sequences of its styles, for those who write to a terminal themselves.
func Sequences(s string) string {
	out, _ := harmless(nil, []byte(s), filter{})
	return string(out)
}

// PlainLine returns text as one line in which nothing acts on a terminal: a line end becomes \n, a tab becomes
// blanks. Styles of this program stay.
func PlainLine(s string) string {
	for i := range len(s) {
		if suspectInLine[s[i]] {
			out, _ := harmless(nil, []byte(s), filter{line: true})
			return string(out)
		}
	}
	return s
}

// Harmless reports whether nothing in s acts on a terminal, and it is one line.
func Harmless(s string) bool { return PlainLine(s) == s && !strings.Contains(s, mark()) }

// suspect are the bytes that have to be looked at.
var suspect, suspectInLine = func() (text, line [256]bool) {
	for c := range text {
		line[c] = c < ' ' || c >= 0x7f
		text[c] = line[c] && c != '\n' && c != '\t'
	}
	return text, line
}()

// A filter says what harmless makes of text.
type filter struct {
	line bool // one line of it, whose marks stay
	more bool // text may follow: a character or mark whose end is missing is left to be completed
}

// harmless returns text in which nothing acts on a terminal; it is b itself where that is so already, else made in buf.
// The last bytes, rest in number, are not looked at, because what follows decides.
func harmless(buf, b []byte, f filter) (out []byte, rest int) {
	from := 0 // what is before it is in buf
	replace := func(i, size int, with string) {
		buf = append(append(buf, b[from:i]...), with...)
		from = i + size
	}
	stops := &suspect
	if f.line {
		stops = &suspectInLine
	}
	for i := 0; i < len(b); {
		c := b[i]
		switch {
		case !stops[c]: // nearly all
			for i++; i < len(b) && !stops[b[i]]; {
				i++
			}
			continue
		case f.line && c == '\n':
			replace(i, 1, `\n`)
			i++
			continue
		case f.line && c == '\t':
			replace(i, 1, "    ")
			i++
			continue
		case c == markBegin:
			code, size, whole := markAt(b[i:])
			if !whole && f.more {
				return ended(buf, b, from, i)
			}
			if size > 0 {
				if !f.line {
					replace(i, size, "\x1b["+code+"m")
				}
				i += size
				continue
			}
		case c >= utf8.RuneSelf:
			if f.more && !utf8.FullRune(b[i:]) {
				return ended(buf, b, from, i)
			}
			r, size := utf8.DecodeRune(b[i:])
			if with := visible(r); size > 1 {
				if with != "" {
					replace(i, size, with)
				}
				i += size
				continue
			}
		}
		replace(i, 1, control(c))
		i++
	}
	return ended(buf, b, from, len(b))
}

// ended returns what harmless made of b up to end.
func ended(buf, b []byte, from, end int) (out []byte, rest int) {
	if from == 0 {
		return b[:end], len(b) - end
	}
	return append(buf, b[from:end]...), len(b) - end
}

// markAt returns the style of the mark at the beginning of b and how long the mark is; 0 = there is none. It is
// not whole where b ends before that is known.
func markAt(b []byte) (code string, size int, whole bool) {
	mark := mark()
	if len(b) < len(mark) {
		return "", 0, string(b) != mark[:len(b)]
	}
	if string(b[:len(mark)]) != mark {
		return "", 0, true
	}
	n := len(mark) + codeLen(b[len(mark):])
	switch {
	case n == len(b):
		return "", 0, false
	case b[n] != markEnd:
		return "", 0, true
	}
	return string(b[len(mark):n]), n + 1, true
}

const digits = "0123456789abcdef"

// control writes a control character of ASCII, or a byte that is no UTF-8.
func control(c byte) string {
	switch c {
	case '\a':
		return `\a`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\r':
		return `\r`
	case '\v':
		return `\v`
	case 0x7f:
		return `\u007f`
	}
	return `\x` + string(digits[c>>4]) + string(digits[c&15])
}

// visible writes a character beyond ASCII that acts on a terminal; "" = it does not.
func visible(r rune) string {
	switch {
	case r >= 0x80 && r <= 0x9f, // C1
		r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, // direction
		r == 0x2028, r == 0x2029: // separators
		return `\u` + string(digits[r>>12]) + string(digits[r>>8&15]) + string(digits[r>>4&15]) + string(digits[r&15])
	}
	return ""
}
