package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/simulate"
)

func newTestCommand(a *program) *cobra.Command {
	var o simulate.Trial
	var suites simulate.Suites
	cmd := &cobra.Command{
		Use:     "test [NAME|PATH|FOLDER...]",
		Aliases: []string{"t"},
		Short:   "Run the tests of loops, or one state's action for real",
		Long: `test runs the cases in NAME.test.yaml, the file of tests beside the loop NAME: without an argument those of all loops of
the project, with a FOLDER those below it. A case says what states come to and what has to come of it. It takes
milliseconds: no process is started and nothing recorded. docs/testing.md describes these files, "loops schema --tests"
has their schema. What came otherwise is printed, paths side by side; --junit FILE writes a report for CI services.

--record RUN makes a case of a run, and adds it to the file of tests beside its loop. The case passes then.

With --state, or where the loop has no file of tests, it tries one state. It then runs its action for real, in the project
directory and with its real templates and evaluator, prints its output, the verdict with what led to it, and the state
it would go to. It is as if a run had just begun there: there are no captures and no state before. Nothing is recorded,
evaluators write no baselines, and no lock is taken. The run_dir is an empty folder that is removed afterwards.

With --stdin the action is not run: FILE is taken as its output, and --exit-code as its exit code.

A state whose action is a prompt, or whose verdict is that of a judge, uses your account, and the agent may change files:
this needs --yes.` + exitHelpOf(
			exitMeaning{
				Code: exitOK,
				Text: "all cases passed; a state was done, whatever the verdict, unless it is error",
			},
			exitMeaning{Code: exitFailed, Text: "a case failed; the verdict of a state is error, or there is none"},
			exitMeaning{Code: exitUsage, Text: "bad command line, or --yes is missing"},
			exitMeaning{Code: exitInvalid, Text: "a file of tests or its loop is not valid"},
			exitMeaning{Code: exitNotFound, Text: "no such loop, or no file of tests"},
			exitMeaning{Code: exitUntrusted, Text: "others wrote the loop, and you have not seen it yet"},
			exitMeaning{Code: exitHangup, Text: "stopped by SIGHUP"},
			exitMeaning{Code: exitInterrupted, Text: "stopped by SIGINT (Ctrl-C)"},
			exitMeaning{Code: exitQuit, Text: "stopped by SIGQUIT (Ctrl-\\)"},
			exitMeaning{Code: exitTerminated, Text: "stopped by SIGTERM"}),
		Example: `  loops test
  loops test fix --junit report.xml
  loops test --record fix-20261130T101500-9c1e
  loops test fix --state check
  loops test fix --state check --stdin failed.log --exit-code 1
  loops test fix --state repair --context input="the login page" --yes`,
		Args: arguments(0, -1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			const see = "loops test --help"
			flags := cmd.Flags()
			trial := ""
			for _, name := range []string{"state", "stdin", "exit-code", "context", "yes"} {
				if trial == "" && flags.Changed(name) {
					trial = name
				}
			}
			switch {
			case flags.Changed("record") && (len(args) > 0 || trial != "" || suites.JUnit != ""):
				return usageError{"--record goes with --json alone: the loop is that of the run", see}
			case trial == "" && (len(args) != 1 || suites.JUnit != ""):
				return runSuites(cmd.Context(), a, &suites, args, o.JSON)
			case trial != "" && suites.JUnit != "":
				return usageError{"--junit is for files of tests, and --" + trial + " for one state", see}
			case trial != "" && len(args) != 1:
				return usageError{"--" + trial + " is for one state: name the loop that it is of", see}
			}
			if trial == "" {
				if d, err := a.desk(); err != nil || d.HasSuite(args[0]) {
					return runSuites(cmd.Context(), a, &suites, args, o.JSON)
				}
			}
			o.Name = args[0]
			switch {
			case flags.Changed("exit-code") && o.Stdin == "":
				return usageError{"--exit-code goes with --stdin: otherwise the action has one of its own", see}
			case o.ExitCode < -64 || o.ExitCode > 255:
				return usageError{
					fmt.Sprintf("--exit-code %d: expected a number from 0 to 255, or the negative number of a signal",
						o.ExitCode), see,
				}
			}
			if err := checkAgents(&o.Agents, cmd); err != nil {
				return err
			}
			return runTest(cmd.Context(), a, &o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.State, "state", "s", "", "`STATE` to do (default: the initial one)")
	flagContext(flags, &o.Context)
	flags.StringVar(&o.Stdin, "stdin", "", "take `FILE` as the output, and run nothing; - is standard input")
	flags.IntVar(&o.ExitCode, "exit-code", 0, "with --stdin: exit `CODE` of the action")
	flags.BoolVarP(&o.Yes, "yes", "y", false, "ask agents too")
	addAgentFlags(&o.Agents, flags)
	flags.StringVar(&suites.JUnit, "junit", "", "write a report about the cases to `FILE`")
	flags.StringVar(&suites.Record, "record", "", "add a case of `RUN` to the file of tests of its loop")
	flags.BoolVarP(&o.JSON, "json", "j", false, "print a JSON object")
	return cmd
}

// runSuites runs files of tests.
func runSuites(ctx context.Context, a *program, o *simulate.Suites, words []string, asJSON bool) error {
	d, err := a.desk()
	if err != nil {
		return err
	}
	o.Words, o.JSON = words, asJSON
	switch failed, err := d.RunSuites(ctx, o); {
	case err != nil:
		return a.refused(err)
	case failed > 0:
		return told(engine.Failed)
	}
	return nil
}

func runTest(ctx context.Context, a *program, o *simulate.Trial) error {
	d, err := a.desk()
	if err != nil {
		return err
	}
	seen, err := d.Test(ctx, o)
	if a.showForeign(ctx, err) {
		seen, err = d.Test(ctx, o)
	}
	switch {
	case errors.As(err, new(*project.InvalidError)): // its mistakes are shown
		return err
	case err != nil:
		return a.refused(err)
	case seen.Outcome.Signal != "":
		return endedBy(seen.Outcome.Signal)
	case seen.Verdict == "error" || seen.Next == "" && seen.Outcome.TerminatedBy == fsm.EndError:
		return told(engine.Failed)
	}
	return nil
}
