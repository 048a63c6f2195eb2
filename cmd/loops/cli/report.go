package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/disk"
	"loops/internal/inspect"
	"loops/internal/process"
	"loops/internal/report"
	"loops/internal/terminal"
	"loops/persistence"
)

type reportOptions struct {
	name, file, by, format string
	open                   bool
	json                   bool
}

func newReportCommand(a *program) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report RUN|NAME",
		Short: "Write an HTML page or a CI report about a run",
		Long: `report writes one page of HTML about a run, or about the newest run of a loop: how it ended, its graph, a
timeline and a
table of its steps with their output and cost. Without -o it is written into the folder of the run, and its path is printed.

The page is one file that runs no script and loads nothing. It has 5 MB at most: outputs are cut to their
beginning and end, and runs of more than 10,000 steps to their first 1,000 and last 9,000. Every cut is marked. Times
are in UTC.

--format junit writes JUnit XML instead: each state is a test case, and the state in which the run failed has the
failure or error. Actions that failed earlier are not failures. --format markdown writes what run --format github adds to
the summary of a job: how it ended, its steps, and the graph in Mermaid; it has 1 MiB at most.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "done"},
				exitMeaning{Code: exitFailed, Text: "the page could not be written"},
				exitMeaning{Code: exitUsage, Text: "bad command line, or an id that several runs have"},
				exitMeaning{Code: exitInvalid, Text: "the project's table of prices is not valid"},
				exitMeaning{Code: exitNotFound, Text: "no such run or database of runs"},
				exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"}),
		Example: `  loops report fix --open
  loops report fix -o fix.html
  loops report fix-20261121T103405 --by cost -o run.html
  loops report fix -o - | gzip > fix.html.gz
  loops report fix --format junit -o junit.xml
  loops report fix --format markdown -o - >> "$GITHUB_STEP_SUMMARY"`,
		Args: arguments(1, 1, "RUN, or NAME of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			const see = "loops report --help"
			if o.json && o.file == "-" {
				return usageError{"-o - prints the report: leave out --json", see}
			}
			if o.open && o.file == "-" {
				return usageError{"--open opens a file: leave out -o -", see}
			}
			if err := checkBy(o.by, see); err != nil {
				return err
			}
			switch o.format {
			case "html":
				return runReport(cmd.Context(), a, o)
			case "junit", "markdown":
				return runFaceReport(cmd, a, o)
			}
			return usageError{fmt.Sprintf("--format %q: expected html, junit or markdown", o.format), see}
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "output", "o", "", "write to `FILE` instead; - is standard output")
	flags.BoolVarP(&o.json, "json", "j", false, "print JSON: the file that was written")
	flags.BoolVar(&o.open, "open", false, "open it, with $BROWSER if that is set")
	flags.StringVar(&o.format, "format", "html", "`FORMAT` is html, junit or markdown")
	flags.StringVar(&o.by, "by", inspect.ByVisits, "what colours the graph: `WHAT` is outcome, visits, time or cost")
	return cmd
}

func runReport(ctx context.Context, a *program, o reportOptions) error {
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
	known, err := p.Pricer()
	if err != nil {
		return err
	}
	page := report.Page{Title: fmt.Sprintf("Run %s", run.ID), More: a.command("history -v -n 0", string(run.ID))}
	steps, t := &report.HTML{}, inspect.NewAccount(known)
	page.Notes, err = app.ReadSteps(ctx, store, run, t, steps)
	if err != nil {
		return err
	}
	for _, n := range page.Notes {
		terminal.Say(a.Err, "loops: %s\n", n)
	}
	graph, note, damage := app.GraphOfRun(ctx, f, run, t, o.by)
	page.Graph = graph
	if note != "" {
		page.Notes = append(page.Notes, note)
	}
	page.Facts = app.ReportFacts(p, store, run, t.Costs.Total)
	if err := a.writeReport(ctx, p, o, run, func(w io.Writer) error { return page.Write(w, steps) }); err != nil {
		return err
	}
	return damage // the page is there, and not all of it is what was recorded
}

// writeReport writes a report to the file that was asked for, or else into the folder of the run, and prints that path.
func (a *program) writeReport(ctx context.Context, p *project.Project, o reportOptions, run persistence.Run,
	write func(io.Writer) error,
) error {
	file := o.file
	if file == "" {
		runs := filepath.Join(p.Loops, "runs")
		folder := filepath.Join(runs, string(run.ID))
		if err := disk.MakeWork(runs, folder); err != nil {
			return failure(engine.Failed, "the folder of run %s cannot be made: %v", run.ID, project.Cause(err))
		}
		file = filepath.Join(folder,
			"report"+map[string]string{"html": ".html", "junit": ".xml", "markdown": ".md"}[o.format])
	}
	if err := a.writeFile(p, file, write); err != nil {
		return err
	}
	switch {
	case o.json:
		o := api.Reported{Instance: string(run.ID), File: at(p, file), Format: o.format}
		if err := terminal.WriteJSON(a.out, o); err != nil {
			return err
		}
	case o.file == "":
		terminal.SayLine(a.out, p.Short(file))
	}
	if !o.open {
		return nil
	}
	file = at(p, file)
	browser, _ := a.getenv("BROWSER")
	if err := process.OpenFile(ctx, file, browser, a.Env); err != nil {
		return failure(engine.Failed, "%s is written, and cannot be opened: %v", p.Short(file), err)
	}
	return nil
}

// at returns the file that a command line names, absolute.
func at(p *project.Project, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(p.Cwd, file)
}
