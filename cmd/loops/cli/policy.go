package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loops/cmd/loops/cli/exitcode"
	"loops/engine"
	"loops/engine/project"
	"loops/fsm/policy"
	"loops/internal/plain"
	"loops/internal/scores"
	"loops/internal/ui"
)

// Where a table of rules and the scores come from, and where the answer goes.
const (
	policyRules  = "LOOPS_CONTEXT_POLICY_RULES"
	policyAction = "policy-action.txt"
)

type policyOptions struct {
	rules  string
	runDir string
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
	cmd.Flags().StringVar(&o.rules, "rules", "", "read the rules from `FILE`, - is standard input (default: $"+policyRules+")")
	cmd.Flags().StringVar(&o.runDir, "run-dir", "", "`folder` of the run (default: run_dir of the context)")
	return cmd
}

func runPolicy(a *app, o policyOptions, args []string) error {
	given, err := policyArgs(args)
	if err != nil {
		return err
	}
	rules, err := a.policyRules(o.rules)
	if err != nil {
		return err
	}
	if o.runDir == "" {
		// Where the context has another folder than the run itself, the loop writes its known there.
		ctx, _ := a.getenv("LOOPS_CONTEXT_RUN_DIR")
		own, _ := a.getenv("LOOPS_RUN_DIR")
		o.runDir = cmp.Or(ctx, own)
	}
	known := map[string]any{}
	if o.runDir != "" {
		if known, err = scores.Read(a.at(o.runDir)); err != nil {
			return failure(engine.Failed, "the folder of the run %s cannot be read: %v", o.runDir, err)
		}
	}
	maps.Copy(known, given)
	rule, ok := policy.Evaluate(rules, known)
	asked := slices.DeleteFunc(rules, func(r policy.Rule) bool { return ok && r.Line > rule.Line })
	notes, names := scores.Missing(asked, known)
	if o.runDir != "" {
		if err := os.WriteFile(filepath.Join(a.at(o.runDir), policyAction), []byte(rule.Target), 0o666); err != nil {
			return failure(engine.Failed, "the folder of the run %s cannot be written: %v", o.runDir, err)
		}
	}
	for _, n := range notes {
		ui.SayLine(a.Err, "loops: "+n)
	}
	if ok {
		ui.Say(a.Err, "loops: line %d holds: %s%s\n", rule.Line, plain.Line(rule.String()), scores.List(scores.Dimensions(rule), known))
	} else {
		ui.Say(a.Err, "loops: no rule holds%s; a last rule \"* -> TARGET\" would take everything else\n", scores.List(names, known))
	}
	ui.SayLine(a.out, rule.Target)
	return nil
}

const policyHelp = "loops policy --help"

// at returns a path of the command line as one for the system.
func (a *app) at(path string) string {
	if a.Dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.Dir, path)
}

func policyArgs(args []string) (map[string]any, error) {
	scores := map[string]any{}
	for _, arg := range args {
		name, score, ok := strings.Cut(arg, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, usageError{fmt.Sprintf("%q: expected NAME=SCORE", arg), policyHelp}
		}
		if _, ok := scores[name]; ok {
			return nil, usageError{fmt.Sprintf("the score of %q is given twice", name), policyHelp}
		}
		scores[name] = strings.TrimSpace(score)
	}
	return scores, nil
}

// policyRules reads the table from a file, from standard input or from the environment of an action.
func (a *app) policyRules(file string) ([]policy.Rule, error) {
	var text, from string
	switch {
	case file == "-":
		data, err := io.ReadAll(a.In)
		if err != nil {
			return nil, failure(engine.Failed, "standard input cannot be read: %v", err)
		}
		text, from = string(data), "standard input"
	case file != "":
		data, err := os.ReadFile(a.at(file))
		if err != nil {
			return nil, usageError{fmt.Sprintf("--rules %s: %v", file, project.Cause(err)), policyHelp}
		}
		text, from = string(data), file
	default:
		var ok bool
		if text, ok = a.getenv(policyRules); ok {
			from = "$" + policyRules
			break
		}
		long, ok := a.getenv(policyRules + "_FILE")
		if !ok {
			return nil, usageError{"there are no rules: give --rules FILE, or set policy_rules in the context of the loop", policyHelp}
		}
		data, err := os.ReadFile(a.at(long))
		if err != nil {
			return nil, failure(engine.Failed, "the rules cannot be read: %v", err)
		}
		text, from = string(data), long
	}
	return scores.Rules(text, from)
}
