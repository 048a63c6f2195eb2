package expr

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"loops/fsm/value"
)

func TestParseRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"\n  \n# only a comment\n", ""},
		{"a:>=1 -> b", "a:>=1 -> b"},
		{"  a  :  >= 1  ->  b  \r\n", "a:>=1 -> b"},
		{"* -> b", "* -> b"},
		{"*->b", "* -> b"},
		{"a:>=1&b:<2 -> c\n# no\n* -> d\n", "a:>=1 & b:<2 -> c\n* -> d"},
		{"a:==1 & -> q", "a:==1 -> q"},
		{"&&a:==1 & -> q", "a:==1 -> q"},
		{"code quality:!=not so good: really -> q", "code quality:!=not so good: really -> q"},
		{"a-b c_:== x -> 9-lives", "a-b c_:==x -> 9-lives"},
		{"a:<1_0 -> b", "a:<1_0 -> b"},
		{"a:>nan -> b", "a:>nan -> b"},
		{"a:<=-1e3 -> b", "a:<=-1e3 -> b"},
		{"a:===x -> b", "a:===x -> b"},
		{"größe:>=1 -> fähig", "größe:>=1 -> fähig"},
		{"a:==x # y -> b", "a:==x # y -> b"},
	} {
		rules, err := ParseRules(tc.text)
		if err != nil {
			t.Errorf("ParseRules(%q): %v", tc.text, err)
			continue
		}
		if got := Format(rules); got != tc.want {
			t.Errorf("ParseRules(%q) = %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestRulePlaces(t *testing.T) {
	t.Parallel()
	rules, err := ParseRules("# c\n\n  a : > 1 & bb:<2 -> t\n* -> u")
	if err != nil {
		t.Fatal(err)
	}
	want := []Rule{
		{[]Predicate{{"a", ">", "1", 7}, {"bb", "<", "2", 17}}, "t", 3, 7},
		{nil, "u", 4, 28},
	}
	if !reflect.DeepEqual(rules, want) {
		t.Errorf("%+v, want %+v", rules, want)
	}
}

// The text of a case has a ^ where the mistake is to be shown.
func TestRuleErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"^a:>=1", `line 1: there is no -> in "a:>=1"; a rule reads NAME:OP VALUE -> TARGET, or * -> TARGET`},
		{"\n# c\n^* b", `line 3: there is no -> in "* b"; a rule reads NAME:OP VALUE -> TARGET, or * -> TARGET`},
		{"* ->^ ", "line 1: the target after -> is missing"},
		{"* -> ^a b", `line 1: the target "a b" is not one name of letters, digits, _ and -`},
		{"* -> ^-a", `line 1: the target "-a" is not one name of letters, digits, _ and -`},
		{"* -> ^a -> b", `line 1: the target "a -> b" is not one name of letters, digits, _ and -`},
		{"* -> ^a # why", `line 1: the target "a # why" is not one name of letters, digits, _ and -`},
		{"^-> a", "line 1: there is no condition before ->; write * for a rule that always holds"},
		{"^& & -> a", "line 1: there is no condition before ->; write * for a rule that always holds"},
		{"x:>1 & ^* -> a", `line 1: the condition "*" has no colon; it reads NAME:OP VALUE, as in clarity:>=80`},
		{"^x>=1 -> a", `line 1: the condition "x>=1" has no colon; it reads NAME:OP VALUE, as in clarity:>=80`},
		{
			"^:>=1 -> a",
			`line 1: the name "" is not made of letters, digits, _, - and blanks, a letter, digit or _ first`,
		},
		{
			"^a.b:>=1 -> a",
			`line 1: the name "a.b" is not made of letters, digits, _, - and blanks, a letter, digit or _ first`,
		},
		{"x:^=1 -> a", `line 1: the condition "x:=1" has no operator after the colon; there are >= <= == != < >`},
		{"x: ^80 -> a", `line 1: the condition "x: 80" has no operator after the colon; there are >= <= == != < >`},
		{"x:>=^ -> a", "line 1: x:>= has no value to compare with"},
		{
			"x:< ^high -> a",
			`line 1: < needs a number, and "high" is not a number; texts can be compared with == and !=`,
		},
		{"x:>=^5% -> a", `line 1: >= needs a number, and "5%" is not a number; texts can be compared with == and !=`},
		{"^" + strings.Repeat("x", 80), `line 1: there is no -> in "` + strings.Repeat("x", 60) +
			`..."; a rule reads NAME:OP VALUE -> TARGET, or * -> TARGET`},
	} {
		text := strings.Replace(tc.text, "^", "", 1)
		_, err := ParseRules(text)
		list, ok := errors.AsType[RuleErrors](err)
		if !ok || len(list) != 1 {
			t.Errorf("ParseRules(%q): %v", text, err)
			continue
		}
		if got, at := list[0].Error(), strings.Index(tc.text, "^"); got != tc.want || list[0].Offset != at {
			t.Errorf("ParseRules(%q) = %s at %d, want %s at %d", text, got, list[0].Offset, tc.want, at)
		}
	}
}

func TestRulesTellEveryMistake(t *testing.T) {
	t.Parallel()
	rules, err := ParseRules("a:>x & b -> \nok:>1 -> fine\nnothing")
	want := `line 1: > needs a number, and "x" is not a number; texts can be compared with == and !=
line 1: the condition "b" has no colon; it reads NAME:OP VALUE, as in clarity:>=80
line 1: the target after -> is missing
line 3: there is no -> in "nothing"; a rule reads NAME:OP VALUE -> TARGET, or * -> TARGET`
	if err == nil || err.Error() != want || rules != nil {
		t.Errorf("%v, %v, want %s", rules, err, want)
	}
}

func TestRuleHolds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		predicate string
		score     any
		want      bool
	}{
		{"x:>=5", 5.0, true},
		{"x:>=5", "5", true},
		{"x:>5", int64(5), false},
		{"x:<10", "9", true}, // as numbers, not as texts
		{"x:<=1_0", "1e1", true},
		{"x:<5", "low", false},
		{"x:>=5", "low", false},
		{"x:==5", "5.0", true},
		{"x:==5", " 5 ", true},
		{"x:!=5", "5.0", false},
		{"x:==low", "low", true},
		{"x:==low", "Low", false},
		{"x:!=low", "high", true},
		{"x:==low", 5.0, false},
		{"x:!=low", 5.0, true},
		{"x:==True", true, true},
		{"x:==true", true, false},
		{"x:==1", true, true},
		{"x:>0", true, true},
		{"x:==nan", "nan", false},
		{"x:!=nan", "nan", true},
		{"x:==nan", math.NaN(), false},
		{"x:>=inf", "1e999", true},
		{"x:==[1]", []any{int64(1)}, true},
		{"x:>0", []any{int64(1)}, false},
		{"x:>=0", nil, false},
		{"x:<0", nil, false},
		{"x:==None", nil, false},
		{"x:!=5", nil, true},
		{"X:!=5", "5", true}, // names are exact
		{"X:==5", "5", false},
	} {
		rules, err := ParseRules(tc.predicate + " -> t")
		if err != nil {
			t.Fatal(err)
		}
		if got := rules[0].Holds(map[string]any{"x": tc.score}); got != tc.want {
			t.Errorf("%s with %s = %v", tc.predicate, value.Repr(tc.score), got)
		}
	}
}

func TestFirstRule(t *testing.T) {
	t.Parallel()
	rules, err := ParseRules(`
security:<65 -> escalate
clarity:>=85 & depth:>=85 -> done
aggregate:>=60 -> light
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		scores map[string]any
		want   string
	}{
		{map[string]any{"security": "10", "clarity": "99", "depth": "99"}, "security:<65 -> escalate"},
		{map[string]any{"security": "65", "clarity": "99", "depth": "85"}, "clarity:>=85 & depth:>=85 -> done"},
		{map[string]any{"clarity": "99", "aggregate": "60"}, "aggregate:>=60 -> light"},
		{map[string]any{"clarity": "99"}, ""},
		{nil, ""},
	} {
		got := ""
		if r, ok := FirstRule(rules, tc.scores); ok {
			got = r.String()
		}
		if got != tc.want {
			t.Errorf("FirstRule(%v) = %q, want %q", tc.scores, got, tc.want)
		}
	}
	always, err := ParseRules("* -> x\na:>1 -> y")
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := FirstRule(always, map[string]any{"a": 5.0}); !ok || r.Target != "x" || !r.CatchAll() {
		t.Errorf("the rule * does not win: %v %v", r, ok)
	}
}

// FuzzRules holds that a table reads back from its text, and that mistakes have places in it.
func FuzzRules(f *testing.F) {
	for _, s := range []string{
		"a:>=1 & b : == x y -> c\n* -> d", "x", "a:<nan->b", "# c\n\u2028a:!==->-> b",
		"a\x80:==1 -> b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := ParseRules(text)
		if err != nil {
			list := err.(RuleErrors)
			for _, e := range list {
				if e.Line < 1 || e.Line > strings.Count(text, "\n")+1 || e.Offset < 0 || e.Offset > len(text) ||
					e.Line != strings.Count(text[:min(e.Offset, len(text))], "\n")+1 {
					t.Fatalf("%q: %+v", text, e)
				}
			}
			return
		}
		written := Format(rules)
		again, err := ParseRules(written)
		if err != nil || len(again) != len(rules) || Format(again) != written {
			t.Fatalf("%q became %q: %v, %q", text, written, err, Format(again))
		}
		for _, r := range rules {
			for _, p := range r.Predicates {
				if !strings.HasPrefix(text[p.Offset:], p.Dimension) {
					t.Fatalf("%q: %s is not at %d", text, p.Dimension, p.Offset)
				}
			}
		}
	})
}

// Format returns the table as text that [ParseRules] reads: a rule a line, no newline at the end.
func Format(rules []Rule) string {
	lines := make([]string, len(rules))
	for i, r := range rules {
		lines[i] = r.String()
	}
	return strings.Join(lines, "\n")
}
