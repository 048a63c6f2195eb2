package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/queue"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence"
)

func newQueueCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "List waiters, or remove one",
		Long: `run --queue and resume --queue wait in the queue of the project while other runs have locked the same files. Those whose
scopes overlap go in the order in which they came; others do not wait for one another, and a run whose scope is free does
not wait at all. A run without --queue does not slip in before those who wait: it exits with 9.

A place in the queue is a file in .loops/.queue. A waiter that is killed leaves the queue at that moment. Waiters of
little-loops count, with the scope that they wait for. With a database, the queue is that of this project's folder:
of runs in other folders the database decides, and who is first there tries again until it is free.` + exitCodes(exitOK, exitUsage),
		Example: `  loops run fix --queue
  loops queue list
  loops queue remove 28f714b9`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newQueueListCommand(a), newQueueRemoveCommand(a))
	return cmd
}

type queueListOptions struct{ json bool }

func newQueueListCommand(a *app) *cobra.Command {
	var o queueListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List waiters, first come first",
		Long: `list shows who waits in the queue of the project: the id of the place, the loop, since when, as which of those whose
scopes overlap, for which run or for whom else, what the run will lock, and the process.` + exitCodes(exitOK, exitFailed, exitUsage, exitRecord),
		Example: `  loops queue list
  loops queue list --json | jq -r '.[].queue_id'`,
		Args: arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error { return runQueueList(a, o) },
	}
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array")
	return cmd
}

// waiters returns the queue of the project, and who waits in it.
func (a *app) waiters() (*project.Project, *persistence.Queue, []persistence.Waiter, error) {
	p, err := a.project()
	if err != nil {
		return p, nil, nil, err
	}
	q := p.Queue()
	line, err := q.Waiters()
	return p, q, line, err
}

func runQueueList(a *app, o queueListOptions) error {
	p, _, line, err := a.waiters()
	if err != nil {
		return err
	}
	if o.json {
		return ui.WriteJSON(a.out, ui.List(line, func(w persistence.Waiter) any { return views.WaiterJSON(w, line) }))
	}
	if len(line) == 0 {
		ui.SayLine(a.out, "The queue is empty.")
		return nil
	}
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	ui.Say(t, "ID\tLOOP\tSINCE\tPLACE\tWAITS FOR\tSCOPE\tPID\n")
	for _, w := range line {
		ui.Say(t, "%s\t%s\t%s ago\t%d\t%s\t%s\t%s\n", views.ShortWaiter(w.ID), views.WaiterLoop(w), views.Age(w.Since), views.QueuePlace(w, line), views.WaitsForText(w.For), views.ShortScope(p, w), strings.TrimPrefix(views.Process(w.Owner), "pid "))
	}
	return t.Flush()
}

type queueRemoveOptions struct {
	id   string // "" with all
	all  bool
	json bool
}

func newQueueRemoveCommand(a *app) *cobra.Command {
	var o queueRemoveOptions
	cmd := &cobra.Command{
		Use:   "remove ID|NAME",
		Short: "Remove a waiter",
		Long: `remove takes the one with the id ID, or whose id begins so (4 characters at least), everybody of the loop NAME, or with
--all everybody out of the queue, and ends the process that waits. Nothing of its run was begun then. One whose turn it was
just now continues, which is said. No other process is signalled: who waits is told from others by its lock, its pid and its
start.` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitConflict, exitRecord),
		Example: `  loops queue remove 28f714b9
  loops queue remove fix
  loops queue remove --all`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.all && len(args) > 0 {
				return usageError{fmt.Sprintf("--all takes every waiter: %q is one too many", args[0]), "loops queue remove --help"}
			}
			if o.all {
				return nil
			}
			return arguments(1, 1, "ID of a place in the queue, NAME of a loop, or --all")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.id = firstOf(args)
			return runQueueRemove(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "remove every waiter")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array of those who were taken out")
	return cmd
}

func runQueueRemove(ctx context.Context, a *app, o queueRemoveOptions) error {
	_, q, line, err := a.waiters()
	if err != nil {
		return err
	}
	if !o.all {
		if line, err = queue.Find(line, o.id); err != nil {
			return err
		}
	}
	if len(line) == 0 {
		return failure(engine.NotFound, "the queue is empty")
	}
	removed, err := queue.TakeOut(ctx, q, line, a.outUnless(o.json))
	errs := []error{err}
	if o.json {
		errs = append(errs, ui.WriteJSON(a.out, removed))
	}
	return joined(errs)
}

// outUnless is where to tell what is done one by one; nil where the answer is JSON.
func (a *app) outUnless(json bool) io.Writer {
	if json {
		return nil
	}
	return a.out
}
