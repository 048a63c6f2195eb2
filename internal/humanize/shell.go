package humanize

import (
	"fmt"
	"strings"
)

// ShellWord quotes a word for a shell where it needs it.
func ShellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,") == "" {
		return s
	}
	if !Harmless(s) {
		return bashQuote(s)
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// bashQuote quotes a word that holds what acts on a terminal, in the form that bash reads: $'…'.
func bashQuote(s string) string {
	var b strings.Builder
	for _, part := range strings.SplitAfter(s, "") { // characters
		switch {
		case part == `\` || part == "'":
			b.WriteString(`\` + part)
		case Harmless(part):
			b.WriteString(part)
		default:
			for i := range len(part) {
				fmt.Fprintf(&b, `\x%02x`, part[i])
			}
		}
	}
	return "$'" + b.String() + "'"
}
