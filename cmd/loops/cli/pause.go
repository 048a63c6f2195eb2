package cli

import (
	"context"
	"fmt"

	"loops/engine"

	"github.com/spf13/cobra"

	"loops/internal/app"
	"loops/internal/view"
)

type pauseOptions struct {
	name      string // "" with all
	all, json bool
}

// addFlags adds the flags, and check the arguments, of the commands that do something to NAME, RUN or all runs.
func (o *pauseOptions) addFlags(cmd *cobra.Command, verb string) {
	cmd.Flags().BoolVar(&o.all, "all", false, verb+" every running run of the project")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array")
}

// oneOrAll takes NAME or RUN, or nothing with --all.
func oneOrAll(cmd *cobra.Command, args []string) error {
	if all, _ := cmd.Flags().GetBool("all"); all {
		if len(args) > 0 {
			return usageError{
				fmt.Sprintf("--all is every run: %q is one too many", args[0]),
				cmd.CommandPath() + " --help",
			}
		}
		return nil
	}
	return arguments(1, 1, "NAME of a loop or id of a RUN, or --all")(cmd, args)
}

func newPauseCommand(a *program) *cobra.Command {
	var o pauseOptions
	cmd := &cobra.Command{
		Use:   "pause NAME|RUN",
		Short: "Pause a run before its next state",
		Long: `pause makes the run RUN, every running run of the loop NAME, or with --all every run of the project wait before
its next state. A running action is not interrupted: pause returns at once, and status shows when the run has paused.
Paused time does not count towards timeouts. A run that is stopped or killed while paused continues when it is resumed:
resume lifts the pause.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops pause fix
  loops pause --all
  loops status fix       shows since when it is paused
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

func newUnpauseCommand(a *program) *cobra.Command {
	var o pauseOptions
	cmd := &cobra.Command{
		Use:   "unpause NAME|RUN",
		Short: "Continue a paused run",
		Long: `unpause continues the run RUN, every paused run of the loop NAME, or with --all every paused run of the
project. If the run
was stopped or killed meanwhile, it will not be paused when it is resumed.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
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

func runPause(ctx context.Context, a *program, o pauseOptions) error {
	return a.ask(func(s *app.Service) error {
		told, err := s.Pause(ctx, o.name,
			a.eachUnless(o.json, func(e engine.Effect) string { return view.PausedText(a.page(), e) }))
		if o.json && told != nil {
			return a.withJSON(told.PauseObjects(), err)
		}
		return err
	})
}

func runUnpause(ctx context.Context, a *program, o pauseOptions) error {
	return a.ask(func(s *app.Service) error {
		told, err := s.Unpause(ctx, o.name,
			a.eachUnless(o.json, func(e engine.Effect) string { return view.UnpausedText(a.page(), e.Before) }))
		if o.json && told != nil {
			return a.withJSON(told.UnpauseObjects(), err)
		}
		return err
	})
}
