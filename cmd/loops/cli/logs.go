package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"loops/engine/project"
	"loops/internal/lookup"
	"loops/internal/ui"
	"loops/internal/ui/actionlog"
	"loops/persistence"
)

func newLogsCommand(a *app) *cobra.Command {
	var o actionlog.Options
	cmd := &cobra.Command{
		Use:   "logs NAME|RUN",
		Short: "Print the output of a run's actions",
		Long: `logs prints the output of the actions of a run, oldest first, under a line for each that names its step and state. NAME means
the newest run of the loop. With -f it goes on until the run ends, or has no process any more; Ctrl-C ends the command, not
the run.

Long output is in a file in the run's folder, from where it is printed whole, as long as the file is there. With -f output
is printed as it comes, and where that breaks off, the file is named.

Colours in output pass. What else in it acts on a terminal is shown as \x1b and the like, in a pipe too. With --raw the
output is printed as it was written, and nothing else.

With --stderr it prints what actions wrote to standard error instead. The records keep the end of that; all of it where it
is in a file.` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord, exitInt),
		Example: `  loops logs fix -f
  loops logs fix --state test
  loops logs fix-20261121T103405 --stderr`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return runLogs(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.Follow, "follow", "f", false, "follow the run until it ends")
	flags.StringVarP(&o.State, "state", "s", "", "only actions of this `STATE`, in sub-loops too")
	flags.BoolVar(&o.Stderr, "stderr", false, "print standard error instead")
	flags.BoolVar(&o.Bare, "bare", false, "print no lines that name steps")
	flags.BoolVar(&o.Raw, "raw", false, "print output as it was written, with all it holds; without lines that name steps")
	return cmd
}

func runLogs(ctx context.Context, a *app, o actionlog.Options) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	run, err := lookup.OneRun(ctx, f, o.Name)
	if err != nil {
		return err
	}
	out := a.out
	if o.Raw {
		out = ui.NewBatchedSink(ui.Verbatim(a.Out))
		defer out.Flush()
	}
	acted, err := a.logsOf(ctx, p, f, run, o, out)
	if err != nil {
		return err
	}
	if !acted && o.State != "" {
		if err := lookup.UnknownState(ctx, f, run, o.State, "logs"); err != nil {
			return err
		}
	}
	if !acted {
		what := "action"
		if o.State != "" {
			what = "action of " + o.State
		}
		ui.Say(a.Err, "loops: run %s has recorded no %s\n", run.ID, what)
	}
	return nil
}

// logsOf writes the output of the actions of a run to out, and reports whether there was an action.
func (a *app) logsOf(ctx context.Context, p *project.Project, f project.Finder, run persistence.Run, o actionlog.Options, out io.Writer) (acted bool, err error) {
	l := actionlog.New(o, out, p, run.ID, ui.Paint(a.coloured(a.Out)))
	if err := a.tail(ctx, f, run, 0, o.Follow, l.Event); err != nil {
		return false, err
	}
	l.End()
	return l.Acted, nil
}
