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
	test := func(t *testing.T, cli string, cases []failoverCase) {
		p := newCLIProject(t, cli, "name: agent\ninitial: work\nstates:\n"+
			"  work: {action_type: prompt, action: \"work [[${context.case}]]\", host: ["+cli+", spare], evaluate: {type: exit_code}, on_yes: done, on_no: failed, on_error: failed}\n"+
			"  done: {terminal: true}\n  failed: {terminal: true, failure: true}\n")
		writeText(t, filepath.Join(p.dir, ".loops/config.yaml"), "hosts:\n  spare: {program: ./spare, args: [\"{prompt}\"], format: jsonl, text: {path: text, when: {type: say}}, done: {when: {type: end}}}\n")
		spare := filepath.Join(p.dir, "spare")
		writeText(t, spare, "#!/bin/sh\necho \"$1\" > spared\necho '{\"type\": \"say\", \"text\": \"mended\"}'; echo '{\"type\": \"end\"}'\n")
		if err := os.Chmod(spare, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
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
	// Left out is what a CLI, or loops for it, tries again for longer than the test has: an ordinary failure of claude and
	// qwen, a quota of gemini and qwen, and a model that gemini and qwen do not have, which they report as such a failure.
	table := []struct {
		cli   string
		cases []failoverCase
	}{
		{"claude", []failoverCase{{"401", "auth"}, {"403", "auth"}, {"404", "unknown_model"}, {"quota", "billing"}}},
		{"codex", []failoverCase{{"401", "auth"}, {"403", "auth"}, {"quota", "billing"}, {"404", ""}, {"400", ""}}},
		{"gemini", []failoverCase{{"401", "auth"}, {"403", "auth"}, {"400", ""}}},
		{"qwen", []failoverCase{{"401", "auth"}, {"403", "auth"}}},
	}
	if testenv.Raced {
		table = table[1:2]
	}
	for _, row := range table {
		t.Run(row.cli, func(t *testing.T) { t.Parallel(); test(t, row.cli, row.cases) })
	}
}

// A failoverCase is what the vendor of a CLI answers, and the class of failure for which another agent takes over; "" = none
// does.
type failoverCase struct{ name, class string }
