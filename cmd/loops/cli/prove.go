package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/simulate"
	"loops/internal/terminal"
)

func newProveCommand(a *program) *cobra.Command {
	var o simulate.DeskProof
	cmd := &cobra.Command{
		Use:   "prove NAME|PATH",
		Short: "Say what holds of every run of a loop",
		Long: `prove looks at all runs that a loop can have, whatever its actions and judges come to, and says how many steps and prompts
a run takes at most and which limit says so, the shortest path to each end, which states only a failure reaches and which
none does, and whether the properties of the file hold. Nothing is run.

Steps and prompts are upper bounds. They are exact where no limit but max_steps holds. What only a run knows is taken as
possible: a target that is a template may be any state. A prompt that is rate-limited, or that a stop
interrupts, is sent again, and that is not counted; neither is what a person adds by extend.

A property that is broken comes with a run that breaks it. --counterexample N prints the verdicts of that run for
loops simulate --script.` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "steps and prompts have a bound, and every property holds"},
			exitMeaning{Code: exitFailed, Text: "a property is broken or cannot be checked, steps or prompts have " +
				"no bound, or the answer could not be written out"},
			exitMeaning{Code: exitUsage, Text: "bad command line"},
			exitMeaning{Code: exitInvalid, Text: "the loop file is not valid"},
			exitMeaning{Code: exitNotFound, Text: "no such loop"}),
		Example: `  loops prove fix
  loops prove deploy --json | jq .properties
  loops prove deploy --counterexample 1 | loops simulate deploy --script -`,
		Args: arguments(1, 1, "NAME or PATH of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			const see = "loops prove --help"
			switch {
			case cmd.Flags().Changed("counterexample") && o.Counterexample < 1:
				return usageError{fmt.Sprintf("--counterexample %d: expected the number of a property, from 1",
					o.Counterexample), see}
			case o.Counterexample > 0 && o.JSON:
				return usageError{"--counterexample and --json exclude each other: --json has the scripts of " +
					"all properties", see}
			}
			return runProve(cmd.Context(), a, &o)
		},
	}
	flags := cmd.Flags()
	flagContext(flags, &o.Context)
	flags.IntVar(&o.Counterexample, "counterexample", 0,
		"print the verdicts of a run that breaks property `N`, and nothing else")
	flags.BoolVarP(&o.Quiet, "quiet", "q", false, "leave out the paths")
	flags.BoolVarP(&o.JSON, "json", "j", false, "print a JSON object")
	return cmd
}

func runProve(ctx context.Context, a *program, o *simulate.DeskProof) error {
	d, err := a.desk()
	if err != nil {
		return err
	}
	answer, good, err := d.Prove(ctx, o)
	if err != nil {
		return err
	}
	if answer != nil {
		err = terminal.WriteJSON(a.out, answer)
	}
	if !good {
		err = errors.Join(err, told(engine.Failed))
	}
	return err
}
