package diagram

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// How much of a text a drawing shows, in columns.
const (
	nameColumns  = 36
	doesColumns  = 30
	labelColumns = 28
)

// printable returns text in which nothing moves a cursor, turns the direction of writing or is no XML: such characters
// become U+FFFD. Line ends and tabs become blanks.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfffe, r == 0xffff,
			r == 0x2028, r == 0x2029:
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// oneLine is printable text without blanks around and between lines.
func oneLine(s string) string { return strings.Join(strings.Fields(printable(s)), " ") }

// columns returns how many columns of a terminal a text takes. It must be printable.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// clip makes text printable and so many columns wide at most. What it takes away it marks.
func clip(s string, limit int) string {
	s = printable(s)
	used, end := 0, 0 // end: where the text ends if one column goes to the mark
	for i, r := range s {
		used += runeColumns(r)
		if used > limit {
			return s[:end] + "…"
		}
		if used < limit {
			end = i + len(string(r))
		}
	}
	return s
}

// label returns when an edge is taken, as a drawing shows it.
func (e Edge) label() string {
	text := clip(strings.Join(e.Labels, ", "), labelColumns)
	if e.Taken > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s %d×", text, e.Taken))
	}
	return text
}

// lines returns what is written in the box of a node: its name first, then what there is to say about it. loop is
// the label of the way from the node to itself.
func (n Node) lines(loop *Edge) []string {
	name := n.Name
	switch {
	case n.Initial:
		name = "▶ " + name
	case n.Failure:
		name = "✗ " + name
	case n.Terminal:
		name = "■ " + name
	}
	if n.Current {
		name = "● " + name
	}
	out := []string{clip(name, nameColumns)}
	if n.Does != "" {
		out = append(out, clip(n.Does, doesColumns))
	}
	for _, why := range n.Entered {
		out = append(out, clip("⇥ "+why, doesColumns))
	}
	if loop != nil {
		out = append(out, strings.TrimSpace("↻ "+loop.label()))
	}
	out = append(out, n.marks()...)
	if n.Amount != "" {
		out = append(out, n.Amount)
	}
	return out
}

// marks returns as text what colours and lines show too.
func (n Node) marks() []string {
	var out []string
	if n.Template {
		out = append(out, "known when it runs")
	}
	if n.Unknown {
		out = append(out, "not in the loop now")
	}
	if n.Unreachable {
		out = append(out, "unreachable")
	}
	if n.Failed {
		out = append(out, "✗ the run failed here")
	}
	return out
}
