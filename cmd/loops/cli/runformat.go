package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/internal/app"
	"loops/internal/live"
	"loops/internal/report"
	"loops/internal/terminal"
	"loops/persistence"
)

// The formats of run, resume and fork.
var runFormats = []string{"text", "json", "github", "junit"}

// addFormat adds the flags that choose what a service of continuous integration gets.
func (v *viewFlags) addFormat(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&v.format, "format", "text", "`FORMAT` is text, json, github (for a job of GitHub Actions: "+
		"groups, notes in the code, a summary) or junit")
	flags.BoolVarP(&v.follow, "follow", "f", false, "show every event as it is recorded, in lines as those of "+
		"history; with -v the output of actions too")
	flags.StringVar(&v.costs, "cost-output-json", "", "write what prompts and judges cost to `FILE` when the run "+
		"ends, as JSON")
	flags.StringVarP(&v.file, "output", "o", "", "write the report of --format junit to `FILE` when the run ends, "+
		"instead of to standard output")
}

// checkFormat refuses unknown formats, and flags that exclude each other.
func (v viewFlags) checkFormat(command string) error {
	see := command + " --help"
	switch {
	case v.format != "" && !slices.Contains(runFormats, v.format):
		return usageError{fmt.Sprintf("--format %q: expected text, json, github or junit", v.format), see}
	case v.json && v.format != "" && v.format != "text" && v.format != "json":
		return usageError{"--json and --format " + v.format + " exclude each other", see}
	case v.follow && v.format != "" && v.format != "text":
		return usageError{"--follow and --format " + v.format + " exclude each other", see}
	case v.file != "" && v.format != "junit":
		return usageError{"-o FILE is for --format junit", see}
	}
	return nil
}

// checkBackground refuses what a run in the background cannot do: nothing reads its output.
func (v viewFlags) checkBackground(command string) error {
	switch {
	case v.follow:
		return usageError{"--background and --follow exclude each other; to watch a run in the background: loops " +
			"events -f RUN", command + " --help"}
	case v.format == "github":
		return usageError{
			"--background and --format github exclude each other: the job would not wait for the run",
			command + " --help",
		}
	case v.format == "junit" && (v.file == "" || v.file == "-"):
		return usageError{"--format junit needs -o FILE with --background", command + " --help"}
	}
	return nil
}

// facePrinter is foregroundPrinter with the formats for services.
func (a *program) facePrinter(v viewFlags) live.Printer {
	switch v.format {
	case "json":
		v.json = true
	case "github":
		if a.detached == nil {
			return a.newGitHubPrinter(v)
		}
	case "junit":
		b := *a
		if v.file == "" || v.file == "-" {
			b.Out = a.Err // standard output is for the report
		}
		return &junitPrinter{Printer: b.foregroundPrinter(v), a: a, file: v.file}
	}
	return a.foregroundPrinter(v)
}

// A junitPrinter writes a report when the run has ended, and shows it meanwhile as another printer does.
type junitPrinter struct {
	live.Printer
	a    *program
	file string
	id   persistence.ID
}

func (p *junitPrinter) Header(h live.Header) {
	p.id = h.Run.ID
	p.Printer.Header(h)
}

func (p *junitPrinter) Finish(o fsm.Outcome, resume string) {
	p.Printer.Finish(o, resume)
	pr, err := p.a.project()
	if err == nil {
		err = p.a.faceOf(context.Background(), p.id, &o, func(r *report.Suite, run report.Run) error {
			return p.a.writeFile(pr, p.file, func(w io.Writer) error { return r.JUnit(w, run) })
		})
	}
	if err != nil {
		p.Note("loops: the report could not be written: " + oneLine(err) + "; to write it again: " +
			p.a.command("report --format junit -o FILE", string(p.id)))
	}
}

// faceOf reads all that is recorded of a run and hands it to write. o is how it ended, nil where only the records have
// that.
func (a *program) faceOf(ctx context.Context, id persistence.ID, o *fsm.Outcome,
	write func(*report.Suite, report.Run) error,
) error {
	_, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	run, err := f.Named(ctx, string(id))
	if err == nil && run == nil {
		err = app.NoSuchRun(ctx, f, string(id))
	}
	if err != nil {
		return err
	}
	r, face, err := app.Suite(ctx, a.page(), f, *run, o)
	if r == nil {
		return err
	}
	return write(r, face) // that its loop cannot be read is a note in it
}

// runFaceReport is loops report in a format for services.
func runFaceReport(cmd *cobra.Command, a *program, o reportOptions) error {
	if cmd.Flags().Changed("by") {
		return usageError{"--by is for --format html", "loops report --help"}
	}
	ctx := cmd.Context()
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	run, err := app.OneRun(ctx, f, o.name)
	if err != nil {
		return err
	}
	r, face, damage := app.Suite(ctx, a.page(), f, run, nil)
	if r == nil {
		return damage
	}
	for _, n := range face.Notes {
		terminal.Say(a.Err, "loops: %s\n", n)
	}
	err = a.writeReport(ctx, p, o, run, func(w io.Writer) error {
		if o.format == "junit" {
			return r.JUnit(w, face)
		}
		return r.Markdown(w, face, mostSummary)
	})
	if err != nil {
		return err
	}
	return damage // the report is there, and not all of it is what was recorded
}
