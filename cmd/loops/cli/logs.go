package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/internal/app"
	"loops/internal/live"
	"loops/internal/terminal"
	"loops/persistence"
)

func newLogsCommand(a *program) *cobra.Command {
	var o live.ActionLogOptions
	cmd := &cobra.Command{
		Use:   "logs NAME|RUN... [STEP]",
		Short: "Print the output of a run's actions",
		Long: `logs prints the output of the actions of a run, oldest first, under a line for each that names its step and state, and
what they wrote to standard error after "! ", as an action ends. NAME means the newest run of the loop. With a STEP behind
it, only that step is printed with all inside it: 3, 3/2, 2/lint, 2/#4/1 (see loops help explain). With -f it follows the
run until it ends or its process is gone, and prints standard error as it comes; Ctrl-C ends the command, not the run.
With several runs, each line names its run and state. With --bare or --raw, standard error is left out.

Long output is kept in a file in the run's folder and printed whole while that file exists. With -f, output is printed as
it comes; where it is cut off, the file is named.

Colours in output are kept. Other control characters are shown as \x1b and the like, in a pipe too. With --raw the
output is printed as it was recorded: line ends as \n, and bytes that are no UTF-8 as U+FFFD.

With --stderr, logs prints standard error instead. The record keeps the end of it, or all of it where it is in a
file.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord, exitInterrupted),
		Example: `  loops logs fix -f
  loops logs fix --failed
  loops logs fix nightly -f
  loops logs fix --state test
  loops logs fix 2/lint
  loops logs fix-20261121T103405 --stderr`,
		Args: arguments(1, -1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Failed && o.Follow {
				return usageError{
					"--failed and --follow: an action that fails is known when it has ended",
					"loops logs --help",
				}
			}
			return runLogs(cmd.Context(), a, args, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.Follow, "follow", "f", false, "follow the run until it ends")
	flags.StringVarP(&o.State, "state", "s", "", "only actions of this `STATE`, in sub-loops too")
	flags.BoolVar(&o.Failed, "failed", false, "only the last action that failed, with standard error, too")
	flags.BoolVar(&o.Stderr, "stderr", false, "print standard error instead")
	flags.BoolVar(&o.Bare, "bare", false, "print no lines that name steps")
	flags.BoolVar(&o.Raw, "raw", false, "print output as it was written, with all it holds; without lines "+
		"that name steps")
	return cmd
}

func runLogs(ctx context.Context, a *program, names []string, o live.ActionLogOptions) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	var runs []persistence.Run
	for i, name := range names {
		run, err := app.OneRun(ctx, f, name)
		if at, is := fsm.ParseAddress(name); err != nil && is && i > 0 && i == len(names)-1 {
			o.At = at
			continue
		}
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	out := a.out
	if o.Raw {
		out = terminal.NewBatchedSink(terminal.Verbatim(a.Out))
		defer out.Flush()
	}
	acted, err := o.Show(out, p, runs, terminal.Paint(a.coloured(a.Out)),
		func(r persistence.Run, stderr func(file, text string), each func(fsm.Event)) error {
			return a.tail(ctx, f, r, 0, o.Follow, stderr, each)
		})
	if err != nil {
		return err
	}
	for i, run := range runs {
		if acted[i] {
			continue
		}
		what := "action"
		if o.Failed {
			what = "failed action"
		}
		if o.State != "" {
			if err := app.UnknownState(ctx, f, run, o.State, "logs"); err != nil {
				return err
			}
			what += " of " + o.State
		}
		if len(o.At.Hops) > 0 {
			what += " in step " + o.At.String()
		}
		terminal.Say(a.Err, "loops: run %s has recorded no %s\n", run.ID, what)
	}
	return nil
}
