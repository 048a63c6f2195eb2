package fsm_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// limitedHost refuses prompts and judges for their rate until it answers. Scripts run, and are counted.
type limitedHost struct {
	answers bool
	scripts map[string]int
	prompts int // that were answered
}

func (h *limitedHost) Run(_ context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	if a.Kind != fsm.KindPrompt && a.Kind != fsm.KindJudge {
		h.scripts[a.Text]++
		return fsm.Result{}, nil
	}
	if !h.answers {
		return fsm.Result{ExitCode: 1, Reply: &fsm.Reply{Host: "fake", Failure: fsm.FailRateLimited}}, nil
	}
	h.prompts++
	return fsm.Result{
		Stdout: `{"verdict": "yes", "confidence": 1, "evidence": "x"}`,
		Reply: &fsm.Reply{
			Host: "fake", Complete: true,
			Answer: value.NewMap("verdict", "yes", "confidence", 1.0, "evidence", "x"),
		},
	}, nil
}

const limitedKeys = ` rate_limit_max_wait_seconds: 1, rate_limit_backoff_base_seconds: 1, rate_limit_long_wait_ladder: [1]`

// A rate limit that outlasts its waits inside a sub-loop, a branch or an item ends the run so that it can be
// resumed, unless the state takes that. The resumed run continues inside: it repeats no script, and completes
// once the host answers.
func TestRateLimitOutlastsItsWaitsInside(t *testing.T) {
	t.Parallel()
	const one = `name: one
initial: prepare
host_guard: {enabled: false}
states:
  prepare: {action: prepare, next: ask}
  ask: {action: hi, action_type: prompt, next: done,` + limitedKeys + `}
  done: {terminal: true}
`
	for name, c := range map[string]struct {
		state   string
		takes   bool // the state takes the rate limit: the run ends in state taken
		scripts int  // how often the one before the prompt ran
	}{
		"sub-loop with next":       {state: `{loop: one, next: done}`, scripts: 1},
		"sub-loop with routes":     {state: `{loop: one, on_yes: done}`, scripts: 1},
		"sub-loop with on_no":      {state: `{loop: one, on_yes: done, on_no: failed}`, scripts: 1},
		"sub-loop with on_error":   {state: `{loop: one, on_yes: done, on_error: taken}`, takes: true, scripts: 1},
		"sub-loop, next and error": {state: `{loop: one, next: done, on_error: taken}`, takes: true, scripts: 1},
		"sub-loop with its own way": {
			state: `{loop: one, next: done, max_rate_limit_retries: 1, on_rate_limit_exhausted: taken}`, takes: true,
			scripts: 1,
		},
		"branch with a prompt": {
			state: `{parallel: {a: {action: hi, action_type: prompt, evaluate: {type: exit_code}}, b: {action: prepare}}, on_yes: done, on_no: failed}`, scripts: 1,
		},
		"branch with a loop": {state: `{parallel: {a: {loop: one}}, on_yes: done, on_no: failed}`, scripts: 1},
		"branch, next":       {state: `{parallel: {a: {loop: one}}, next: done}`, scripts: 1},
		"branch with on_error": {
			state: `{parallel: {a: {loop: one}}, on_yes: done, on_error: taken}`,
			takes: true, scripts: 1,
		},
		"item with a prompt": {
			state: `{for_each: [x], action: hi, action_type: prompt, evaluate: {type: exit_code}, on_yes: done, on_no: failed,` + limitedKeys + `}`,
		},
		"item with its own way": {
			state: `{for_each: [x], action: hi, action_type: prompt, on_yes: done, on_no: failed, max_rate_limit_retries: 1, on_rate_limit_exhausted: taken,` + limitedKeys + `}`, takes: true,
		},
		"item with a loop": {state: `{for_each: [x], loop: one, on_yes: done, on_no: failed}`, scripts: 1},
		"items, failures do not end": {
			state:   `{for_each: [x], loop: one, on_item_failure: continue, next: done}`,
			scripts: 1,
		},
		"item with on_error": {
			state: `{for_each: [x], loop: one, on_yes: done, on_error: taken}`,
			takes: true, scripts: 1,
		},
		"branch with a judge": {
			state: `{parallel: {a: {action: prepare, evaluate: {type: llm_structured, prompt: "good?"}}}, on_yes: done, on_no: failed}`, scripts: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop, library := loadLoops(t,
					"name: outer\ninitial: work\nhost_guard: {enabled: false}\nstates:\n  work: "+c.state+
						"\n  done: {terminal: true}\n  failed: {terminal: true, failure: true}\n"+
						"  taken: {terminal: true}\n", one)
				rec, host := &ledger{}, &limitedHost{scripts: map[string]int{}}
				cfg, _, _ := config(loop, rec)
				cfg.Library, cfg.Runner, cfg.History = library, host, rec.history
				out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if c.takes {
					if out.TerminatedBy != fsm.EndTerminal || out.FinalState != "taken" {
						t.Errorf("the run ended as %+v, want state taken\n%s", out, show(rec.events))
					}
					return
				}
				if out.TerminatedBy != fsm.EndError || !out.Limited || out.FinalState != "work" {
					t.Fatalf("the run ended as %+v, want a rate limit that it can be resumed after\n%s", out,
						show(rec.events))
				}
				host.answers = true
				out, err = fsm.Resume(cfg, clone(rec.saved[len(rec.saved)-1])).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if out.TerminatedBy != fsm.EndTerminal || out.FinalState != "done" || host.prompts != 1 ||
					host.scripts["prepare"] != c.scripts {
					t.Errorf("the resumed run ended as %+v, with %d prompts and scripts %v\n%s", out, host.prompts,
						host.scripts, show(rec.events))
				}
			})
		})
	}
}
