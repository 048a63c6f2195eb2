package cli

import (
	"cmp"
	"context"

	"github.com/spf13/pflag"

	"loops/cmd/loops/cli/sharedflags"
	"loops/fsm"
	"loops/internal/lookup"
	"loops/internal/ui"
	"loops/internal/ui/progress"
	"loops/internal/ui/viewer"
	"loops/persistence"
)

func (v *viewFlags) addFlags(flags *pflag.FlagSet) {
	flags.BoolVarP(&v.quiet, "quiet", "q", false, "print errors only, and the reason of a failure")
	flags.BoolVarP(&v.verbose, "verbose", "v", false, "print whole actions, all output and details of verdicts")
	flags.BoolVarP(&v.json, "json", "j", false, "print events as JSON, one a line")
	sharedflags.Alias(flags, "qt", "quiet")
	sharedflags.Diagrams(flags, &v.diagrams, &v.clears)
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
func (a *app) newPrinter(v viewFlags) progress.Printer {
	p := a.facePrinter(v)
	if v.costs != "" {
		p = &costPrinter{Printer: p, a: a, file: v.costs}
	}
	if a.onRecord != nil {
		p = &recordPrinter{Printer: p, tell: a.onRecord}
	}
	return p
}

func (a *app) foregroundPrinter(v viewFlags) progress.Printer {
	if v.json {
		return progress.NewJSON(a.Out, a.Err)
	}
	if v.follow {
		return viewer.NewFollowed(a.page(), a.Out, a.Err, v.verbose)
	}
	t := progress.NewText(a.Out, a.Err, a.viewOf(v))
	if f, ok := ui.Terminal(a.Out); ok && !v.quiet {
		if kind, _ := a.getenv("TERM"); kind != "dumb" {
			t.OnTerminal(f, a.Out, !v.verbose)
		}
	}
	return t
}

// viewOf is how these flags have a run shown as text.
func (a *app) viewOf(v viewFlags) progress.View {
	colour := a.coloured(a.Out)
	view := progress.View{Quiet: v.quiet, Verbose: v.verbose, Paint: ui.Paint(colour), Clear: v.clears}
	if v.diagrams != "" {
		view.Draw = viewer.Diagrams(cmp.Or(ui.Columns(a.Out, a.getenv), graphColumns), colour, func(id persistence.ID) *fsm.Loop {
			return lookup.LoopOf(context.Background(), a.project, id)
		})
	}
	return view
}
