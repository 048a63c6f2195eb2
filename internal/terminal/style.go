package terminal

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"loops/internal/humanize"
)

// Terminal returns the file behind w if it is a terminal.
func Terminal(w io.Writer) (*os.File, bool) {
	f, ok := Verbatim(w).(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// Verbatim returns the writer behind Out or Err of an app, for what is not for people to read: data, a
// protocol, or text that another process of this program made harmless.
func Verbatim(w io.Writer) io.Writer {
	if p, ok := w.(*humanize.PlainWriter); ok {
		return p.Unwrap()
	}
	return w
}

// Interactive reports whether r is a terminal, where a person can answer.
func Interactive(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A Paint styles words, or does not.
type Paint bool

func (p Paint) with(code, s string) string {
	if !p || s == "" {
		return s
	}
	return humanize.Style(code, s)
}

// Bold returns s in bold.
func (p Paint) Bold(s string) string { return p.with("1", s) }

// Dim returns s dimmed.
func (p Paint) Dim(s string) string { return p.with("2", s) }

// Red returns s in red.
func (p Paint) Red(s string) string { return p.with("31", s) }

// Green returns s in green.
func (p Paint) Green(s string) string { return p.with("32", s) }

// Amber returns s in amber.
func (p Paint) Amber(s string) string { return p.with("33", s) }

// Cyan returns s in cyan.
func (p Paint) Cyan(s string) string { return p.with("36", s) }

// Columns returns how many columns a text on w may have: those of the terminal, else the variable COLUMNS if it
// is at least 20; 0 = any number.
func Columns(w io.Writer, getenv func(name string) (string, bool)) int {
	if file, is := Terminal(w); is {
		return Width(file)
	}
	text, _ := getenv("COLUMNS")
	if n, err := strconv.Atoi(text); err == nil && n >= 20 {
		return n
	}
	return 0
}

// Width returns how many columns a terminal has.
func Width(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}
