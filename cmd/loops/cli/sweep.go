package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/trigger"
	"loops/internal/app"
	"loops/internal/live"
	"loops/internal/terminal"
	"loops/internal/view"
)

type sweepOptions struct {
	accept                             string
	dryRun, json, quiet, unowned, wake bool
}

func newSweepCommand(a *program) *cobra.Command {
	var o sweepOptions
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Tidy up after runs whose process died",
		Long: `sweep makes the records agree with what really runs: a run whose owner is dead becomes interrupted and stays resumable,
what its action left running is ended, and runs that have ended are moved to .loops/.history. It also removes what
killed commands left half removed or half imported. A live run is never touched, nor is a run of little-loops that
is recorded as running without a pid, unless --unowned is given. run and resume do the same when they start, except for
the removal. With --wake it also has parked runs continue in the background whose time has come, that
are to look again for what they wait for, or to which something was sent since; loops serve does so by itself. With
--accept-damage it does nothing else: what is damaged now of the record of RUN is not reported any more by status, lists
and resume. Reading the damaged events themselves still reports it, and export refuses them.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitConflict, exitRecord),
		Example: `  loops sweep --dry-run    what would be done
  loops sweep
  loops sweep --wake       in a crontab, where no server is running`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSweep(cmd.Context(), a, o) },
	}
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print what would be done, and do nothing")
	cmd.Flags().BoolVar(&o.unowned, "unowned", false, "also interrupt runs of little-loops without a recorded pid, "+
		"if you know that they are dead")
	cmd.Flags().BoolVar(&o.wake, "wake", false, "have parked runs continue that can, parked again where they wait")
	cmd.Flags().StringVar(&o.accept, "accept-damage", "", "only accept what is damaged of the record of `RUN`")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array")
	flagQuiet(cmd.Flags(), &o.quiet)
	return cmd
}

func runSweep(ctx context.Context, a *program, o sweepOptions) error {
	switch {
	case o.accept != "" && (o.dryRun || o.unowned || o.wake):
		return usageError{"--accept-damage stands alone", "loops sweep --help"}
	case o.accept != "":
		return a.ask(func(s *app.Service) error { return s.AcceptDamage(ctx, o.accept, o.json) })
	}
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	var changes []engine.Change
	var trees []string
	if o.dryRun {
		changes, err = e.PlanReconcile(ctx)
		if o.unowned && err == nil {
			var more []engine.Change
			more, err = e.PlanUnowned(ctx)
			changes = append(changes, more...)
		}
	} else {
		told := e.Observe(engine.ObserverFunc(func(n engine.Notice) {
			if n, ok := n.(engine.TreeEnded); ok {
				trees = append(trees, view.TreeLines(n.Report)...)
			}
		}))
		shown := live.WatchProgress(e, a.meter("Tidying up", o.quiet || o.json, nil))
		changes, err = e.Reconcile(ctx)
		shown()
		if o.unowned && err == nil {
			var more []engine.Change
			more, err = e.TakeUnowned(ctx)
			changes = append(changes, more...)
		}
		told()
		err = a.refused(err)
	}
	if !o.dryRun {
		err = errors.Join(err, a.publisher.Sweep(ctx))
	}
	if o.wake {
		r, failed := e.Records(ctx)
		var due []engine.Due
		if failed == nil {
			due, failed = trigger.WakeDue(ctx, r, o.dryRun, (&served{app: a}).beginDetached)
		}
		for _, d := range due {
			changes = append(changes, engine.Change{ID: d.Run.ID, Loop: d.Run.Loop, Kind: "wake", Why: d.Why})
		}
		err = errors.Join(err, failed)
	}
	// What was done is printed even if something else failed.
	if o.json {
		return errors.Join(err,
			terminal.WriteJSON(a.out, terminal.List(changes, func(c engine.Change) any { return view.Change(c) })))
	}
	for _, line := range trees {
		terminal.SayLine(a.out, line)
	}
	if len(changes)+len(trees) == 0 && err == nil {
		terminal.SayLine(a.out, "Nothing to tidy up.")
	}
	for _, c := range changes {
		terminal.SayLine(a.out, a.page().ChangeLine(c))
	}
	return err
}
