package cli

import (
	"cmp"
	"path/filepath"

	"github.com/spf13/cobra"

	"loops/internal/app"
	"loops/internal/terminal"
)

type policyOptions struct {
	rules  string
	runDir string
	json   bool
}

func newPolicyCommand(a *program) *cobra.Command {
	var o policyOptions
	cmd := &cobra.Command{
		Use:   "policy [NAME=SCORE...]",
		Short: "Choose the next state by scores and a table of rules",
		Long: `policy prints the target of the first rule that holds for the scores, and writes it to policy-action.txt in the folder
of the run. A state with the evaluator classify can route by it. The rule, and any missing scores, are printed on
standard error.

A rule is a line: NAME:OP VALUE, more of them joined by &, then -> TARGET. OP is one of >= <= == != < >, and * -> TARGET
always holds. Lines that begin with # are comments. In a run the rules are those of ${context.policy_rules}.

A score is the text of rubric-aggregate.txt (its name is aggregate) or of rubric-dim-NAME.txt in the folder of the run, or
NAME=SCORE. Names are exact. Without a score only != holds. Without a rule that holds the line is empty, which takes
the route _.` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "the line is printed"},
			exitMeaning{Code: exitFailed, Text: "the folder of the run cannot be read or written"},
			exitMeaning{Code: exitUsage, Text: "bad command line, or no rules were given"},
			exitMeaning{Code: exitInvalid, Text: "the rules have mistakes"}),
		Example: `  loops policy                                   as the action of a state
  loops policy --rules rules.txt clarity=80 aggregate=75
  echo 'clarity:>=85 -> done' | loops policy --rules - --run-dir .loops/runs/refine-20260101T120000`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPolicy(a, o, args)
		},
	}
	cmd.Flags().StringVar(&o.rules, "rules", "", "read the rules from `FILE`, - is standard input (default: $"+
		app.EnvRules+")")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print JSON")
	cmd.Flags().StringVar(&o.runDir, "run-dir", "", "`folder` of the run (default: run_dir of the context)")
	return cmd
}

func runPolicy(a *program, o policyOptions, args []string) error {
	given, err := app.GivenScores(args)
	if err != nil {
		return err
	}
	rules, err := app.RuleTable(o.rules, a.In, a.at, a.getenv)
	if err != nil {
		return err
	}
	if o.runDir == "" {
		// Where the context has another folder than the run itself, the loop writes its scores there.
		ctx, _ := a.getenv("LOOPS_CONTEXT_RUN_DIR")
		own, _ := a.getenv("LOOPS_RUN_DIR")
		o.runDir = cmp.Or(ctx, own)
	}
	d, err := app.DecideScores(rules, given, o.runDir, a.at)
	if err != nil {
		return err
	}
	if o.json {
		return terminal.WriteJSON(a.out, d.Object())
	}
	for _, n := range d.Missing {
		terminal.SayLine(a.Err, "loops: "+n)
	}
	terminal.SayLine(a.Err, "loops: "+d.Why)
	terminal.SayLine(a.out, d.Rule.Target)
	return nil
}

// at returns a path of the command line as one for the system.
func (a *program) at(path string) string {
	if a.Dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.Dir, path)
}
