package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/app"
	"loops/internal/simulate"
)

func newReplayCommand(a *program) *cobra.Command {
	var o simulate.Replay
	var since string
	cmd := &cobra.Command{
		Use:   "replay [NAME|RUN]",
		Short: "Walk again through a run on record, with another definition",
		Long: `replay walks again through the run RUN, or the newest run of the loop NAME, in memory: each action is answered from the
record. Nothing is started and nothing recorded. With --definition the run is walked through with another loop file, to see
whether it would have ended otherwise; without it, with the definition that is recorded with it.

An action is answered if the record has one of the same state with the same text and, where the files of the run were kept, the
same files before it. A verdict is that of the record while its evaluator is the same; another evaluator looks at the recorded
output. A judge that would be asked something else, and an action that is not on record, have no answer: replay says how they
differ from what is on record, and ends with exit code 14.

With --live-from, the replay continues as a new run, whose actions are done for real: from a step, from the first visit of a
state, or with miss from the first step that the record has no answer for, which also ends the part before a step. The new run
works in a work tree of git with the files that the step began with, in the sandbox of the loop, and nothing is merged; before it
begins, what that part cost on record is printed. It is refused where the files of the run were not kept, and where a state
says idempotent: false, unless with --rerun. The exit code is then that of the new run, as loops run has it.

With --all, all runs of a loop that have ended are replayed, and a table says how each would have ended.` +
			exitHelpOf(
				exitMeaning{Code: exitOK, Text: "it would have ended as it did"},
				exitMeaning{Code: exitFailed, Text: "a run would have ended otherwise, or has not ended"},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{Code: exitInvalid, Text: "the loop file is not valid"},
				exitMeaning{Code: exitNotFound, Text: "no such run or loop, or what it began with is not on record"},
				exitMeaning{Code: exitAwaiting, Text: "--live-from: an action says idempotent: false"},
				exitMeaning{Code: exitMissed, Text: "a run would do something that is not on record"},
				exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"},
			),
		Example: `  loops replay fix-20261121T103405 --definition drafts/fix.yaml
  loops replay --all --since 30d --definition drafts/fix.yaml
  loops replay fix --definition drafts/fix.yaml --live-from miss --dry-run
  loops replay fix --json | jq .same`,
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			const see = "loops replay --help"
			if len(args) > 0 {
				o.Run = args[0]
			}
			if o.Definition == engine.RecordedDefinition {
				o.Definition = ""
			}
			switch {
			case !o.All && o.Run == "":
				return usageError{"which run? Name one, or say --all", see}
			case o.LiveFrom != "" && (o.All || o.JSON):
				return usageError{"--live-from does one run for real: give it without --all and --json", see}
			case o.LiveFrom == "" && (o.Rerun || o.DryRun):
				return usageError{"--rerun and --dry-run go with --live-from", see}
			case !o.All && since != "":
				return usageError{"--since goes with --all", see}
			case o.All && o.Run == "" && o.Definition == "":
				return usageError{"--all needs the name of a loop, or --definition FILE", see}
			}
			if since != "" {
				var err error
				if o.Since, err = app.Since(engine.Setting{Name: "since", Value: since}, "replay"); err != nil {
					return a.refused(err)
				}
			}
			var view viewFlags
			a.fillView(cmd, &view)
			return runReplay(cmd.Context(), a, &o, view)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Definition, "definition", "", "walk through it with the loop `FILE`, or with recorded: the "+
		"loop as it was recorded with the run (default)")
	flags.BoolVar(&o.All, "all", false, "all runs of the loop that have ended")
	flags.StringVarP(&since, "since", "S", "", "with --all: only runs that began after `WHEN`: an age (45s, 30m, "+
		"1h, 7d) or a date")
	flags.StringVar(&o.LiveFrom, "live-from", "", "do actions for real from `STEP` on: a number, a state (its first "+
		"visit), or miss")
	flags.BoolVar(&o.Rerun, "rerun", false, "with --live-from: also where a state says idempotent: false")
	flags.BoolVar(&o.DryRun, "dry-run", false, "with --live-from: print from where and what that cost on record, "+
		"and do nothing")
	flags.BoolVarP(&o.JSON, "json", "j", false, "print a JSON object, with --all a list")
	return cmd
}

func runReplay(ctx context.Context, a *program, o *simulate.Replay, view viewFlags) error {
	d, err := a.desk()
	if err != nil {
		return err
	}
	seen, err := d.Replay(ctx, o)
	if err != nil {
		return a.refused(err)
	}
	if live := seen.Live; live != nil && !live.DryRun {
		return a.carryRequest(ctx, view, engine.Request{Fork: live.Fork})
	}
	return replayed(seen)
}
