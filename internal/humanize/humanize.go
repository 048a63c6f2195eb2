// Package humanize words the parts of a message: quotations, lists, the name that may have been meant, amounts and times.
package humanize

import (
	"fmt"
	"strings"
)

// Quote shows a text from elsewhere in a message: quoted, on one line, printable, not too long.
func Quote(s string) string { return fmt.Sprintf("%q", short(s)) }

// Clip is Quote without the quotes.
func Clip(s string) string {
	q := Quote(s)
	return q[1 : len(q)-1]
}

func short(s string) string {
	const most = 60
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// List joins words by commas and cuts a long list short.
func List(words []string) string {
	const most = 15
	var b strings.Builder
	for i, w := range words {
		if i == most && len(words) > most+1 {
			fmt.Fprintf(&b, " and %d more", len(words)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Clip(w))
	}
	return b.String()
}

// And joins words as a sentence does: a, b and c.
func And(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
