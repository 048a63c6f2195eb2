package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/internal/testenv"
)

// What a real CLI refuses, and whether another agent takes over: a login and a bill need a person, a bad request is an
// ordinary failure.
func TestCLIFailover(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, cli string, cases []failoverCase) {
		p := newCLIProject(t, cli, "name: agent\ninitial: work\nstates:\n"+
			"  work: {action_type: prompt, action: \"work [[${context.case}]]\", host: ["+cli+
			", spare], evaluate: {type: exit_code}, on_yes: done, on_no: failed, on_error: failed}\n"+
			"  done: {terminal: true}\n  failed: {terminal: true, failure: true}\n")
		writeText(t, filepath.Join(p.dir, ".loops/config.yaml"),
			"hosts:\n  spare: {program: ./spare, args: [\"{prompt}\"], format: jsonl, text: {path: text, when: "+
				"{type: say}}, done: {when: {type: end}}}\n")
		spare := filepath.Join(p.dir, "spare")
		writeText(t, spare, "#!/bin/sh\necho \"$1\" > spared\necho '{\"type\": \"say\", \"text\": \"mended\"}'; "+
			"echo '{\"type\": \"end\"}'\n")
		if err := os.Chmod(spare, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			_ = os.RemoveAll(filepath.Join(p.dir, ".loops/tmp"))
			_, done := p.start(t, "run", "agent", "--context", "case="+c.name)
			ended := make(chan struct{})
			var again sync.WaitGroup
			again.Go(func() { p.retryNow(t, ended) })
			code, said := done()
			close(ended)
			again.Wait()
			took := strings.Contains(said, "spare takes over from "+cli) &&
				strings.Contains(said, ", which failed ("+c.class+")")
			if c.class == "" && (code != 1 || strings.Contains(said, "takes over")) || c.class != "" &&
				(code != 0 || !took) {
				t.Errorf("%s: exit %d\n%s", c.name, code, said)
			}
			if n := p.api.Count(c.name); n == 0 {
				t.Errorf("%s was not asked in case %s", cli, c.name)
			}
		}
	}
	// What takes long is done with -every-cli alone: an ordinary failure that loops tries three times, and what
	// a CLI itself asks for again and again.
	table := []struct {
		cli         string
		cases, long []failoverCase
	}{
		{"claude", []failoverCase{
			{"401", "auth"},
			{"403", "auth"},
			{"nomodel", "unknown_model"},
			{"quota", "billing"},
			{"long", ""},
		}, []failoverCase{{"404", "unknown_model"}, {"400", ""}, {"refuse", ""}}},
		{"codex", []failoverCase{
			{"401", "auth"},
			{"403", "auth"},
			{"nomodel", "unknown_model"},
			{"quota", "billing"},
			{"404", ""},
			{"400", ""},
			{"refuse", ""},
		}, nil},
		{
			"gemini",
			[]failoverCase{{"401", "auth"}, {"nomodel", "unknown_model"}, {"400", ""}},
			[]failoverCase{{"403", "auth"}, {"quota", "rate_limited"}, {"404", ""}, {"refuse", ""}},
		},
		{
			"qwen",
			[]failoverCase{{"401", "auth"}, {"nomodel", "unknown_model"}},
			// What it prints of a model that will not answer is an answer like any other.
			[]failoverCase{{"403", "auth"}, {"quota", "billing"}, {"404", ""}, {"400", ""}},
		},
	}
	if testenv.Raced {
		table = table[1:2]
	}
	for _, row := range table {
		if testenv.EveryCLI() {
			row.cases = append(row.cases, row.long...)
		}
		t.Run(row.cli, func(t *testing.T) { t.Parallel(); test(t, row.cli, row.cases) })
	}
}

// A failoverCase is what the vendor of a CLI answers, and the class of failure for which another agent takes
// over; "" = none does.
type failoverCase struct{ name, class string }

// retryNow has a run of an agent ask it again at once, as often as it waits for that, until it has ended.
func (p cliProject) retryNow(t *testing.T, ended <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			_, done := p.start(t, "retry-now", "agent")
			done() // mostly there is nothing that waits
		}
	}
}
