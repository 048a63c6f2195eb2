package humanize

import (
	"unicode"

	"golang.org/x/text/width"
)

// Width returns the columns of clean text, counting no further than a terminal is wide.
func Width(s string) int {
	n := 0
	for _, r := range s {
		if n += columns(r); n > 500 {
			break
		}
	}
	return n
}

// columns returns how many terminal columns a rune takes.
func columns(r rune) int {
	switch {
	case r < ' ' || r == 0x7f:
		return 0
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut shortens a line of clean text to so many columns and marks what it took away.
func Cut(s string, limit int) string {
	if limit <= 0 {
		return ""
	}
	used, last := 0, 0 // last: where the text ends if one column goes to the mark
	for i, r := range s {
		w := columns(r)
		if used+w > limit {
			return s[:last] + "…"
		}
		used += w
		if used <= limit-1 {
			last = i + len(string(r))
		}
	}
	return s
}
