// Package humanize words the parts of a message: quotations, lists, the name that may have been meant, amounts
// and times.
//
// # Text of others
//
// [PlainLine] and a [PlainWriter] keep text of others from acting on a terminal. What a state is called, what a
// judge answered or what an action printed can hold sequences that move the cursor, write to the clipboard or
// forge a line of this program; here they become visible characters, in the notation of Go and JSON: \x1b, \r,
// \u009b, \u202e. Harmful are control characters but tab and line feed, bytes that are no UTF-8, characters
// that turn the direction of writing, and separators of lines. In JSON, where such characters occur only in
// strings and those of ASCII never, the notation means the same.
//
// The styling of this program passes, because it is written with [Style], whose marks no one else can write.
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
