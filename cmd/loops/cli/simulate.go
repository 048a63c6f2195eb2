package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/humanize"
	"loops/internal/simulate"
	"loops/internal/terminal"
)

func newSimulateCommand(a *program) *cobra.Command {
	var o simulate.DeskSimulation
	cmd := &cobra.Command{
		Use:     "simulate NAME|PATH [INPUT]",
		Aliases: []string{"sim"},
		Short:   "Walk through a loop with made-up results",
		Long: `simulate walks through a loop and its sub-loops, and prints the path and how a run would end. Nothing is run: no
process is started, no file written, no agent asked, nothing recorded, and nothing is waited for. Each action has the
output "[simulated output for: ACTION]", and comes to what one of these says:

  --scenario   exit codes by rule: all-pass 0, all-fail 1, all-error 2, first-fail 1 and then 0, alternating 1, 0, 1, …
               An evaluator that could only look at made-up output, at files or at a judge's answer follows the exit
               code: yes, no or error, or what it has for that. All others look at what there is.
  --script     a file with a line for each state that is entered and acts or evaluates: STATE VERDICT, or VERDICT. Empty
               lines and those that begin with # do not count. States that run a sub-loop have no line; those of the
               sub-loop have. A file that does not fit the run is an error, with the number of the line. - is
               standard input.
  --seed       verdicts by chance, each transition of a state equally likely. With --runs N, N runs are made, with this
               seed and those that follow it, and the number of runs that reached each end is printed.

A run of a loop may enter at most ` + strconv.Itoa(simulate.MostSteps) + ` states here.` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "the run ended, however it did"},
			exitMeaning{Code: exitFailed, Text: "it did not end, or the answer could not be written out"},
			exitMeaning{
				Code: exitUsage,
				Text: "bad command line or script, or a context value that the loop needs is missing",
			},
			exitMeaning{Code: exitInvalid, Text: "the loop file is not valid"},
			exitMeaning{Code: exitNotFound, Text: "no such loop"}),
		Example: `  loops simulate fix --scenario first-fail
  loops simulate fix --script verdicts.txt
  loops simulate fix --runs 1000
  loops simulate fix --seed 4 --json | jq -r '.path[].state'`,
		Args: arguments(1, 2, "NAME or PATH of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			if len(args) > 1 {
				o.Input = &args[1]
			}
			if err := checkSimulation(&o, cmd); err != nil {
				return err
			}
			o.Describe()
			return runSimulate(cmd.Context(), a, &o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Scenario, "scenario", "", "exit codes by rule: `NAME` is "+
		strings.Join(simulate.Scenarios(), ", "))
	flags.StringVar(&o.Script, "script", "", "verdicts from `FILE`")
	flags.Uint64Var(&o.Seed, "seed", 1, "verdicts by chance; the same `N` gives the same ones")
	flags.IntVar(&o.Runs, "runs", 1, "make `N` runs by chance and count their ends")
	flagContext(flags, &o.Context)
	flagMaxSteps(flags, &o.MaxSteps)
	flags.IntVar(&o.MaxIterations, "max-iterations", 0,
		"cap on full passes of a maintain loop, instead of the loop's `N`")
	flags.BoolVarP(&o.Quiet, "quiet", "q", false, "print only how it would end")
	flags.BoolVarP(&o.Verbose, "verbose", "v", false, "print whole actions")
	flags.BoolVarP(&o.JSON, "json", "j", false, "print a JSON object")
	return cmd
}

func checkSimulation(o *simulate.DeskSimulation, cmd *cobra.Command) error {
	const see = "loops simulate --help"
	flags := cmd.Flags()
	byChance := flags.Changed("seed") || flags.Changed("runs")
	given := 0
	for _, is := range []bool{flags.Changed("scenario"), flags.Changed("script"), byChance} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return usageError{"what do its actions come to? Say --scenario NAME, --script FILE or --seed N", see}
	case given > 1 && flags.Changed("runs") && !flags.Changed("seed"):
		return usageError{"--runs goes with --seed: every other run would be the same", see}
	case given > 1:
		return usageError{"--scenario, --script and --seed exclude each other", see}
	case flags.Changed("scenario") && !slices.Contains(simulate.Scenarios(), o.Scenario):
		return usageError{fmt.Sprintf("--scenario %q: expected %s%s", o.Scenario,
			strings.Join(simulate.Scenarios(), ", "), humanize.DidYouMean(o.Scenario, simulate.Scenarios())), see}
	case o.Runs < 1 || o.Runs > simulate.MostRuns:
		return usageError{fmt.Sprintf("--runs %d: expected a number from 1 to %d", o.Runs, simulate.MostRuns), see}
	case o.Seed > math.MaxInt64-simulate.MostRuns:
		return usageError{fmt.Sprintf("--seed %d: expected a number from 0 to %d", o.Seed,
			int64(math.MaxInt64-simulate.MostRuns)), see}
	case flags.Changed("max-steps") && o.MaxSteps < 1:
		return usageError{fmt.Sprintf("--max-steps %d: expected a number from 1", o.MaxSteps), see}
	case flags.Changed("max-iterations") && o.MaxIterations < 1:
		return usageError{fmt.Sprintf("--max-iterations %d: expected a number from 1", o.MaxIterations), see}
	case o.Quiet && o.Verbose:
		return usageError{"--quiet and --verbose exclude each other", see}
	}
	return nil
}

func runSimulate(ctx context.Context, a *program, o *simulate.DeskSimulation) error {
	d, err := a.desk()
	if err != nil {
		return err
	}
	answer, err := d.Simulate(ctx, o)
	if answer == nil {
		return err
	}
	return errors.Join(terminal.WriteJSON(a.out, answer), err)
}

// desk is where this command line tries loops out.
func (a *program) desk() (*simulate.Desk, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	return &simulate.Desk{
		Project: p, Options: a.engineOptions(), Out: a.out, Paint: terminal.Paint(a.coloured(a.Out)), Getenv: a.getenv,
		Warn: func(quiet bool) engine.Warn { return a.warner(p, quiet) }, Shown: a.shown, Read: a.readGiven,
		Code: exitOf, Guard: untilSignal,
	}, nil
}
