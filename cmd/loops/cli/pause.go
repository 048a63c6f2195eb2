package cli

import (
	"context"
	"fmt"

	"loops/engine"

	"github.com/spf13/cobra"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence"
)

type pauseOptions struct {
	name      string // "" with all
	all, json bool
}

// addFlags adds the flags, and check the arguments, of the commands that do something to NAME, RUN or all runs.
func (o *pauseOptions) addFlags(cmd *cobra.Command, verb string) {
	cmd.Flags().BoolVar(&o.all, "all", false, verb+" every run of the project that goes on")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array")
}

// oneOrAll takes NAME or RUN, or nothing with --all.
func oneOrAll(cmd *cobra.Command, args []string) error {
	if all, _ := cmd.Flags().GetBool("all"); all {
		if len(args) > 0 {
			return usageError{fmt.Sprintf("--all is every run: %q is one too many", args[0]), cmd.CommandPath() + " --help"}
		}
		return nil
	}
	return arguments(1, 1, "NAME of a loop or id of a RUN, or --all")(cmd, args)
}

func newPauseCommand(a *app) *cobra.Command {
	var o pauseOptions
	cmd := &cobra.Command{
		Use:   "pause NAME|RUN",
		Short: "Pause a run before its next state",
		Long: `pause has the run RUN, every run of the loop NAME that goes on, or with --all every run of the project wait before the
next state that it would enter. An action that runs is not interrupted: pause returns, and status says when the run
stands. The time of a pause counts for no timeout. A run that is stopped or killed meanwhile goes on when
it is resumed: resume lifts the pause, and says so.` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops pause fix
  loops pause --all
  loops status fix       says since when it is paused
  loops unpause fix`,
		Args: oneOrAll,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = firstOf(args)
			return runPause(cmd.Context(), a, o)
		},
	}
	o.addFlags(cmd, "pause")
	return cmd
}

func newUnpauseCommand(a *app) *cobra.Command {
	var o pauseOptions
	cmd := &cobra.Command{
		Use:   "unpause NAME|RUN",
		Short: "Continue a paused run",
		Long: `unpause lets the run RUN, every paused run of the loop NAME, or with --all every paused run of the project go on. Of one
that was stopped or killed it takes the pause away, so that it goes on when it is resumed.` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops unpause fix
  loops unpause --all`,
		Args: oneOrAll,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = firstOf(args)
			return runUnpause(cmd.Context(), a, o)
		},
	}
	o.addFlags(cmd, "unpause")
	return cmd
}

func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// goingOn returns the runs that go on of those that arg means, all if it is "". None is an error that says so; verb is
// what was to be done.
func goingOn(ctx context.Context, f project.Finder, arg, verb string) ([]persistence.Run, error) {
	var runs []persistence.Run
	var newest *persistence.Run
	var err error
	if arg == "" {
		runs, err = f.Store.Runs(ctx, persistence.Query{Live: true})
		runs = project.Current(runs)
	} else {
		runs, newest, err = f.Live(ctx, arg)
	}
	if err != nil {
		return nil, f.Store.Failed(err)
	}
	var live []persistence.Run
	for _, r := range runs {
		if project.Alive(r) {
			live = append(live, r)
		}
	}
	switch {
	case len(live) > 0:
		return live, nil
	case arg == "":
		return nil, failure(engine.NotFound, "nothing to %s: no run goes on", verb)
	case newest == nil:
		return nil, nothingTo(ctx, f, verb, arg, "")
	}
	return nil, failure(engine.NotFound, "nothing to %s: run %s is %s", verb, newest.ID, inspect.StatusWord(*newest))
}

func runPause(ctx context.Context, a *app, o pauseOptions) error {
	e, store, err := a.controller(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	runs, err := goingOn(ctx, store.Finder(), o.name, "pause")
	if err != nil {
		return err
	}
	done := []any{}
	err = a.askAll(ctx, e, runs, engine.Command{Kind: persistence.CommandPause}, func(s engine.Effect) {
		r := s.Before
		if o.json {
			done = append(done, value.NewMap("instance_id", string(r.ID), "run_id", r.RunID, "loop", r.Loop, "pid", int64(r.Owner.PID), "paused", s.Wait != nil, "current_state", r.State))
			return
		}
		ui.SayLine(a.out, views.PausedText(a.page(), s))
	})
	errs := []error{err}
	if o.json {
		errs = append(errs, a.reply(done))
	}
	return joined(errs)
}

func runUnpause(ctx context.Context, a *app, o pauseOptions) error {
	e, store, err := a.controller(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	f := store.Finder()
	var runs []persistence.Run
	if o.name == "" {
		runs, err = store.Runs(ctx, persistence.Query{Limit: lookup.OpenRuns})
		runs = project.Current(runs)
	} else {
		runs, err = f.Runs(ctx, o.name, engine.RecentRuns)
	}
	if err != nil {
		return store.Failed(err)
	}
	var errs []error
	var standing []persistence.Run
	for _, r := range runs {
		paused, err := e.Paused(ctx, r)
		if err != nil {
			errs = append(errs, a.refused(err))
		}
		if paused {
			standing = append(standing, r)
		}
	}
	done, found := []any{}, len(standing) > 0 || len(errs) > 0
	errs = append(errs, a.askAll(ctx, e, standing, engine.Command{Kind: persistence.CommandUnpause}, func(s engine.Effect) {
		r := s.Before
		if o.json {
			done = append(done, value.NewMap("instance_id", string(r.ID), "run_id", r.RunID, "loop", r.Loop, "goes_on", project.Alive(r), "current_state", r.State))
			return
		}
		ui.SayLine(a.out, views.UnpausedText(a.page(), r))
	}))
	switch {
	case found && o.json:
		errs = append(errs, a.reply(done))
	case found:
	case o.name == "":
		return failure(engine.NotFound, "nothing to unpause: no run is paused")
	case len(runs) == 0:
		return nothingTo(ctx, f, "unpause", o.name, "")
	default:
		return failure(engine.NotFound, "nothing to unpause: run %s is %s and not paused", runs[0].ID, inspect.StatusWord(runs[0]))
	}
	return joined(errs)
}
