package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/lint"
	"loops/fsm/loopfile"
)

// TestExamples checks that the example of every rule that fails is reported by that rule alone, with its severity, and
// that nothing is said about the one that passes.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, r := range lint.Rules() {
		t.Run(r.Name, func(t *testing.T) {
			if r.Summary == "" || r.Why == "" || !strings.HasSuffix(r.Summary, ".") || !strings.HasSuffix(r.Why, ".") {
				t.Errorf("incomplete: %+v", r)
			}
			if got, ok := lint.Lookup(r.Name); !ok || got != r {
				t.Errorf("Lookup finds %+v", got)
			}
			if r.Bad == "" {
				return
			}
			bad := problems(t, r.Name, r.Bad)
			if len(bad) == 0 {
				t.Error("nothing is said about the example that fails")
			}
			for _, p := range bad {
				if p.Rule != r.Name || p.Severity != r.Severity {
					t.Errorf("the example that fails: %+v", p)
				}
			}
			for _, p := range problems(t, r.Name, r.Good) {
				t.Errorf("the example that passes: %+v", p)
			}
		})
	}
}

// problems is what is reported about an example; of what only a run lacks, where the rule is about that.
func problems(t *testing.T, rule, text string) []fsm.Problem {
	t.Helper()
	l, problems, _ := load(t, "example.yaml", text)
	if l != nil {
		if r, _ := lint.Lookup(rule); r.Optional {
			problems = append(problems, lint.Optional(l)...)
		}
		if strings.HasPrefix(rule, "missing-") {
			problems = append(problems, loopfile.Preflight(l, l.Context)...)
		}
	}
	return problems
}

// TestFlags checks that the flags of the rules are keys of the language and silence what they say.
func TestFlags(t *testing.T) {
	t.Parallel()
	silences := map[string][]string{}
	for _, k := range loopfile.Keys() {
		if k.Silences != "" {
			silences[k.Name] = strings.Split(k.Silences, ", ")
		}
	}
	for _, r := range lint.Rules() {
		if r.Flag == "" {
			continue
		}
		if !slices.Contains(silences[r.Flag], r.Name) {
			t.Errorf("%s is silenced by %s, of which the key table says %q", r.Name, r.Flag, silences[r.Flag])
		}
		for _, p := range problems(t, r.Name, r.Flag+": true\n"+r.Bad) {
			t.Errorf("with %s: %+v", r.Flag, p)
		}
	}
	for flag, names := range silences {
		for _, name := range names {
			if r, ok := lint.Lookup(name); ok && r.Flag != flag {
				t.Errorf("the key table says that %s silences %s, whose page says %q", flag, name, r.Flag)
			}
		}
	}
}

var reports = map[string]bool{"errorf": true, "warnf": true, "report": true, "say": true}

func callee(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// TestEveryRuleHasAPage looks for names of rules in what the tests expect and in the source.
func TestEveryRuleHasAPage(t *testing.T) {
	t.Parallel()
	found := map[string]string{}
	for _, dir := range []string{"testdata", "../loopfile/testdata/problems"} {
		reported := regexp.MustCompile(`(?m)^\S.*: (?:error|warning): .* \[([a-z-]+)\]$`)
		each(t, dir, ".out", func(name, text string) {
			for _, m := range reported.FindAllStringSubmatch(text, -1) {
				found[m[1]] = name
			}
		})
	}
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	// Which argument of a reporting function is the rule.
	for dir, arg := range map[string]int{".": 0, "../loopfile": 2} {
		each(t, dir, ".go", func(file, text string) {
			if strings.HasSuffix(file, "_test.go") {
				return
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				var e ast.Expr
				switch n := n.(type) {
				case *ast.CallExpr:
					if reports[callee(n)] && len(n.Args) > arg {
						e = n.Args[arg]
					}
				case *ast.KeyValueExpr:
					if k, ok := n.Key.(*ast.Ident); ok && k.Name == "Rule" {
						e = n.Value
					}
				}
				if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil && name.MatchString(s) {
						found[s] = file
					}
				}
				return true
			})
		})
	}
	if len(found) < 40 {
		t.Errorf("only %d rules found", len(found))
	}
	for _, r := range lint.Rules() {
		if r.Bad == "" && found[r.Name] == "" {
			t.Errorf("the rule %s has neither an example nor a place in the source", r.Name)
		}
	}
	for rule, where := range found {
		if _, ok := lint.Lookup(rule); !ok {
			t.Errorf("the rule %q of %s has no page in rules", rule, where)
		}
	}
}

func each(t *testing.T, dir, ext string, f func(name, text string)) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ext) {
			continue
		}
		data, err := os.ReadFile(dir + "/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		f(dir+"/"+e.Name(), string(data))
	}
}
