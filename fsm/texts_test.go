package fsm_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/fsm"
)

// A firstKeep does one action, notes whether all of its output is to be in a file, and stops the run.
type firstKeep struct {
	stop  context.CancelCauseFunc
	acted bool
	keep  bool
}

func (k *firstKeep) Run(_ context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	if !k.acted {
		k.acted, k.keep = true, a.Keep
	}
	k.stop(&fsm.Stop{})
	return fsm.Result{}, nil
}

// The output of a capture is in a file wherever a loop refers to that.
func TestEveryReferenceToAFileOfACapture(t *testing.T) {
	t.Parallel()
	const first = "  a: {action: make, capture: x, next: b}\n"
	for _, c := range []struct {
		name, states string
		keep         bool
	}{
		{"no reference", first + "  b: {action: 'cat ${captured.x.output}', next: done}\n", false},
		{"of another capture", first + "  b: {action: 'cat ${captured.y.file?}', next: done}\n", false},
		{"escaped", first + "  b: {action: 'cat $${captured.x.file}', next: done}\n", false},
		{"action", first + "  b: {action: 'cat ${captured.x.file:shell}', next: done}\n", true},
		{"a program of jq", first + "  b: {action: 'cat ${captured.x | .file}', next: done}\n", true},
		{"append", first + "  b: {action: cat, append_to_messages: '${captured.x.file}', next: done}\n", true},
		{"message", first + "  b: {terminal: true, message: '${captured.x.file}'}\n", true},
		{"source", first + "  b: {action: cat, evaluate: {type: exit_code, source: '${captured.x.file}'}, " +
			"on_yes: done}\n", true},
		{"with", first + "  b: {loop: other, with: {file: '${captured.x.file}'}, on_yes: done}\n", true},
		{"list", first + "  b: {for_each: ['${captured.x.file}'], action: cat, next: done}\n", true},
		{"pattern", first + "  b: {for_each: '${captured.x.file}*', action: cat, next: done}\n", true},
		{"command of a list", first + "  b: {for_each: {command: 'cat ${captured.x.file}'}, action: cat, " +
			"next: done}\n", true},
		{"key", first + "  b: {for_each: [a], key: '${captured.x.file}', action: cat, next: done}\n", true},
		{"show", first + "  b: {ask: {question: 'Good?', show: '${captured.x.file}'}, on_approve: done}\n", true},
		{"question", first + "  b: {ask: {question: 'Is ${captured.x.file} good?'}, on_approve: done}\n", true},
		{"set", first + "  b: {set: {f: 'captured.x.file'}, next: done}\n", true},
		{"set, the whole record", first + "  b: {set: {f: 'captured.x'}, next: done}\n", true},
		{"set, another field", first + "  b: {set: {f: 'captured.x.output'}, next: done}\n", false},
		{"set, by name", first + "  b: {set: {f: 'captured[context.input].file'}, next: done}\n", true},
		{
			"when", first + "  b: {action: cat, route: [{when: 'captured.x.file != \"\"', to: done}, {to: done}]}\n",
			true,
		},
		{"expression", first + "  b: {evaluate: {type: expression, expression: 'captured.x.file != \"\"'}, on_yes: " +
			"done, on_no: done}\n", true},
		{"call", first + "  b: {call: {url: 'http://localhost/', body: '@${captured.x.file}'}, next: done}\n", true},
		{"json of a call", first + "  b: {call: {url: 'http://localhost/', json: {a: [{b: '${captured.x.file}'}]}}, " +
			"next: done}\n", true},
		{"params", first + "  b: {action: 'a/b', action_type: mcp_tool, params: {a: ['${captured.x.file}']}, " +
			"next: done}\n", true},
		{"wait for a file", first + "  b: {wait: {file: '${captured.x.file}'}, on_yes: done}\n", true},
		{"script of a wait", first + "  b: {wait: {until: 'test -s ${captured.x.file}'}, on_yes: done}\n", true},
		{"target", first + "  b: {action: cat, next: '${captured.x.file}'}\n", true},
		{"in a branch", first + "  b: {parallel: {one: {action: 'cat ${captured.x.file}'}}, next: done}\n", true},
		{"expression in a branch", first + "  b: {parallel: {one: {action: cat, evaluate: {type: expression, " +
			"expression: 'captured.x.file != \"\"'}}}, next: done}\n", true},
		{"of a branch", "  a: {parallel: {one: {action: make}}, capture: x, next: b}\n" +
			"  b: {action: 'cat ${captured.x.one.file}', next: done}\n", true},
		{"of another branch", "  a: {parallel: {one: {action: make}}, capture: x, next: b}\n" +
			"  b: {action: 'cat ${captured.x.two.file?}', next: done}\n", false},
		{"of a loop in a branch", "  a: {parallel: {one: {loop: other}}, capture: x, next: b}\n" +
			"  b: {action: 'cat ${captured.x.one.out.file}', next: done}\n", true},
		{"of a sub-loop", "  a: {loop: other, with: {}, on_yes: b}\n  b: {action: 'cat ${captured.a.out.file}', " +
			"next: done}\n", true},
		{
			"of a sub-loop, another capture",
			"  a: {loop: other, with: {}, on_yes: b}\n  b: {action: 'cat ${captured.a.in.file?}', next: done}\n",
			false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, states := range map[string]string{
				"loop":  c.states,
				"other": "  a: {action: make, capture: out, next: done}\n",
			} {
				text := "name: " + name + "\ninitial: a\nstates:\n" + states + "  done: {terminal: true}\n"
				if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cfg, _, ctx := config(loadTrace(t, filepath.Join(dir, "loop.yaml")), &tape{})
			ctx, stop := context.WithCancelCause(ctx)
			k := &firstKeep{stop: stop}
			cfg.Runner = k
			if _, err := fsm.Start(cfg, cfg.Loop.Context.Clone(), time.Now()).Run(ctx); err != nil {
				t.Fatal(err)
			}
			if !k.acted || k.keep != c.keep {
				t.Errorf("acted %v, the output is kept: %v, want %v", k.acted, k.keep, c.keep)
			}
		})
	}
}
