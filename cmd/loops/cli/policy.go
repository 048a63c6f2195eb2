package cli

import (
	"cmp"
	"path/filepath"

	"github.com/spf13/cobra"

	"loops/cmd/loops/cli/exitcode"
	"loops/internal/scores"
	"loops/internal/ui"
)

type policyOptions struct {
	rules  string
	runDir string
	json   bool
}

func newPolicyCommand(a *app) *cobra.Command {
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
the route _.` + exitcode.HelpOf(
			exitcode.Meaning{Code: exitcode.OK, Text: "the line is printed"},
			exitcode.Meaning{Code: exitcode.Failed, Text: "the folder of the run cannot be read or written"},
			exitcode.Meaning{Code: exitcode.Usage, Text: "bad command line, or no rules were given"},
			exitcode.Meaning{Code: exitcode.Invalid, Text: "the rules have mistakes"}),
		Example: `  loops policy                                   as the action of a state
  loops policy --rules rules.txt clarity=80 aggregate=75
  echo 'clarity:>=85 -> done' | loops policy --rules - --run-dir .loops/runs/refine-20260101T120000`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPolicy(a, o, args)
		},
	}
	cmd.Flags().StringVar(&o.rules, "rules", "", "read the rules from `FILE`, - is standard input (default: $"+scores.EnvRules+")")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print JSON")
	cmd.Flags().StringVar(&o.runDir, "run-dir", "", "`folder` of the run (default: run_dir of the context)")
	return cmd
}

func runPolicy(a *app, o policyOptions, args []string) error {
	given, err := scores.Given(args)
	if err != nil {
		return err
	}
	rules, err := scores.Table(o.rules, a.In, a.at, a.getenv)
	if err != nil {
		return err
	}
	if o.runDir == "" {
		// Where the context has another folder than the run itself, the loop writes its scores there.
		ctx, _ := a.getenv("LOOPS_CONTEXT_RUN_DIR")
		own, _ := a.getenv("LOOPS_RUN_DIR")
		o.runDir = cmp.Or(ctx, own)
	}
	d, err := scores.Decide(rules, given, o.runDir, a.at)
	if err != nil {
		return err
	}
	if o.json {
		return ui.WriteJSON(a.out, d.Object())
	}
	for _, n := range d.Missing {
		ui.SayLine(a.Err, "loops: "+n)
	}
	ui.SayLine(a.Err, "loops: "+d.Why)
	ui.SayLine(a.out, d.Rule.Target)
	return nil
}

// at returns a path of the command line as one for the system.
func (a *app) at(path string) string {
	if a.Dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.Dir, path)
}
