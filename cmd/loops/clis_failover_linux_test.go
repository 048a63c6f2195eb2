package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// What a real CLI refuses, and whether another agent takes over: a login and a bill need a person, a bad request is an
// ordinary failure.
func TestCLIFailover(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, cli string) {
		p := newCLIProject(t, cli, "name: agent\ninitial: work\nstates:\n"+
			"  work: {action_type: prompt, action: \"work [[${context.case}]]\", host: ["+cli+", spare], evaluate: {type: exit_code}, on_yes: done, on_no: failed, on_error: failed}\n"+
			"  done: {terminal: true}\n  failed: {terminal: true, failure: true}\n")
		writeText(t, filepath.Join(p.dir, ".loops/config.yaml"), "hosts:\n  spare: {program: ./spare, args: [\"{prompt}\"], format: jsonl, text: {path: text, when: {type: say}}, done: {when: {type: end}}}\n")
		spare := filepath.Join(p.dir, "spare")
		writeText(t, spare, "#!/bin/sh\necho \"$1\" > spared\necho '{\"type\": \"say\", \"text\": \"mended\"}'; echo '{\"type\": \"end\"}'\n")
		if err := os.Chmod(spare, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name, class string // "" = no other agent takes over
		}{{"401", "auth"}, {"quota", "billing"}, {"400", ""}} {
			if c.name == "quota" && cli != "codex" {
				continue // it takes that for a rate limit, and tries again for longer than the test has
			}
			_ = os.RemoveAll(filepath.Join(p.dir, ".loops/tmp"))
			_, done := p.start(t, "run", "agent", "--context", "case="+c.name)
			code, said := done()
			took := strings.Contains(said, "spare takes over from "+cli) && strings.Contains(said, ", which failed ("+c.class+")")
			if c.class == "" && (code != 1 || strings.Contains(said, "takes over")) || c.class != "" && (code != 0 || !took) {
				t.Errorf("%s: exit %d\n%s", c.name, code, said)
			}
			if n := p.api.Count(c.name); n == 0 {
				t.Errorf("%s was not asked in case %s", cli, c.name)
			}
		}
	}
	clis := []string{"codex", "gemini"} // claude and qwen try again by themselves for longer than the test has
	if testenv.Raced {
		clis = clis[:1]
	}
	for _, cli := range clis {
		t.Run(cli, func(t *testing.T) { t.Parallel(); test(t, cli) })
	}
}
