package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"loops/engine"

	"github.com/spf13/cobra"

	"loops/internal/app"
	"loops/internal/terminal"
	"loops/internal/view"
)

type stopOptions struct {
	name  string // "" with all
	all   bool
	json  bool
	grace time.Duration
	item  bool // the run ends when the items at work have ended
}

func newStopCommand(a *program) *cobra.Command {
	var o stopOptions
	cmd := &cobra.Command{
		Use:   "stop NAME|RUN",
		Short: "Stop a running run",
		Long: `stop asks the run RUN, every running run of the loop NAME, or with --all every run of the project, to stop. The
request is recorded and reaches the run wherever its process is: on this machine, in a container, or on another machine
that shares the database. The process ends its action, which is killed after five seconds, records the run as
user_stopped and exits with 143. The run can be resumed. A suspended run ends as user_stopped too: unblock does not
continue it.

A process on this machine that has not ended after --grace is killed. stop then ends what the action left running and
records the run as interrupted. Where the request cannot be recorded, because the disk is full or the database is away,
stop sends SIGTERM to a process on this machine instead, and reports it. It never signals another process: it
recognises the owner by its lock, or by its pid and start time. A run of little-loops
is sent SIGTERM; its process is known by its command line.

With --after-item a run inside a for_each starts no further item, and ends when the running ones have ended; resume
continues with the rest. stop waits for that, with --grace TIME no longer than TIME, and kills nothing. A run that is
in no for_each is refused.

Waiters of the loop NAME, and with --all every waiter, are removed from the queue first, as by loops queue remove, so
that none of them starts when the stopped runs release their locks.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops stop fix
  loops stop fix-20261121T103405
  loops stop convert --after-item
  loops stop --all --grace 1m`,
		Args: oneOrAll,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.name = firstOf(args); o.grace <= 0 {
				return usageError{
					fmt.Sprintf("--grace %s: expected a time above 0, such as 30s", o.grace),
					"loops stop --help",
				}
			}
			if o.item && !cmd.Flags().Changed("grace") {
				o.grace = 0
			}
			return runStop(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.all, "all", false, "stop every running run of the project, and empty its queue")
	flags.DurationVar(&o.grace, "grace", engine.StopGrace, "`TIME` that a run has to end before its process is killed")
	flags.BoolVar(&o.item, "after-item", false, "let the running items of a for_each end, and start no further one")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON array: the waiters that were removed, then the runs "+
		"that were stopped")
	return cmd
}

func runStop(ctx context.Context, a *program, o stopOptions) error {
	s, err := a.service()
	if err != nil {
		return err
	}
	defer s.Close()
	told, err := s.Stop(ctx, o.name, app.Stopping{Grace: o.grace, AfterItem: o.item}, a.outUnless(o.json),
		a.eachUnless(o.json, func(e engine.Effect) string {
			return view.StoppedText(a.page(), e, o.grace)
		}))
	if o.json && told != nil {
		return a.withJSON(told.StopObjects(), err)
	}
	return err
}

// eachUnless is where to report the result of runs one by one; nil where the answer is JSON.
func (a *program) eachUnless(json bool, text func(engine.Effect) string) app.Each {
	if json {
		return nil
	}
	return func(e engine.Effect) { terminal.SayLine(a.out, text(e)) }
}

// withJSON prints what was done and returns what failed.
func (a *program) withJSON(done any, failed error) error {
	if err := terminal.WriteJSON(a.out, done); err != nil {
		return errors.Join(failed, err)
	}
	return failed
}
