package engine

import (
	"errors"
	"strings"
	"testing"

	"loops/fsm/loopfile"
	"loops/fsm/value"
)

// Values of --context were texts, so that "context.n > 3" failed where n was given.
func TestGivenValuesAreReadAsTheLoopReadsThem(t *testing.T) {
	t.Parallel()
	const head = "name: x\ninitial: a\nparameters:\n  p: {type: boolean}\n" +
		"context: {n: 3, on: false, list: [1], map: {k: 1}}\nstates:\n  b: {terminal: true}\n"
	for _, c := range []struct{ name, state, pair, want string }{
		{"a number in a condition", "a: {route: [{when: context.n > 3, to: b}, {to: b}]}", "n=5", `5`},
		{"a number that is written otherwise", "a: {route: [{when: context.n > 3, to: b}, {to: b}]}", "n=007", `7`},
		{"a boolean in a condition", "a: {route: [{when: context.on, to: b}, {to: b}]}", "on=true", `true`},
		{"a boolean in a script", `a: {action: '[ "${context.on}" = true ]', next: b}`, "on=true", `"true"`},
		{"a boolean as JSON", `a: {action: 'echo ${context.on:json}', next: b}`, "on=true", `true`},
		{"a parameter in an expression", "a: {set: {y: not context.p}, next: b}", "p=yes", `true`},
		{"any key of the context", `a: {set: {y: 'context["o" + "n"]'}, next: b}`, "on=true", `true`},
		{"a list in an expression", "a: {set: {y: len(context.list)}, next: b}", "list=[1, 2]", `[1, 2]`},
		{"a list in a script", `a: {action: 'echo ${context.list}', next: b}`, "list=[1, 2]", `[1, 2]`},
		{"a map by a path", `a: {action: 'echo ${context.map.k}', next: b}`, `map={"k": 2}`, `{"k": 2}`},
		{"a map as a whole", `a: {action: 'echo ${context.map}', next: b}`, `map={"k": 2}`, `"{\"k\": 2}"`},
		{"a word in a condition", "a: {route: [{when: context.n > 3, to: b}, {to: b}]}", "n=five", ""},
		{"a list where a map is read", `a: {action: 'echo ${context.map.k}', next: b}`, "map=[1]", ""},
		{"a word in a script", `a: {action: 'echo ${context.n}', next: b}`, "n=five", `"five"`},
	} {
		l, problems := loopfile.Parse("x.yaml", []byte(head+"  "+c.state+"\n"), nil)
		if l == nil {
			t.Errorf("%s: %v", c.name, problems)
			continue
		}
		got, err := Seed(l, nil, []string{c.pair})
		key, _, _ := strings.Cut(c.pair, "=")
		refusal, _ := errors.AsType[*Refusal](err)
		switch {
		case c.want == "" && (refusal == nil || refusal.Kind != Usage):
			t.Errorf("%s: accepted, or refused with %v", c.name, err)
		case c.want != "" && (err != nil || string(value.AppendJSON(nil, got.Value(key))) != c.want):
			t.Errorf("%s: got %s %v, want %s", c.name, value.AppendJSON(nil, got.Value(key)), err, c.want)
		}
	}
}
