package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"golang.org/x/text/width"

	"loops/internal/phrase"
	"loops/internal/plain"
)

// terminal returns the file behind w if it is a terminal.
func terminal(w io.Writer) (*os.File, bool) {
	f, ok := verbatim(w).(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// verbatim returns the writer behind Out or Err of an app, for what is not for people to read: data, a protocol, or text
// that another process of this program made harmless.
func verbatim(w io.Writer) io.Writer {
	if p, ok := w.(*plain.Writer); ok {
		return p.Unwrap()
	}
	return w
}

// interactive says whether r is a terminal, where a person can answer.
func interactive(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (a *app) checkColor(cmd *cobra.Command) error {
	a.colorGiven = cmd.Flags().Changed("color")
	switch a.color {
	case "auto", "always", "never":
		return nil
	}
	return usageError{fmt.Sprintf("--color %q: expected auto, always or never", a.color), "loops --help"}
}

// coloured says whether to use colours on w: as the command line says, the environment, a file, or whether it is a terminal.
func (a *app) coloured(w io.Writer) bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	if v, ok := a.getenv("NO_COLOR"); ok && v != "" {
		return false
	}
	if v, _ := a.getenv("TERM"); v == "dumb" {
		return false
	}
	_, is := terminal(w)
	switch a.configuredColor() {
	case "always":
		return true
	case "never":
		return false
	}
	return is
}

// A paint colours words, or does not.
type paint bool

func (p paint) with(code, s string) string {
	if !p || s == "" {
		return s
	}
	return plain.Style(code, s)
}

func (p paint) bold(s string) string  { return p.with("1", s) }
func (p paint) dim(s string) string   { return p.with("2", s) }
func (p paint) red(s string) string   { return p.with("31", s) }
func (p paint) green(s string) string { return p.with("32", s) }
func (p paint) amber(s string) string { return p.with("33", s) }
func (p paint) cyan(s string) string  { return p.with("36", s) }

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

// cut shortens a line of clean text to so many columns and marks what it took away.
func cut(s string, limit int) string {
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

// clean returns a text of others on one line, in which nothing acts on a terminal or looks like a line of this program.
func clean(s string) string { return plain.Line(s) }

// firstLine returns the first line of text that is not blank.
func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return strings.TrimRight(s[:i], " \t\r") + " …"
	}
	return s
}

// duration writes a time span as people read it: 11ms, 3.1s, 45s, 4m05s, 1h02m03s.
func duration(d time.Duration) string { return phrase.Duration(d) }

// ago writes how long ago something was.
func ago(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return duration(d.Truncate(time.Second)) + " ago"
}

// count writes a number with its noun.
func count(n int, noun string) string { return phrase.Count(n, noun) }
