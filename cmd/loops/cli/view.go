package cli

import (
	"cmp"
	"context"

	"github.com/spf13/pflag"

	"loops/fsm"
	"loops/internal/app"
	"loops/internal/live"
	"loops/internal/terminal"
	"loops/persistence"
)

func (v *viewFlags) addFlags(flags *pflag.FlagSet) {
	flags.BoolVarP(&v.quiet, "quiet", "q", false, "print errors only, and the reason of a failure")
	flags.BoolVarP(&v.verbose, "verbose", "v", false, "print whole actions, all output and details of verdicts")
	flags.BoolVarP(&v.json, "json", "j", false, "print events as JSON, one a line")
	flagAlias(flags, "qt", "quiet")
	flagDiagrams(flags, &v.diagrams, &v.clears)
}

// viewFlags are the flags of run and resume that choose a printer.
type viewFlags struct {
	quiet, verbose, json bool

	format, file string // see addFormat
	follow       bool
	costs        string // file

	diagrams string // "" = none
	clears   bool
}

func (v viewFlags) check(command string) error {
	if v.quiet && v.verbose {
		return usageError{"--quiet and --verbose exclude each other", command + " --help"}
	}
	if v.follow && (v.quiet || v.json) {
		return usageError{"--follow shows what --quiet and --json would not: give one of them", command + " --help"}
	}
	return v.checkFormat(command)
}

// newPrinter returns the printer for these flags, which notifies a process that waits for it when the run is on record.
func (a *program) newPrinter(v viewFlags) live.Printer {
	p := a.facePrinter(v)
	if v.costs != "" {
		p = &costPrinter{Printer: p, a: a, file: v.costs}
	}
	if a.onRecord != nil {
		p = &recordPrinter{Printer: p, tell: a.onRecord}
	}
	return p
}

func (a *program) foregroundPrinter(v viewFlags) live.Printer {
	if v.json {
		return live.NewJSON(a.Out, a.Err)
	}
	if v.follow {
		return live.NewFollowed(a.page(), a.Out, a.Err, v.verbose)
	}
	t := live.NewText(a.Out, a.Err, a.viewOf(v))
	if f, ok := terminal.Terminal(a.Out); ok && !v.quiet {
		if kind, _ := a.getenv("TERM"); kind != "dumb" {
			t.OnTerminal(f, a.Out, !v.verbose)
		}
	}
	return t
}

// viewOf is how these flags have a run shown as text.
func (a *program) viewOf(v viewFlags) live.View {
	colour := a.coloured(a.Out)
	view := live.View{Quiet: v.quiet, Verbose: v.verbose, Paint: terminal.Paint(colour), Clear: v.clears}
	if v.diagrams != "" {
		view.Draw = live.Diagrams(cmp.Or(terminal.Columns(a.Out, a.getenv), graphColumns), colour,
			func(id persistence.ID) *fsm.Loop {
				return app.LoopOf(context.Background(), a.project, id)
			})
	}
	return view
}
