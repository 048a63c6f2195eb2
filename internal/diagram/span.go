package diagram

import "strings"

// A Style is how a piece of a drawing looks on a terminal. What it says, words or marks say too.
type Style int

// The styles.
const (
	Plain  Style = iota
	Strong       // bold
	Faint        // an exception, or nothing leads there
	Bad          // a failure
	Warm         // much was measured
	Hot          // most was measured
	Lit          // where the run is
)

var styleCodes = [...]string{Plain: "", Strong: "1", Faint: "2", Bad: "1;31", Warm: "33", Hot: "1;33", Lit: "1;7"}

// A Span is text in one style, without line ends or other control characters.
type Span struct {
	Text  string
	Style Style
}

// ansi writes a line with escape sequences.
func ansi(b *strings.Builder, line []Span, colour bool) {
	for _, s := range line {
		if !colour || s.Style == Plain || s.Text == "" {
			b.WriteString(s.Text)
			continue
		}
		b.WriteString("\x1b[" + styleCodes[s.Style] + "m" + s.Text + "\x1b[0m")
	}
	b.WriteByte('\n')
}
