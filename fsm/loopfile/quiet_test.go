package loopfile

import (
	"path/filepath"
	"testing"
)

// TestQuiet holds what is right, though it looks like mistakes that are reported.
func TestQuiet(t *testing.T) {
	t.Parallel()
	const head = "name: n\ndescription: d\ninitial: s\n"
	const child = head + "parameters:\n  who: {type: string, required: true}\n  n: {type: integer, default: 1}\n" +
		"  mode: {type: enum, values: [fast, 2, yes]}\n  at: {type: path}\n  f: {type: number}\n" +
		"states: {s: {terminal: true}}\n"
	state := func(body string) string {
		return head + "states:\n  s: {" + body + "}\n  done: {terminal: true}\n"
	}
	tests := map[string]string{ // main.yaml
		"every type": state("loop: child, with: {who: x, n: 3, mode: fast, at: 7, f: " +
			"2}, on_yes: done"),
		"an enum of other types": state("loop: child, with: {who: '', mode: 2, f: 2.5}, on_yes: done"),
		"an enum with a boolean": state("loop: child, with: {who: '', mode: yes}, on_yes: done"),
		"templates are checked by the run": state("loop: child, with: {who: '${context.a}', n: '${context.b}', " +
			"mode: 'x${context.c}'}, on_yes: done"),
		"a whole context":              state("loop: child, context_passthrough: true, on_yes: done"),
		"a template names the loop":    state("loop: 'no-${context.such}', with: {any: 1}, on_yes: done"),
		"a loop that declares nothing": state("loop: free, with: {any: 1}, on_yes: done"),
		"a loop without a way on":      state("loop: free"),
		"itself":                       state("loop: main, on_yes: done"),
		"a work tree":                  state("loop: free, worktree: '${context.branch}', on_yes: done"),
		"an empty with":                state("with: {}, next: done"),
		"an empty work tree":           state("worktree: '', next: done"),
		"no pass-through":              state("context_passthrough: false, next: done"),
		"nulls": head + "import:\nfragments:\nstate_defs:\nparameters:\ncontext:\n" +
			"states:\n  s: {fragment: ~, with: ~, loop: ~, next: done}\n  done: {terminal: true}\n",
		"a fragment that the run binds": head + "fragments: {f: {parameters: {run_dir: {type: path, required: " +
			"true}, loop_name: {type: string, required: true}}, action: 'ls ${param.run_dir}'}}\nstates:\n" +
			"  s: {fragment: f, next: done}\n  done: {terminal: true}\n",
		"a fragment that declares nothing": head + "fragments: {f: {action: 'ls ${param.x}'}}\nstates:\n" +
			"  s: {fragment: f, with: {x: 1}, next: done}\n  done: {terminal: true}\n",
		"values for a fragment and a loop": head + "fragments: {f: {parameters: {t: {type: integer, required: " +
			"true}}, on_error: done}}\nstates:\n  s: {fragment: f, loop: child, with: {t: 1, who: x}, on_yes: " +
			"done}\n  done: {terminal: true}\n",
		"a fragment, and the whole context": head + "fragments: {f: {parameters: {t: {type: integer}}, on_error: " +
			"done}}\nstates:\n  s: {fragment: f, loop: child, with: {t: 1}, context_passthrough: true, on_yes: " +
			"done}\n  done: {terminal: true}\n",
		"a fragment completes a state": head + "fragments: {f: {max_retries: 2, params: {a: 1}, evaluate: " +
			"{pattern: x}}}\nstates:\n  s: {fragment: f, on_retry_exhausted: done, action_type: mcp_tool, evaluate: " +
			"{type: output_contains}, action: a/b, on_yes: done}\n  done: {terminal: true}\n",
		"a fragment is terminal": head + "fragments: {end: {terminal: true}}\nstates:\n" +
			"  s: {next: done}\n  done: {fragment: end}\n",
		"a fragment by merge key": head +
			"fragments: {f: {next: done}}\nstates:\n  a: &a {fragment: f}\n  s: {<<: *a}\n  done: {terminal: true}\n",
		"states by merge key": head +
			"context: {x: &x {s: {fragment: f}}}\nfragments: {f: {next: done}}\nstates:\n  <<: *x\n" +
			"  done: {terminal: true}\n",
		"an imported fragment, replaced": head + "import: [lib.yaml]\nfragments: {bad: {action: fine}}\n" +
			"states:\n  s: {fragment: bad, next: done}\n  done: {terminal: true}\n",
		"a mistake in a fragment nobody uses": head + "import: [lib.yaml]\nstates:\n  s: {next: done}\n" +
			"  done: {terminal: true}\n",
		"tags of YAML itself": head + "context: {a: !!str 1, b: !!int 2, c: !!bool yes, d: !!map " +
			"{}, e: !!seq [x], f: !!float 1, g: !!null ''}\nstates:\n  s: {action: &a !!str echo, next: done}\n" +
			"  done: {terminal: true}\n",
		"! inside of texts": head + "states:\n  s:\n    action: |\n      ! test -e x\n" +
			"    next: t\n  t: {action: '! test -e x', next: u}\n  u: {action: test x != y, next: done}\n" +
			"  done: {terminal: true}\n",
		"a key without a value in braces": state("agent, model: , next: done"),
		"a flow": head +
			"flow: [s, 'yes?s:done', done]\nstate_defs: {s: , 'yes': {action: test}}\n",
		"flow instead of no states":          head + "states:\nflow: [s, done]\n",
		"a loop that a file names by suffix": state("loop: child.yaml, with: {who: x}, on_yes: done"),
		"what is inherited is completed":     "description: d\nfrom: part\ninitial: s\n",
		"a mistake that is replaced":         head + "from: wrong\nmax_steps: 5\n",
		"its own library": head + "import: [main.yaml]\nfragments: {f: {next: done}}\nstates:\n" +
			"  s: {fragment: f}\n  done: {terminal: true}\n",
	}
	files := map[string]string{
		"child.yaml": child, "free.yaml": head + "states: {s: {terminal: true}}\n",
		"lib.yaml":   "description: Gates.\nfragments:\n  bad: {action: [x]}\n",
		"part.yaml":  "name: part\nstates:\n  s: {next: done}\n  done: {terminal: true}\n",
		"wrong.yaml": "max_steps: many\nstates:\n  s: {next: done}\n  done: {terminal: true}\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, with(files, "main.yaml", text))
			loop, problems, err := (&Loader{Loops: dir}).Load(filepath.Join(dir, "main.yaml"))
			if loop == nil || len(problems) > 0 || err != nil {
				t.Errorf("%v\n%s\n%s", err, Render(problems, fileText, false), text)
			}
		})
	}
}
