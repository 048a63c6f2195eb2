package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/phrase"
	"loops/internal/rehearse"
	"loops/internal/ui"
)

type simulateOptions struct {
	name                    string
	source                  string // what messages call the script; "" = its file
	input                   *string
	context                 []string
	scenario, script        string
	seed                    uint64
	runs                    int
	maxSteps, maxIterations int
	quiet, verbose, json    bool

	how *value.Map // of the flags, for JSON
}

// mostRuns bounds what --runs can ask for.
const mostRuns = 1_000_000

func newSimulateCommand(a *app) *cobra.Command {
	var o simulateOptions
	cmd := &cobra.Command{
		Use:     "simulate NAME|PATH [INPUT]",
		Aliases: []string{"sim"},
		Short:   "Walk through a loop with made-up results",
		Long: `simulate walks through a loop, sub-loops too, and says which way it went and how a run would end. Nothing is run: no
process is started, no file written, no agent asked, nothing recorded, and nothing is waited for. Each action has the
output "[simulated output for: ACTION]", and comes to what one of these says:

  --scenario   exit codes by rule: all-pass 0, all-fail 1, all-error 2, first-fail 1 and then 0, alternating 1, 0, 1, …
               An evaluator that could only look at made-up output, at files or at a judge's answer follows the exit
               code: yes, no or error, or what it has for that. All others look at what there is.
  --script     a file with a line for each state that is entered and acts or evaluates: STATE VERDICT, or VERDICT. Empty
               lines and those that begin with # do not count. States that run a sub-loop have no line; those of the
               sub-loop have. A file that does not fit the run is an error, with the number of the line. - is
               standard input.
  --seed       verdicts by chance, each way out of a state as likely as any other. With --runs N, N runs are made, with
               this seed and those that follow it, and it is said how often each end is reached.

A run of a loop may enter at most ` + strconv.Itoa(rehearse.MostSteps) + ` states here.` + exitMeanings(
			exitMeaning{exitOK, "the run ended, however it did"}, exitMeaning{exitFailed, "it did not end, or the answer could not be written out"},
			exitMeaning{exitUsage, "bad command line or script, or a context value that the loop needs is missing"},
			exitMeaning{exitInvalid, "the loop file is not valid"}, exitMeaning{exitNotFound, "no such loop"}),
		Example: `  loops simulate fix --scenario first-fail
  loops simulate fix --script verdicts.txt
  loops simulate fix --runs 1000
  loops simulate fix --seed 4 --json | jq -r '.path[].state'`,
		Args: arguments(1, 2, "NAME or PATH of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if len(args) > 1 {
				o.input = &args[1]
			}
			if err := o.check(cmd); err != nil {
				return err
			}
			o.describe()
			return runSimulate(cmd.Context(), a, &o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.scenario, "scenario", "", "exit codes by rule: `NAME` is "+strings.Join(rehearse.Scenarios(), ", "))
	flags.StringVar(&o.script, "script", "", "verdicts from `FILE`")
	flags.Uint64Var(&o.seed, "seed", 1, "verdicts by chance; the same `N` gives the same ones")
	flags.IntVar(&o.runs, "runs", 1, "make `N` runs by chance and count their ends")
	flags.StringArrayVar(&o.context, "context", nil, "set a context value, `KEY=VALUE` (repeatable)")
	flags.IntVarP(&o.maxSteps, "max-steps", "n", 0, "cap on state entries, instead of the loop's `N`")
	flags.IntVar(&o.maxIterations, "max-iterations", 0, "cap on full passes of a maintain loop, instead of the loop's `N`")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print how it would end, and not the way there")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print whole actions")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	return cmd
}

func (o *simulateOptions) check(cmd *cobra.Command) error {
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
	case flags.Changed("scenario") && !slices.Contains(rehearse.Scenarios(), o.scenario):
		return usageError{fmt.Sprintf("--scenario %q: expected %s%s", o.scenario, strings.Join(rehearse.Scenarios(), ", "), phrase.DidYouMean(o.scenario, rehearse.Scenarios())), see}
	case o.runs < 1 || o.runs > mostRuns:
		return usageError{fmt.Sprintf("--runs %d: expected a number from 1 to %d", o.runs, mostRuns), see}
	case o.seed > math.MaxInt64-mostRuns:
		return usageError{fmt.Sprintf("--seed %d: expected a number from 0 to %d", o.seed, int64(math.MaxInt64-mostRuns)), see}
	case flags.Changed("max-steps") && o.maxSteps < 1:
		return usageError{fmt.Sprintf("--max-steps %d: expected a number from 1", o.maxSteps), see}
	case flags.Changed("max-iterations") && o.maxIterations < 1:
		return usageError{fmt.Sprintf("--max-iterations %d: expected a number from 1", o.maxIterations), see}
	case o.quiet && o.verbose:
		return usageError{"--quiet and --verbose exclude each other", see}
	}
	return nil
}

// describe notes what decides, for JSON.
func (o *simulateOptions) describe() {
	switch {
	case o.scenario != "":
		o.how = value.NewMap("scenario", o.scenario)
	case o.script != "":
		o.how = value.NewMap("script", o.script)
	default:
		o.how = value.NewMap("seed", int64(o.seed)) //nolint:gosec // checked above
	}
}

func runSimulate(ctx context.Context, a *app, o *simulateOptions) error {
	over := project.Overrides{MaxSteps: o.maxSteps, MaxIterations: o.maxIterations}
	r, err := a.rehearsal(o.name, o.input, o.context, over, o.quiet)
	if err != nil {
		return err
	}
	if err := engine.Preflight(r.project, r.loop, r.values); err != nil {
		return err
	}
	verify, _ := a.getenv(engine.EnvVerify)
	walk := func(replies rehearse.Replies, observe func(fsm.Event)) (fsm.Outcome, error) {
		return rehearse.Simulate(ctx, rehearse.Simulation{
			Loop: r.loop, Values: r.values.Clone(), Library: r.library, Files: action.Files{Dir: r.project.WorkDir()}, Dir: r.project.WorkDir(),
			Getenv: a.getenv, Replies: replies, Observe: observe, Verify: verify == "1",
		})
	}
	if o.runs > 1 {
		var tally rehearse.Tally
		for n := range uint64(o.runs) { //nolint:gosec // it is not negative
			outcome, err := walk(rehearse.Random(o.seed+n), nil)
			if err != nil {
				return simulationError(o, fmt.Errorf("with --seed %d: %w", o.seed+n, err))
			}
			tally.Add(o.seed+n, outcome)
		}
		return a.printTally(r, o, &tally)
	}
	replies, err := a.replies(r, o)
	if err != nil {
		return err
	}
	p := newSimulationPrinter(a, r, o)
	outcome, err := walk(replies, p.event)
	if err != nil && outcome.TerminatedBy == "" {
		p.flush()
		return simulationError(o, err)
	}
	return errors.Join(p.finish(outcome), simulationError(o, err))
}

// replies returns what the actions of a single run come to.
func (a *app) replies(r *rehearsal, o *simulateOptions) (rehearse.Replies, error) {
	if s, ok := rehearse.Scenario(o.scenario); ok {
		return s, nil
	}
	if o.script == "" {
		return rehearse.Random(o.seed), nil
	}
	text, err := a.readGiven("script", o.script, 4<<20)
	if err != nil {
		return nil, err
	}
	script, wrong := rehearse.ParseScript(text, rehearse.Reachable(r.loop, r.library))
	if len(wrong) == 0 {
		return script.Replies(), nil
	}
	lines := make([]string, len(wrong))
	for i, w := range wrong {
		lines[i] = scriptLine(o, w)
	}
	return nil, failure(engine.Usage, "%s", ui.BlockOf("loops: ", lines))
}

func scriptLine(o *simulateOptions, e *rehearse.ScriptError) string {
	name := cmp.Or(o.source, o.script)
	if name == "-" {
		name = "standard input"
	}
	return fmt.Sprintf("%s:%d: %s", name, e.Line, e.Text)
}

// simulationError gives what ended a simulation before the run its exit code.
func simulationError(o *simulateOptions, err error) error {
	if mistake, ok := errors.AsType[*rehearse.ScriptError](err); ok {
		return failure(engine.Usage, "%s", scriptLine(o, mistake))
	}
	if errors.Is(err, rehearse.ErrEndless) {
		return failure(engine.Failed, "%v; -n caps the steps of the loop itself", err)
	}
	return err
}
