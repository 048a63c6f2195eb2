package live

import (
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
)

// What people saw of waits, budgets and judges was the text of the records.
func TestEventsAreSentences(t *testing.T) {
	t.Parallel()
	until := began.Add(90 * time.Second)
	at := humanize.Clock(until)
	enter := event(0, "state_enter", "state", "a", "iteration", int64(1))
	verdict := func(pairs ...any) fsm.Event {
		return event(0, "evaluate", append([]any{"type", "llm_structured"}, pairs...)...)
	}
	route := event(0, "route", "from", "a", "to", "b")
	vote := value.NewMap("verdict", "no", "confidence", 0.5, "reason", "two\nlines")
	for _, c := range []struct {
		name    string
		verbose bool
		events  []fsm.Event
		want    string
	}{
		{
			"rate limit waiting: next_attempt_at=1795319459.107", false,
			[]fsm.Event{enter, event(0, "rate_limit_waiting", "state", "a", "elapsed_seconds", 60.0,
				"next_attempt_at", float64(until.UnixMilli())/1000, "total_waited_seconds", 160.0, "budget_seconds",
				300.0, "tier", "long_wait")},
			"still waiting for the rate limit until " + at + " (long wait, 2m40s of at most 5m00s so far)\n",
		},
		{
			"a wait for another run without what ends it", false,
			[]fsm.Event{enter, event(0, "note", "message", "claude refused another run", "wait", fsm.WaitCircuit,
				"until", fsm.FormatTime(until))},
			"claude refused another run; waiting until " + at + "; to continue at once: loops retry-now fix-1\n",
		},
		{
			"a short wait", false,
			[]fsm.Event{enter, event(0, "note", "message", "refused", "wait", "rate_limit", "tier", "short_wait",
				"until", fsm.FormatTime(until))},
			"refused; waiting until " + at + " (short wait)\n",
		},
		{
			"also after a wait", false,
			[]fsm.Event{
				enter, event(0, "note", "message", "waits"), event(0, "action_start", "action", "Do it"),
				event(0, "action_complete", "exit_code", int64(0), "duration_ms", int64(5)),
			},
			"waits\n       now -> Do it\n       (5ms)\n",
		},
		{
			"budget exceeded: next=", false,
			[]fsm.Event{enter, event(0, "budget_exceeded", "state", "a", "loop", "fix", "limit", "prompts", "spent",
				int64(2), "budget", int64(2), "next", nil)},
			"the budget of loop fix is used up: prompts 2 of 2; the run stops here\n",
		},
		{
			"budget exceeded of a state", false,
			[]fsm.Event{enter, event(0, "budget_exceeded", "state", "a", "loop", "fix", "budget_of", "a", "limit",
				"cost_usd", "spent", 0.5, "budget", int64(1), "cost_unknown", true, "next", "b"), route},
			"the budget of state a of loop fix is used up: cost_usd 0.5 of 1, and what a prompt cost is not known\n" +
				"       -> b\n",
		},
		{
			"an empty checkpoint at every judgement", false,
			[]fsm.Event{
				enter, event(0, "checkpoint"), verdict("verdict", "yes", "reason", "all is there"),
				event(0, "checkpoint"), route,
			},
			"yes (all is there) -> b\n",
		},
		{
			"a verdict without its reason", false,
			[]fsm.Event{enter, verdict("verdict", "no", "reason", strings.Repeat("long ", 50)), route},
			"no (" + strings.Repeat("long ", 31) + "long…) -> b\n",
		},
		{
			"a quotation that is made up", false,
			[]fsm.Event{enter, verdict("verdict", "cannot_judge", "reason", "r", "evidence_found", false,
				"verdict_without_evidence", "yes"), route},
			"cannot_judge (the judge said yes, but its quotation is not in the output) -> b\n",
		},
		{
			"verbose: a verdict in one line", true,
			[]fsm.Event{enter, verdict("verdict", "no", "confidence", 0.5, "reason", "why", "evidence", "some\nwords",
				"raw", value.NewMap("verdict", "no"), "votes", []any{vote, vote}), route},
			"type=llm_structured confidence=0.5\n       reason: why\n       evidence: some\n         words\n" +
				"       vote: no, confidence 0.5: two\n         lines\n" +
				"       vote: no, confidence 0.5: two\n         lines\n       no -> b\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _ := show(&Text{verbose: c.verbose}, fsm.Outcome{TerminatedBy: fsm.EndTerminal, FinalState: "b"}, "",
				c.events...)
			want := top + "[1/50] a (0ms)\n" + Indent + c.want + "\nLoop completed: b (0 steps, 0ms)\n"
			if out != want {
				t.Errorf("got\n%s\nwant\n%s", out, want)
			}
		})
	}
}

// A run whose waits for a rate limit were used up ended with: Error: No valid transition.
func TestUsedUpWaitsAreNoMissingTransition(t *testing.T) {
	t.Parallel()
	out, _ := show(&Text{}, fsm.Outcome{
		TerminatedBy: fsm.EndError, FinalState: "a", Steps: 1,
		Error: inspect.NoTransition, Limited: true,
	}, "loops resume fix-1",
		event(0, "state_enter", "state", "a", "iteration", int64(1)))
	want := "Error: the agent host is still rate-limited, and the waits for that are used up; resume the run later\n" +
		"Resume with: loops resume fix-1\n"
	if !strings.HasSuffix(out, want) || strings.Contains(out, inspect.NoTransition) {
		t.Errorf("got\n%s\nwant at its end\n%s", out, want)
	}
}
