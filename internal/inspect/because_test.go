package inspect

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"loops/fsm"
	"loops/persistence"
)

func TestReasonOfAnEnd(t *testing.T) {
	t.Parallel()
	event := func(kind string, kv ...any) fsm.Event {
		e := fsm.Event{Kind: kind}
		for i := 0; i < len(kv); i += 2 {
			e.Fields = append(e.Fields, fsm.Field{Key: kv[i].(string), Value: kv[i+1]})
		}
		return e
	}
	visit := func(state string, exit int, line string, verdict ...any) []fsm.Event {
		events := []fsm.Event{
			event(fsm.EventStateEnter, "state", state), event(fsm.EventActionStart),
			event(fsm.EventActionOutput, "line", line),
			event(fsm.EventActionComplete, "exit_code", int64(exit), "output_preview", line),
		}
		if len(verdict) > 0 {
			events = append(events, event(fsm.EventEvaluate, verdict...))
		}
		return events
	}
	inside := func(state string, events []fsm.Event, final, by string) []fsm.Event {
		out := []fsm.Event{event(fsm.EventStateEnter, "state", state), {Kind: fsm.EventLoopStart, Depth: 1}}
		for _, e := range events {
			e.Depth++
			out = append(out, e)
		}
		end := event(fsm.EventLoopComplete, "final_state", final, "terminated_by", by, "failure_terminal",
			final == "bad")
		end.Depth = 1
		return append(out, end)
	}
	loop := &fsm.Loop{MaxSteps: 9, MaxIterations: 2}
	failed := fsm.Outcome{TerminatedBy: fsm.EndTerminal, FinalState: "bad", Failure: true}
	no := []any{"type", "default", "verdict", "no", "exit_code", int64(1)}
	yes := []any{"type", "default", "verdict", "yes", "exit_code", int64(0)}
	spent := event(fsm.EventBudgetExceeded, "state", "b", "loop", "c", "limit", "wall", "spent", 1.2, "budget",
		int64(1), "next", "bad")
	for _, c := range []struct {
		name   string
		events [][]fsm.Event
		o      fsm.Outcome
		want   string
	}{
		{
			"a verdict with the last line of its action",
			[][]fsm.Event{visit("test", 1, "2 failed", no...)},
			failed,
			`state test said no (exit 1: "2 failed")`,
		},
		{
			"the same verdict again and again",
			[][]fsm.Event{visit("test", 1, "a", no...), visit("fix", 0, "b"), visit("test", 1, "c", no...)},
			failed,
			`state test said no 2 times (exit 1: "c")`,
		},
		{
			"the same verdict again and again, before and after it was resumed",
			[][]fsm.Event{
				{event(fsm.EventLoopResume, "from_state", "test")},
				visit("test", 1, "a", no...),
				visit("test", 1, "b", no...),
			},
			failed,
			`state test said no 2 times (exit 1: "b")`,
		},
		{
			"the same verdict again and again after another one, all since it was resumed",
			[][]fsm.Event{
				{event(fsm.EventLoopResume, "from_state", "test")},
				visit("test", 0, "a", "type", "default", "verdict", "yes"), visit("test", 1, "b", no...),
				visit("test", 1, "c", no...),
			},
			failed,
			`state test said no 2 times (exit 1: "c")`,
		},
		{
			"the same verdict again and again, in all that is recorded",
			[][]fsm.Event{
				visit("test", 1, "a", no...),
				{event(fsm.EventLoopResume, "from_state", "test")},
				visit("test", 1, "b", no...),
			},
			failed,
			`state test said no 2 times (exit 1: "b")`,
		},
		{
			"a state behind the one that failed",
			[][]fsm.Event{visit("test", 1, "a", no...), visit("mail", 0, "sent")},
			failed, `state test said no (exit 1: "a"); state mail led from there to the end`,
		},
		{"a judge", [][]fsm.Event{visit("review", 0, "x", "type", "llm_structured", "verdict", "no", "reason",
			"no tests\nat all")}, failed, `state review said no (judge: "no tests …")`},
		{
			"a judge that was overruled",
			[][]fsm.Event{visit("review", 0, "x", "type", "llm_structured", "verdict", "no",
				"verdict_without_evidence", "yes", "reason", "fine")},
			failed,
			`state review said no (the judge said yes, but what it quoted is not in the output)`,
		},
		{
			"an action that nothing judged",
			[][]fsm.Event{visit("build", 2, "boom")},
			failed,
			`the action of state build failed (exit 2: "boom")`,
		},
		{
			"a sub-loop",
			[][]fsm.Event{inside("outer", visit("test", 1, "2 failed", no...), "bad", "terminal")},
			failed,
			`the sub-loop of state outer ended in bad [terminal]: state test said no (exit 1: "2 failed")`,
		},
		{
			"a sub-loop in a sub-loop",
			[][]fsm.Event{inside("outer", inside("inner", visit("test", 1, "2 failed", no...), "bad", "terminal"),
				"bad", "terminal")},
			failed,
			`the sub-loop of state outer ended in bad [terminal]: the sub-loop of state inner ended in bad [terminal]: state test said no (exit 1: "2 failed")`,
		},
		{
			"a sub-loop at its cap",
			[][]fsm.Event{inside("outer", visit("test", 1, "2 failed", no...), "test", "max_steps")},
			failed,
			`the sub-loop of state outer ended in test [max_steps]: state test said no (exit 1: "2 failed")`,
		},
		{
			"the second sub-loop of a state",
			[][]fsm.Event{
				inside("outer", visit("test", 1, "first", no...), "bad", "terminal"),
				inside("outer", visit("test", 1, "second", no...), "bad", "terminal"),
			},
			failed,
			`the sub-loop of state outer ended in bad [terminal]: state test said no (exit 1: "second")`,
		},
		{
			"a branch that failed",
			[][]fsm.Event{{
				event(fsm.EventStateEnter, "state", "both"),
				{
					Kind: fsm.EventActionComplete, Depth: 1,
					Fields: []fsm.Field{
						{Key: "branch", Value: "unit"},
						{Key: "exit_code", Value: int64(2)},
						{Key: "stderr_preview", Value: "boom"},
					},
				},
				event(fsm.EventBranchEnd, "branch", "lint", "verdict", "yes"),
				event(fsm.EventBranchEnd, "branch", "unit", "verdict", "no", "exit_code", int64(2)),
				event(fsm.EventEvaluate, "type", "parallel", "verdict", "partial"),
			}},
			failed,
			`state both said partial (branch unit: exit 2: "boom")`,
		},
		{
			"an item that failed",
			[][]fsm.Event{{
				event(fsm.EventStateEnter, "state", "all"),
				event(fsm.EventItemEnd, "key", "a", "verdict", "yes", "exit_code", int64(0)),
				event(fsm.EventItemEnd, "key", "b.txt", "verdict", "no", "exit_code", int64(1), "output",
					"x\nno such column"),
				event(fsm.EventEvaluate, "type", "for_each", "verdict", "partial", "items", int64(3), "done",
					int64(2), "failed", int64(1)),
			}},
			failed,
			`state all said partial (1 of 3 items failed; 1 did not begin; item b.txt: exit 1: "no such column")`,
		},
		{
			"an item that could not begin",
			[][]fsm.Event{{
				event(fsm.EventStateEnter, "state", "all"),
				event(fsm.EventItemEnd, "key", "a", "verdict", "error", "error", "Path 'x' not found in captured"),
				event(fsm.EventEvaluate, "type", "for_each", "verdict", "no", "items", int64(1), "done", int64(1),
					"failed", int64(1)),
			}},
			failed,
			`state all said no (1 of 1 item failed; item a: Path 'x' not found in captured)`,
		},
		{
			"a route that could not be worked out",
			[][]fsm.Event{
				visit("b", 0, "5", yes...),
				{event(fsm.EventActionError, "state", "b", "error",
					"route[0].when: context.s: the expression is the text \"x\"; expected true or false", "route",
					"on_error")},
			},
			failed,
			`state b: route[0].when: context.s: the expression is the text "x"; expected true or false`,
		},
		{
			"a route to what is no state",
			[][]fsm.Event{
				visit("b", 0, "5", yes...),
				{event(fsm.EventActionError, "state", "b", "error",
					`state b routes to "x", which is not a state of the loop`, "route", "on_error")},
			},
			failed,
			`state b routes to "x", which is not a state of the loop`,
		},
		{
			"a budget that is used up before a state is entered",
			[][]fsm.Event{visit("a", 0, "", yes...), {spent}},
			failed, `in state b: the budget of the loop c was used up: wall 1.2s of 1.0s`,
		},
		{
			"a budget behind an action that nothing judged",
			[][]fsm.Event{visit("a", 0, ""), {spent}},
			failed,
			`in state b: the budget of the loop c was used up: wall 1.2s of 1.0s`,
		},
		{
			"a budget inside a list",
			[][]fsm.Event{{event(fsm.EventStateEnter, "state", "b"), spent}},
			failed,
			`in state b: the budget of the loop c was used up: wall 1.2s of 1.0s`,
		},
		{
			"a budget in a sub-loop",
			[][]fsm.Event{inside("outer", append(visit("a", 0, "", yes...), spent), "bad", "terminal")},
			failed,
			`the sub-loop of state outer ended in bad [terminal]: in state b: the budget of the loop c was used up: wall 1.2s of 1.0s`,
		},
		{"a budget around a sub-loop", [][]fsm.Event{
			inside("b", visit("a", 0, "", yes...), "done", "terminal"),
			{spent},
		}, failed, `in state b: the budget of the loop c was used up: wall 1.2s of 1.0s`},
		{
			"a budget with many states behind it",
			[][]fsm.Event{
				visit("a", 0, "", yes...),
				{spent},
				visit("r1", 0, "", yes...), visit("r2", 0, "", yes...),
				visit("r3", 0, "", yes...), visit("r4", 0, "", yes...),
			},
			failed,
			`in state b: the budget of the loop c was used up: wall 1.2s of 1.0s; state r4 led from there to the end`,
		},
		{
			"a budget that was raised since",
			[][]fsm.Event{
				visit("a", 0, "", yes...),
				{spent},
				visit("r", 0, "", yes...),
				{event(fsm.EventLoopResume, "from_state", "r")},
				visit("r", 0, "", yes...), visit("b", 0, "", yes...),
				visit("c", 0, "", yes...),
			},
			failed,
			`state c said yes`,
		},
		{
			"a budget that led nowhere",
			[][]fsm.Event{
				visit("a", 0, "", yes...),
				{event(fsm.EventBudgetExceeded, "state", "b", "loop", "c", "limit", "wall", "spent", 1.2, "budget",
					int64(1), "next", nil)},
			},
			fsm.Outcome{TerminatedBy: fsm.EndBudget, FinalState: "b"},
			`in state b: the budget of the loop c was used up: wall 1.2s of 1.0s`,
		},
		{
			"a state that passed again and again until its retries were used up",
			[][]fsm.Event{
				visit("a", 0, "", yes...),
				{event(fsm.EventRetryExhausted, "state", "a", "retries", int64(3), "next", "bad")},
			},
			failed,
			`state a was about to be entered again after 3 times in a row: on_retry_exhausted led to bad`,
		},
		{
			"a state that failed again and again until its retries were used up",
			[][]fsm.Event{
				visit("a", 1, "red", no...),
				{event(fsm.EventRetryExhausted, "state", "a", "retries", int64(3), "next", "bad")},
			},
			failed,
			`state a said no (exit 1: "red")`,
		},
		{
			"the hard limit of a throttle",
			[][]fsm.Event{
				visit("a", 0, ""),
				{event(fsm.EventThrottleHard, "state", "a", "count", int64(3), "hard_max", int64(3), "next", "bad")},
			},
			failed,
			`state a acted 3 times in a row: the hard limit of its throttle is 3`,
		},
		{
			"a stall that is recovered from",
			[][]fsm.Event{
				visit("a", 0, "", yes...),
				{event(fsm.EventStallDetected, "state", "a", "exit_code", int64(0), "verdict", "yes", "consecutive",
					int64(3), "action", "route:bad")},
			},
			failed,
			`in state a: the stall detector fired: a ended with exit code 0 and verdict yes 3 times in a row; it is set to go to bad`,
		},
		{
			"the memory that actions may use",
			[][]fsm.Event{
				visit("a", 0, "", yes...),
				{event(fsm.EventHostBudgetExceeded, "state", "a", "cumulative_mb", 30.4, "budget_mb", int64(1),
					"action", "route:bad")},
			},
			failed,
			`in state a: its actions had used 30.4 MB of memory in all: host_guard.max_cumulative_subproc_mb is 1; it is set to go to bad`,
		},
		{
			"waits for a rate limit that are used up",
			[][]fsm.Event{
				visit("a", 1, "", "type", "default", "verdict", "error"),
				{event(fsm.EventRateLimitExhausted, "state", "a", "short_retries", int64(3), "long_retries", int64(1),
					"total_wait_seconds", int64(60), "next", "bad")},
			},
			failed,
			`in state a: the host rate-limited until all waits were used up: 3 short and 1 long ones, 1m00s in all`,
		},
		{
			"an action that was cut short",
			[][]fsm.Event{{
				event(fsm.EventStateEnter, "state", "a"),
				event(fsm.EventActionInterrupted, "state", "a", "attempt", int64(1), "next", "bad"),
			}},
			failed,
			`in state a: its action had been cut short, and is not started again (on_interrupted)`,
		},
		{
			"a prompt that the host refused, whatever its text was judged to be",
			[][]fsm.Event{{
				event(fsm.EventStateEnter, "state", "a"),
				event(fsm.EventActionComplete, "exit_code", int64(1), "is_prompt", true, "failure", "auth",
					"stderr_preview", "log in first"),
				event(fsm.EventEvaluate, "type", "output_contains", "verdict", "yes"),
			}},
			failed,
			`the prompt of state a failed (exit 1: "log in first")`,
		},
		{"a failure state at the start", nil, failed, "state bad is a failure state"},
		{
			"a cap",
			[][]fsm.Event{visit("test", 1, "a", no...)},
			fsm.Outcome{TerminatedBy: fsm.EndMaxSteps, FinalState: "test"},
			`the cap of 9 steps was reached (max_steps); last, state test said no (exit 1: "a")`,
		},
		{
			"passes", nil,
			fsm.Outcome{TerminatedBy: fsm.EndMaxIterations},
			"the cap of 2 passes was reached (max_iterations)",
		},
		{
			"no transition",
			[][]fsm.Event{visit("test", 1, "a", no...)},
			fsm.Outcome{TerminatedBy: fsm.EndError, FinalState: "test", Error: NoTransition},
			`state test has no transition for verdict no (exit 1: "a")`,
		},
		{
			"a template that cannot be worked out",
			[][]fsm.Event{visit("test", 0, "a")},
			fsm.Outcome{
				TerminatedBy: fsm.EndError, FinalState: "test",
				Error: "in state test: ${f} is not a template",
			},
			"state test: ${f} is not a template",
		},
		{
			"another error", nil,
			fsm.Outcome{TerminatedBy: fsm.EndError, FinalState: "test", Error: "it\x1b[31m broke\nbadly"},
			`state test: it\x1b[31m broke …`,
		},
		{
			"a signal", nil,
			fsm.Outcome{TerminatedBy: fsm.EndInterrupted, FinalState: "test", Signal: "SIGTERM"},
			"stopped by SIGTERM in state test",
		},
		{
			"an output that asked for the end",
			[][]fsm.Event{visit("test", 0, "LOOP_STOP: enough")},
			fsm.Outcome{TerminatedBy: fsm.EndInterrupted, FinalState: "next"},
			"the output of state test asked for the end (LOOP_STOP)",
		},
		{
			"a user", nil,
			fsm.Outcome{TerminatedBy: fsm.EndUserStopped, FinalState: "test"},
			"stopped by a user in state test",
		},
		{
			"a user who is known",
			[][]fsm.Event{{event(fsm.EventLoopComplete, "by", "ada\x1b[31m")}},
			fsm.Outcome{TerminatedBy: fsm.EndUserStopped, FinalState: "test"},
			`stopped by ada\x1b[31m in state test`,
		},
		{
			"an edge that was used up",
			[][]fsm.Event{{event(fsm.EventCycleDetected, "edge", "a->b", "from", "a", "to", "b", "count", int64(4),
				"max", int64(3))}},
			fsm.Outcome{TerminatedBy: fsm.EndCycle, FinalState: "b"},
			"in state b: ",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b Because
			for _, events := range c.events {
				for _, e := range events {
					b.Add(e)
				}
			}
			got := b.Reason(c.o, loop)
			if got != c.want && (!strings.HasSuffix(c.want, ": ") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			lately, err := Lately(backwards(slices.Concat(c.events...), nil))
			if again := lately.Reason(c.o, loop); again != got || err != nil {
				t.Errorf("from the end of the record %s, %v\nwant %s", again, err, got)
			}
		})
	}
}

// backwards gives events as a store does that is read from its end, and counts them.
func backwards(events []fsm.Event, n *int) func(each func(fsm.Event) bool) error {
	return func(each func(fsm.Event) bool) error {
		for _, e := range slices.Backward(events) {
			if n != nil {
				*n++
			}
			if !each(e) {
				break
			}
		}
		return nil
	}
}

// Lately reads a long record from its end, to the visit that decided and not much farther.
func TestReasonOfALongRecord(t *testing.T) {
	t.Parallel()
	event := func(kind, key string, v any) fsm.Event {
		return fsm.Event{Kind: kind, Fields: []fsm.Field{{Key: key, Value: v}}}
	}
	var events []fsm.Event
	for range 9 {
		events = append(events, event(fsm.EventStateEnter, "state", "test"), fsm.Event{Kind: fsm.EventActionStart})
		for range 4000 {
			events = append(events, event(fsm.EventActionOutput, "line", "2 failed"))
		}
		events = append(events, event(fsm.EventActionComplete, "exit_code", int64(1)),
			event(fsm.EventEvaluate, "verdict", "no"))
	}
	n := 0
	b, err := Lately(backwards(events, &n))
	if got := b.Reason(fsm.Outcome{TerminatedBy: fsm.EndTerminal, Failure: true}, &fsm.Loop{}); err != nil ||
		n > 13_000 ||
		got != `state test said no 3 times (exit 1: "2 failed")` {
		t.Errorf("%s, %v, after %d of %d events", got, err, n, len(events))
	}
}

// Of the items of a list few events are held, and the reason is that of all.
func TestReasonOfManyItems(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		event := func(kind string, fields ...fsm.Field) fsm.Event { return fsm.Event{Kind: kind, Fields: fields} }
		all := Because{}
		var events []fsm.Event
		for range 1 + r.IntN(3) {
			events = append(events, event(fsm.EventStateEnter, fsm.Field{Key: "state", Value: "all"}))
			n, failed, verdicts := r.IntN(40), 0,
				[]string{"yes", "yes", "yes", "no", "error", fsm.ItemInterrupted}[:1+r.IntN(6)]
			for i := range n {
				key, verdict := fsm.Field{Key: "key", Value: fmt.Sprint(i)}, verdicts[r.IntN(len(verdicts))]
				if verdict != "yes" {
					failed++
				}
				events = append(events, event(fsm.EventItemStart, key),
					event(fsm.EventItemEnd, key, fsm.Field{Key: "verdict", Value: verdict},
						fsm.Field{Key: "exit_code", Value: int64(i)}, fsm.Field{Key: "failed", Value: int64(failed)}))
			}
			if r.IntN(2) == 0 {
				events = append(events, event(fsm.EventEvaluate, fsm.Field{Key: "type", Value: "for_each"},
					fsm.Field{Key: "verdict", Value: "partial"},
					fsm.Field{Key: "items", Value: int64(n)}, fsm.Field{Key: "done", Value: int64(n)},
					fsm.Field{Key: "failed", Value: int64(failed)}))
			}
		}
		items, held := latelyItems{}, 0
		for _, e := range slices.Backward(events) {
			if e.Kind == fsm.EventStateEnter {
				items = latelyItems{}
			}
			if items.wants(e) {
				if items.kept(e, held+1); items.drops == 0 && e.Get("verdict") != fsm.ItemInterrupted {
					held++
				}
			}
		}
		for _, e := range events {
			all.Add(e)
		}
		lately, err := Lately(backwards(events, nil))
		o := fsm.Outcome{TerminatedBy: fsm.EndTerminal, Failure: true}
		got, want := lately.Reason(o, &fsm.Loop{}), all.Reason(o, &fsm.Loop{})
		if got != want || lately.FailedItems(o) != all.FailedItems(o) || err != nil || held > 12 {
			t.Fatalf("seed %d: %s, %d, %v\nwant %s, %d; %d events are held", seed, got, lately.FailedItems(o), err,
				want, all.FailedItems(o), held)
		}
	}
}

func TestReasonIsBounded(t *testing.T) {
	t.Parallel()
	var b Because
	long := strings.Repeat("x", 10_000)
	b.Add(fsm.Event{Kind: fsm.EventStateEnter, Fields: []fsm.Field{{Key: "state", Value: long}}})
	b.Add(fsm.Event{Kind: fsm.EventEvaluate, Fields: []fsm.Field{{Key: "verdict", Value: long}}})
	if n := len(b.Reason(fsm.Outcome{TerminatedBy: fsm.EndTerminal, Failure: true}, &fsm.Loop{})); n > 2*reasonLength {
		t.Errorf("the reason has %d bytes", n)
	}
}

func TestEndsAreToldApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    persistence.Run
		want string
	}{
		{persistence.Run{Status: persistence.Completed, Ended: fsm.EndTerminal}, "completed"},
		{persistence.Run{Status: persistence.Failed, Ended: fsm.EndTerminal}, "failed"},
		{persistence.Run{Status: persistence.Interrupted, Ended: fsm.EndMaxSteps}, "capped"},
		{persistence.Run{Status: persistence.Interrupted, Ended: fsm.EndBudget}, "budget"},
		{persistence.Run{Status: persistence.Interrupted, Why: "its process (pid 7) is gone"}, "killed"},
		{persistence.Run{Status: persistence.Interrupted, Ended: fsm.EndInterrupted}, "interrupted"},
		{persistence.Run{Status: persistence.UserStopped, Ended: fsm.EndUserStopped}, "stopped"},
		{persistence.Run{Status: persistence.TimedOut, Ended: fsm.EndTimeout}, "timed_out"},
		{persistence.Run{Status: persistence.Failed, Ended: fsm.EndCycle}, "stalled"},
		{persistence.Run{Status: persistence.Failed, Ended: fsm.EndError, Limited: true}, "limited"},
		{persistence.Run{Status: persistence.Running}, "running"},
		{persistence.Run{}, "unreadable"},
	} {
		if got := Outcome(c.r); got != c.want {
			t.Errorf("%+v is %s, want %s", c.r, got, c.want)
		}
	}
}
