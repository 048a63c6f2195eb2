package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/fsm"
	"loops/internal/simulate"
)

func newTestCommand(a *program) *cobra.Command {
	var o simulate.Trial
	cmd := &cobra.Command{
		Use:     "test NAME|PATH",
		Aliases: []string{"t"},
		Short:   "Run one state's action and show where its verdict leads",
		Long: `test runs the action of one state for real, in the project directory and with its real templates and
evaluator, prints its
output, the verdict with what led to it, and the state it would go to. It is as if a run had just begun there: there are
no captures and no state before. Nothing is recorded, evaluators write no baselines, and no lock is taken. The run_dir is
an empty folder that is removed afterwards.

With --stdin the action is not run: FILE is taken as its output, and --exit-code as its exit code.

A state whose action is a prompt, or whose verdict is that of a judge, uses your account, and the agent may change files:
this needs --yes.` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "done, whatever the verdict, unless it is error"}, exitMeaning{Code: exitFailed, Text: "the verdict is error, or there is none"},
			exitMeaning{Code: exitUsage, Text: "bad command line, or --yes is missing"}, exitMeaning{Code: exitInvalid, Text: "the loop file is not valid"},
			exitMeaning{Code: exitNotFound, Text: "no such loop"}, exitMeaning{Code: exitUntrusted, Text: "others wrote the loop, and you have not seen it yet"}, exitMeaning{Code: exitHangup, Text: "stopped by SIGHUP"}, exitMeaning{Code: exitInterrupted, Text: "stopped by SIGINT (Ctrl-C)"},
			exitMeaning{Code: exitQuit, Text: "stopped by SIGQUIT (Ctrl-\\)"}, exitMeaning{Code: exitTerminated, Text: "stopped by SIGTERM"}),
		Example: `  loops test fix --state check
  loops test fix --state check --stdin failed.log --exit-code 1
  loops test fix --state repair --context input="the login page" --yes`,
		Args: arguments(1, 1, "NAME or PATH of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			const see = "loops test --help"
			flags := cmd.Flags()
			switch {
			case flags.Changed("exit-code") && o.Stdin == "":
				return usageError{"--exit-code goes with --stdin: otherwise the action has one of its own", see}
			case o.ExitCode < -64 || o.ExitCode > 255:
				return usageError{fmt.Sprintf("--exit-code %d: expected a number from 0 to 255, or the negative number of a signal", o.ExitCode), see}
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
	flags.BoolVarP(&o.JSON, "json", "j", false, "print a JSON object")
	return cmd
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
	case err != nil:
		return a.refused(err)
	case seen.Outcome.Signal != "":
		return endedBy(seen.Outcome.Signal)
	case seen.Verdict == "error" || seen.Next == "" && seen.Outcome.TerminatedBy == fsm.EndError:
		return told(engine.Failed)
	}
	return nil
}
