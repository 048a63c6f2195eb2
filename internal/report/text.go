package report

import (
	"regexp"
	"strings"
	"sync"
)

// sequence is what a program writes to a terminal to colour or move text.
var sequence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\))")
})

// plain takes out of a text what only a terminal understands, and what is no character.
func plain(s string) string {
	s = strings.ToValidUTF8(sequence().ReplaceAllString(s, ""), "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r', r < ' ', r >= 0x7f && r < 0xa0:
			return -1
		case r == 0xFFFE, r == 0xFFFF: // which XML has no place for
			return '\uFFFD'
		}
		return r
	}, s)
}

// line makes one line of a text, of so many characters at most.
func line(s string, most int) string {
	s = strings.Join(strings.Fields(plain(s)), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
