package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

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
