package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"loops/internal/terminal"
	"loops/internal/view"
)

func (a *program) checkColor(cmd *cobra.Command) error {
	a.flags = cmd.Flags()
	a.colorGiven = cmd.Flags().Changed("color")
	switch a.color {
	case "auto", "always", "never":
		return nil
	}
	return usageError{fmt.Sprintf("--color %q: expected auto, always or never", a.color), "loops --help"}
}

// coloured reports whether to use colours on w: as the command line says, the environment, a file, or whether
// it is a terminal.
func (a *program) coloured(w io.Writer) bool {
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
	_, is := terminal.Terminal(w)
	switch a.configuredColor() {
	case "always":
		return true
	case "never":
		return false
	}
	return is
}

// width is the width of the terminal; 0 = the output is not a terminal.
func (a *program) width() int {
	f, is := terminal.Terminal(a.Out)
	if !is {
		return 0
	}
	return terminal.Width(f)
}

// page is where views of this command line write.
func (a *program) page() *view.Page {
	return &view.Page{
		Out: a.out, Err: a.Err, Paint: terminal.Paint(a.coloured(a.Out)), Columns: a.width(),
		Command: a.command, Remedy: a.remedy, Text: a.text,
	}
}
