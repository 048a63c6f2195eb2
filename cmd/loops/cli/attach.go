package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"github.com/spf13/cobra"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/live"
	"loops/persistence"
)

type attachOptions struct {
	name string
	all  bool
	view viewFlags
}

func newAttachCommand(a *program) *cobra.Command {
	var o attachOptions
	cmd := &cobra.Command{
		Use:     "attach NAME|RUN",
		Aliases: []string{"monitor"},
		Short:   "Follow a running run",
		Long: `attach shows the run RUN, or the one of the loop NAME that is running, as run would show it: from the state it is in, or
with --all from its beginning. It ends when the run does, with the exit code of the run; of a run that has ended it shows
the end. It may be in any store, and its owner on another machine.

Ctrl-C ends attach, and not the run.` + exitRunHelp(exitMeaning{Code: exitInterrupted, Text: "stopped by SIGINT; or Ctrl-C ended attach, and the run is still running"},
			exitMeaning{
				Code: exitTerminated,
				Text: "stopped by SIGTERM, also by loops stop; or SIGTERM ended attach, and the run is still running",
			},
			exitMeaning{
				Code: exitQuit,
				Text: "stopped by SIGQUIT; or Ctrl-\\ ended attach, and the run is still running",
			},
			exitMeaning{
				Code: exitHangup,
				Text: "stopped by SIGHUP; or the terminal went away, and the run is still running",
			},
			exitMeaning{Code: exitNotFound, Text: "no such run, or no database of runs there"}),
		Example: `  loops attach fix
  loops attach fix-20261121T103405 --all
  loops run -b fix && loops attach fix`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if err := o.view.check(cmd.CommandPath()); err != nil {
				return err
			}
			return runAttach(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "show the run from its beginning")
	o.view.addFlags(cmd.Flags())
	return cmd
}

func runAttach(ctx context.Context, a *program, o attachOptions) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	r, err := pickAttached(ctx, store.Finder(), o.name)
	if err != nil {
		return err
	}
	// The end of this process is nothing to the run. These signals only say so to the person.
	ctx, detach := context.WithCancelCause(ctx)
	defer detach(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, signalEnds...)
	defer signal.Stop(signals)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case s := <-signals:
			detach(&fsm.Stop{Signal: signalName(s)})
		case <-done:
		}
	}()
	v := live.NewAttached(p, a.newPrinter(o.view), store, r.ID, a.page())
	if r, err = v.Show(ctx, r, o.all); err != nil {
		// err may be of a call to the store that the signal cut off
		if stop, detached := errors.AsType[*fsm.Stop](context.Cause(ctx)); detached {
			v.Print.Note(fmt.Sprintf("Detached; run %s is still running. Back to it: %s. Stop it: %s", r.ID,
				a.command("attach", string(r.ID)), a.command("stop", string(r.ID))))
			return endedBy(stop.Signal)
		}
		return err
	}
	outcome, err := v.End(ctx, r)
	if err != nil {
		return err
	}
	return endedAs(*outcome)
}

// pickAttached returns the run to show: the one that is running, or else the newest.
func pickAttached(ctx context.Context, f project.Finder, arg string) (persistence.Run, error) {
	live, newest, err := f.Live(ctx, arg)
	if err != nil {
		return persistence.Run{}, f.Store.Failed(err)
	}
	if newest == nil {
		return persistence.Run{}, nothingTo(ctx, f, "attach to", arg, "; see: loops list --running, loops history NAME")
	}
	live = slices.DeleteFunc(live, func(r persistence.Run) bool { return !project.Alive(r) })
	switch len(live) {
	case 0:
		return *newest, nil
	case 1:
		return live[0], nil
	}
	return persistence.Run{}, &project.AmbiguousError{
		Arg:  arg,
		What: fmt.Sprintf("%s has %d active runs", arg, len(live)), Runs: live,
	}
}
