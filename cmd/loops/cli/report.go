package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/report"
	"loops/internal/ui"
	"loops/internal/ui/views"
)

type reportOptions struct{ name, file, by, format string }

func newReportCommand(a *app) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report RUN|NAME -o FILE",
		Short: "Write an HTML page or a CI report about a run",
		Long: `report writes one page of HTML about a run, or about the newest run of a loop: how it ended, its graph, a timeline and a
table of its steps with their output and cost.

The page needs nothing else and opens without a network: it runs no script and loads nothing. It has 5 MB at most:
outputs are cut to their beginning and end, and of runs of more than 10,000 steps the first 1,000 and the last 9,000
are there. What is cut says so. Times are in UTC.

--format junit writes JUnit XML instead: each state is a test, and the one in which the run did not end well has the
failure or error; how actions ended on the way there is none. --format markdown writes what run --format github adds to
the summary of a job: how it ended, its steps, and the graph in Mermaid; it has 1 MiB at most.` +
			exitMeanings(exitMeaning{exitOK, "done"}, exitMeaning{exitFailed, "the page could not be written"}, exitMeaning{exitUsage, "bad command line, or an id that several runs have"},
				exitMeaning{exitInvalid, "the project's table of prices is not valid"}, exitMeaning{exitNotFound, "no such run or database of runs"}, exitMeaning{exitRecord, "the records of runs cannot be used"}),
		Example: `  loops report fix -o fix.html
  loops report fix-20261121T103405 --by cost -o run.html
  loops report fix -o - | gzip > fix.html.gz
  loops report fix --format junit -o junit.xml
  loops report fix --format markdown -o - >> "$GITHUB_STEP_SUMMARY"`,
		Args: arguments(1, 1, "RUN, or NAME of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			const see = "loops report --help"
			if o.file == "" {
				return usageError{"-o FILE is missing: where to write the page; - is standard output", see}
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
	flags.StringVarP(&o.file, "output", "o", "", "write to `FILE`; - is standard output")
	flags.StringVar(&o.format, "format", "html", "`FORMAT` is html, junit or markdown")
	flags.StringVar(&o.by, "by", inspect.ByVisits, "what colours the graph: `WHAT` is visits, time or cost")
	return cmd
}

func runReport(ctx context.Context, a *app, o reportOptions) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	run, err := lookup.OneRun(ctx, f, o.name)
	if err != nil {
		return err
	}
	known, err := p.Pricer()
	if err != nil {
		return err
	}
	page := report.Page{Title: fmt.Sprintf("Run %s", run.ID), More: a.command("history", run.Loop, run.RunID) + " -v -n 0"}
	steps, t := &report.HTML{}, inspect.NewAccount(known)
	page.Notes, err = views.ReadSteps(ctx, store, run, t, steps)
	if err != nil {
		return err
	}
	for _, n := range page.Notes {
		ui.Say(a.Err, "loops: %s\n", n)
	}
	graph, note, damage := lookup.GraphOfRun(ctx, f, run, t, o.by)
	page.Graph = graph
	if note != "" {
		page.Notes = append(page.Notes, note)
	}
	page.Facts = views.ReportFacts(p, store, run, t.Costs.Total)
	if err := a.writeFile(p, o.file, func(w io.Writer) error { return page.Write(w, steps) }); err != nil {
		return err
	}
	return damage // the page is there, and not all of it is what was recorded
}
