package app

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/expr"
	"loops/internal/api"
	"loops/internal/terminal"
)

// ReadRules reads the rules of a text, whose mistakes are reported with their places in from.
func ReadRules(text, from string) ([]expr.Rule, error) {
	rules, err := expr.ParseRules(text)
	if mistakes, ok := errors.AsType[expr.RuleErrors](err); ok {
		lines := make([]string, len(mistakes))
		for i, m := range mistakes {
			lines[i] = fmt.Sprintf("%s:%d:%d: %s", from, m.Line, column(text, m.Offset), m.Message)
		}
		return nil, engine.Refuse(engine.Invalid, "%s", terminal.BlockOf("loops: ", lines))
	}
	if len(rules) == 0 {
		return nil, engine.Refuse(engine.Invalid, "%s holds no rules", from)
	}
	return rules, nil
}

// column is the column of a byte of text, in characters from 1.
func column(text string, offset int) int {
	return 1 + utf8.RuneCountInString(text[strings.LastIndexByte(text[:offset], '\n')+1:offset])
}

// GivenScores returns the scores that are given as NAME=SCORE.
func GivenScores(args []string) (map[string]any, error) {
	scores := map[string]any{}
	for _, arg := range args {
		name, score, ok := strings.Cut(arg, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, engine.Misuse("policy", "%q: expected NAME=SCORE", arg)
		}
		if _, ok := scores[name]; ok {
			return nil, engine.Misuse("policy", "the score of %q is given twice", name)
		}
		scores[name] = strings.TrimSpace(score)
	}
	return scores, nil
}

// EnvRules has the table of rules in an action, and with _FILE after it the file that a long one is in.
const EnvRules = "LOOPS_CONTEXT_POLICY_RULES"

// actionFile gets the target, in the folder of the run.
const actionFile = "policy-action.txt"

// RuleTable reads the rules from a file, from in where the file is -, or without a file from the environment of
// an action. path returns a path of the command line as one for the system.
func RuleTable(file string, in io.Reader, path func(string) string, getenv func(string) (string, bool)) ([]expr.Rule,
	error,
) {
	var text, from string
	switch {
	case file == "-":
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, engine.Refuse(engine.Failed, "standard input cannot be read: %v", err)
		}
		text, from = string(data), "standard input"
	case file != "":
		data, err := os.ReadFile(path(file))
		if err != nil {
			return nil, engine.Misuse("policy", "%s %s: %v", engine.Setting{Name: "rules"}, file, project.Cause(err))
		}
		text, from = string(data), file
	default:
		var ok bool
		if text, ok = getenv(EnvRules); ok {
			from = "$" + EnvRules
			break
		}
		long, ok := getenv(EnvRules + "_FILE")
		if !ok {
			return nil, engine.Misuse("policy",
				"there are no rules: give %s, or set policy_rules in the context of the loop",
				engine.Setting{Name: "rules", Value: "FILE"})
		}
		data, err := os.ReadFile(path(long))
		if err != nil {
			return nil, engine.Refuse(engine.Failed, "the rules cannot be read: %v", err)
		}
		text, from = string(data), long
	}
	return ReadRules(text, from)
}

// A ScoreDecision is what a table of rules comes to.
type ScoreDecision struct {
	Rule    expr.Rule
	Holds   bool     // false where no rule holds
	Missing []string // what the rules ask for and the scores lack, as sentences
	Why     string   // which rule holds by which scores, in one line
}

// DecideScores returns the first rule that holds for the scores in the folder of a run, and those that are
// given, which win. It writes the target into the folder; "" = there is none.
func DecideScores(rules []expr.Rule, given map[string]any, folder string, path func(string) string) (d ScoreDecision,
	err error,
) {
	known := map[string]any{}
	if folder != "" {
		if known, err = ReadScores(path(folder)); err != nil {
			return d, engine.Refuse(engine.Failed, "the folder of the run %s cannot be read: %v", folder, err)
		}
	}
	maps.Copy(known, given)
	d.Rule, d.Holds = expr.FirstRule(rules, known)
	asked := slices.DeleteFunc(rules, func(r expr.Rule) bool { return d.Holds && r.Line > d.Rule.Line })
	var names []string
	d.Missing, names = MissingScores(asked, known)
	if folder != "" {
		if err := os.WriteFile(filepath.Join(path(folder), actionFile), []byte(d.Rule.Target), 0o666); err != nil {
			return d, engine.Refuse(engine.Failed, "the folder of the run %s cannot be written: %v", folder, err)
		}
	}
	if d.Holds {
		d.Why = fmt.Sprintf("line %d holds: %s%s", d.Rule.Line, d.Rule, ScoreList(ScoreDimensions(d.Rule), known))
	} else {
		d.Why = "no rule holds" + ScoreList(names, known) + `; a last rule "* -> TARGET" would take everything else`
	}
	return d, nil
}

// Object returns the decision for a program.
func (d ScoreDecision) Object() api.Chosen {
	o := api.Chosen{Missing: d.Missing}
	if d.Holds {
		o.Target, o.Line, o.Rule = api.Text(d.Rule.Target), api.Int(d.Rule.Line), api.Text(d.Rule.String())
	}
	return o
}
