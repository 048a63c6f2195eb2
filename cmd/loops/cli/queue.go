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
	"loops/internal/app"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

func newQueueCommand(a *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "List waiters, or remove one",
		Long: `run --queue and resume --queue wait in the queue of the project while other runs hold locks on the same files. Waiters
whose scopes overlap start in the order in which they came; a run whose scope is free does not wait. A run without
--queue never overtakes waiters: it exits with 9.

A place in the queue is a file in .loops/.queue. A waiter that is killed leaves the queue at that moment. Waiters of
little-loops count, too. With a database, the queue is that of this project's folder: locks of runs in other folders
are in the database, and the first waiter tries again until they are released.` + exitHelp(exitOK, exitUsage),
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

func newQueueListCommand(a *program) *cobra.Command {
	var o queueListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List waiters, first come first",
		Long: `list shows the waiters in the queue of the project: id, loop, since when, the position among waiters whose scopes
overlap, the run or waiter that is waited for, what the run will lock, and the process.` + exitHelp(exitOK, exitFailed, exitUsage, exitRecord),
		Example: `  loops queue list
  loops queue list --json | jq -r '.[].queue_id'`,
		Args: arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error { return runQueueList(a, o) },
	}
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array")
	return cmd
}

// waiters returns the queue of the project, and what waits in it.
func (a *program) waiters() (*project.Project, *persistence.Queue, []persistence.Waiter, error) {
	p, err := a.project()
	if err != nil {
		return p, nil, nil, err
	}
	q := p.Queue()
	line, err := q.Waiters()
	return p, q, line, err
}

func runQueueList(a *program, o queueListOptions) error {
	p, _, line, err := a.waiters()
	if err != nil {
		return err
	}
	if o.json {
		return terminal.WriteJSON(a.out,
			terminal.List(line, func(w persistence.Waiter) any { return view.Waiter(w, line) }))
	}
	if len(line) == 0 {
		terminal.SayLine(a.out, "The queue is empty.")
		return nil
	}
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	terminal.Say(t, "ID\tLOOP\tSINCE\tPLACE\tWAITS FOR\tSCOPE\tPID\n")
	for _, w := range line {
		terminal.Say(t, "%s\t%s\t%s ago\t%d\t%s\t%s\t%s\n", view.ShortWaiter(w.ID), view.WaiterLoop(w),
			view.Age(w.Since), view.QueuePlace(w, line), view.WaitsForText(w.For), view.ShortScope(p, w),
			strings.TrimPrefix(view.Process(w.Owner), "pid "))
	}
	return t.Flush()
}

type queueRemoveOptions struct {
	id   string // "" with all
	all  bool
	json bool
}

func newQueueRemoveCommand(a *program) *cobra.Command {
	var o queueRemoveOptions
	cmd := &cobra.Command{
		Use:   "remove ID|NAME",
		Short: "Remove a waiter",
		Long: `remove removes the waiter with the id ID or that prefix of it (4 characters at least), every waiter of the loop NAME,
or with --all every waiter, and ends its process. Nothing of its run has begun. A waiter whose turn has just come
continues, and remove says so. No other process is signalled: a waiter is recognised by its lock, its pid and its start
time.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitConflict, exitRecord),
		Example: `  loops queue remove 28f714b9
  loops queue remove fix
  loops queue remove --all`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.all && len(args) > 0 {
				return usageError{
					fmt.Sprintf("--all takes every waiter: %q is one too many", args[0]),
					"loops queue remove --help",
				}
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
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array of the waiters that were removed")
	return cmd
}

func runQueueRemove(ctx context.Context, a *program, o queueRemoveOptions) error {
	_, q, line, err := a.waiters()
	if err != nil {
		return err
	}
	if !o.all {
		if line, err = app.FindWaiters(line, o.id); err != nil {
			return err
		}
	}
	if len(line) == 0 {
		return failure(engine.NotFound, "the queue is empty")
	}
	removed, err := app.TakeOutOfQueue(ctx, q, line, a.outUnless(o.json))
	errs := []error{err}
	if o.json {
		errs = append(errs, terminal.WriteJSON(a.out, removed))
	}
	return joined(errs)
}

// outUnless is where to report what is done one by one; nil where the answer is JSON.
func (a *program) outUnless(json bool) io.Writer {
	if json {
		return nil
	}
	return a.out
}
