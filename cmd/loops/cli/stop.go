package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"loops/engine"

	"github.com/spf13/cobra"

	"loops/internal/service"
	"loops/internal/ui"
	"loops/internal/ui/views"
)

type stopOptions struct {
	name  string // "" with all
	all   bool
	json  bool
	grace time.Duration
	item  bool // the run ends when the items at work have ended
}

func newStopCommand(a *app) *cobra.Command {
	var o stopOptions
	cmd := &cobra.Command{
		Use:   "stop NAME|RUN",
		Short: "Stop a running run",
		Long: `stop asks the run RUN, every running run of the loop NAME, or with --all every run of the project, to stop. That
is recorded for the run, wherever the process that owns it is: on this machine, in a container, or on another machine
that shares the database. The process ends its action, records the run as user_stopped and exits with 143. The action
has five seconds to end before it is killed. The run can be resumed.

A process of this machine that has not ended after --grace is killed. stop then ends what the action has left running,
which carries the mark of the run, and records the run as interrupted. Where the stop cannot be recorded, because the
disk is full or the database is away, a process of this machine is sent SIGTERM instead, and stop says so. No other
process is ever signalled: the owner is told from others by its lock, or its pid and its start. A run of little-loops
is sent SIGTERM; its process is known by its command line.

With --after-item a run that works on a list (for_each) begins no further item, and ends when those at work have ended:
nothing is cut short, and resume does the rest of the list. stop waits for that, with --grace TIME no longer than TIME,
and kills nothing. A run that works on no list is refused.

Those of the loop NAME that wait in the queue, and with --all everybody there, are taken out of it first, as by loops
queue remove: nothing of them was run. So none of them begins when the runs that are stopped give up what they locked.` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops stop fix
  loops stop fix-20261121T103405
  loops stop convert --after-item
  loops stop --all --grace 1m`,
		Args: oneOrAll,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.name = firstOf(args); o.grace <= 0 {
				return usageError{fmt.Sprintf("--grace %s: expected a time above 0, such as 30s", o.grace), "loops stop --help"}
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
	flags.BoolVar(&o.item, "after-item", false, "let the items of a for_each that are at work end first, and begin no further one")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON array of the runs that were stopped, after those that were taken out of the queue")
	return cmd
}

func runStop(ctx context.Context, a *app, o stopOptions) error {
	s, err := a.service()
	if err != nil {
		return err
	}
	defer s.Close()
	told, err := s.Stop(ctx, o.name, service.Stopping{Grace: o.grace, AfterItem: o.item}, a.outUnless(o.json), a.eachUnless(o.json, func(e engine.Effect) string {
		return views.StoppedText(a.page(), e, o.grace)
	}))
	if o.json && told != nil {
		return a.withJSON(told.StopObjects(), err)
	}
	return err
}

// eachUnless is where to tell what became of runs one by one; nil where the answer is JSON.
func (a *app) eachUnless(json bool, text func(engine.Effect) string) service.Each {
	if json {
		return nil
	}
	return func(e engine.Effect) { ui.SayLine(a.out, text(e)) }
}

// withJSON prints what was done and returns what failed.
func (a *app) withJSON(done []any, failed error) error {
	if err := ui.WriteJSON(a.out, done); err != nil {
		return errors.Join(failed, err)
	}
	return failed
}
