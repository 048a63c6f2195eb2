package cli

import (
	"github.com/spf13/pflag"

	"loops/internal/ui"
	"loops/internal/ui/progress"
	"loops/internal/ui/viewer"
)

func (v *viewFlags) addFlags(flags *pflag.FlagSet) {
	flags.BoolVarP(&v.quiet, "quiet", "q", false, "print errors only, and how a run failed")
	flags.BoolVarP(&v.verbose, "verbose", "v", false, "print whole actions, all output and details of verdicts")
	flags.BoolVarP(&v.json, "json", "j", false, "print events as JSON, one a line")
}

// viewFlags are the flags of run and resume that choose a printer.
type viewFlags struct {
	quiet, verbose, json bool

	format, file string // see addFormat
	follow       bool
	costs        string // file
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

// newPrinter returns the printer for these flags, and for a run in the background one that writes its log.
func (a *app) newPrinter(v viewFlags) progress.Printer {
	if a.detached != nil {
		v.json = false // that was asked of whoever started it
	}
	p := a.facePrinter(v)
	if v.costs != "" {
		p = &costPrinter{Printer: p, a: a, file: v.costs}
	}
	if a.detached != nil {
		p = &detachedPrinter{Printer: p, a: a}
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
	if f, ok := ui.Terminal(a.Out); ok && !v.quiet && !v.verbose {
		if kind, _ := a.getenv("TERM"); kind != "dumb" {
			t.ShowLive(f, a.Out)
		}
	}
	return t
}

// viewOf is how these flags have a run shown as text.
func (a *app) viewOf(v viewFlags) progress.View {
	return progress.View{Quiet: v.quiet, Verbose: v.verbose, Paint: ui.Paint(a.coloured(a.Out))}
}
