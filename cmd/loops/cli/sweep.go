package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/proc"
	"loops/persistence"
	"loops/reconcile"
)

type sweepOptions struct{ dryRun, json bool }

func newSweepCommand(a *app) *cobra.Command {
	var o sweepOptions
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Tidy up after runs that died",
		Long: `sweep makes the records agree with what really runs: a run whose owner is dead becomes interrupted and stays resumable,
what its action left running is ended, and runs that have ended are moved to .loops/.history. What commands that were
killed had begun to remove, or had half taken in, is removed. A live run is never touched. run and resume do the same
when they start, but for what was to be removed.` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitConflict, exitRecord),
		Example: `  loops sweep --dry-run    what would be done
  loops sweep`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSweep(cmd.Context(), a, o) },
	}
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the plan, and do nothing")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON array")
	return cmd
}

func runSweep(ctx context.Context, a *app, o sweepOptions) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	changes, err := plan(ctx, store, "")
	if err != nil {
		return err
	}
	if !o.dryRun {
		changes, err = reconcile.Apply(ctx, store.Store, changes, ender(ctx, p))
	}
	if !o.dryRun {
		a.ring(p).dead(ctx, store.Store, changes)
	}
	// What was done is said also where something else failed.
	if err != nil {
		err = store.Failed(err)
	}
	if !o.dryRun {
		finished, unfinished := a.finish(ctx, p, store)
		changes, err = append(changes, finishedChanges(finished)...), errors.Join(err, unfinished)
	}
	if o.json {
		return errors.Join(err, writeJSON(a.out, list(changes, func(c reconcile.Change) any {
			return value.NewMap("instance_id", string(c.ID), "loop", c.Loop, "kind", string(c.Kind), "why", c.Why)
		})))
	}
	trees := 0
	if !o.dryRun && err == nil {
		err = a.finishTrees(ctx, p, store.Store, func(r treeReport) {
			trees++
			for _, line := range r.lines() {
				sayLine(a.out, line)
			}
		})
	}
	if len(changes)+trees == 0 && err == nil {
		sayLine(a.out, "Nothing to tidy up.")
	}
	for _, c := range changes {
		sayLine(a.out, changeLine(c))
	}
	return err
}

// tidy reconciles before a run begins, all but one run, and says each change in one line. A record that cannot be
// tidied up is no reason not to run: it is said, and stays as it is.
func (a *app) tidy(ctx context.Context, p *project.Project, store persistence.Store, print printer, quiet bool, except persistence.ID) {
	changes, err := plan(ctx, store, except)
	changes = slices.DeleteFunc(changes, func(c reconcile.Change) bool { return c.Unsure }) // no run waits for what sweep does
	if err == nil && len(changes) > 0 {
		changes, err = reconcile.Apply(ctx, store, changes, ender(ctx, p))
	}
	a.ring(p).dead(ctx, store, changes)
	if err != nil {
		print.note("loops: not tidied up: " + oneLine(err))
	}
	if !quiet {
		for _, c := range changes {
			print.note("loops: " + changeLine(c))
		}
	}
	err = a.finishTrees(ctx, p, store, func(r treeReport) {
		if !quiet || r.Kept {
			noteLines(print, "loops: ", r.lines())
		}
	})
	if err != nil {
		print.note("loops: a work tree could not be tidied up: " + oneLine(err))
	}
}

func plan(ctx context.Context, store persistence.Store, except persistence.ID) ([]reconcile.Change, error) {
	runs, err := store.Runs(ctx, persistence.Query{Live: true})
	if err != nil {
		return nil, err
	}
	var changes []reconcile.Change
	for _, c := range reconcile.Plan(runs, project.Alive, time.Now()) {
		if c.ID != except {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// ender ends what actions left running. It looks once whether there is anything: of many runs that died, most left nothing.
func ender(ctx context.Context, p *project.Project) func(marker string) (int, error) {
	marks := sync.OnceValues(func() (map[string]bool, error) { return proc.Marks(action.Variable) })
	return func(marker string) (int, error) {
		if there, err := marks(); err != nil || !there[p.Mark()+marker] {
			return 0, err
		}
		return endMarked(ctx, p, marker)
	}
}

func changeLine(c reconcile.Change) string {
	return fmt.Sprintf("%s %s: %s", c.Kind, c.ID, c.Why)
}
