package live

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/persistence"
)

var began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func event(after time.Duration, kind string, pairs ...any) fsm.Event {
	e := fsm.Event{Kind: kind, Time: began.Add(after)}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == "depth" {
			e.Depth = pairs[i+1].(int)
			continue
		}
		e.Fields = append(e.Fields, fsm.Field{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return e
}

// show feeds a run to a printer and returns what it printed.
func show(p *Text, outcome fsm.Outcome, resume string, events ...fsm.Event) (out, errs string) {
	var a, b bytes.Buffer
	p.out, p.err = terminal.NewBatchedSink(humanize.NewPlainWriter(&a)), terminal.NewSink(humanize.NewPlainWriter(&b))
	p.Header(Header{
		Loop: &fsm.Loop{Name: "fix", MaxSteps: 50}, File: ".loops/fix.yaml", ShortDir: ".loops/runs/fix-1/",
		Run: persistence.Run{ID: "fix-1"}, Begin: began, Wake: "loops retry-now fix-1",
	})
	p.Watch(func() {
		for _, e := range events {
			p.Event(e)
		}
	})
	p.Finish(outcome, resume)
	return a.String(), b.String()
}

const top = "Running loop: fix\nMax steps: 50\n  loop: .loops/fix.yaml\n  run: fix-1\n  run_dir: .loops/runs/fix-1/\n\n"

func TestTextPrinter(t *testing.T) {
	t.Parallel()
	failed := []fsm.Event{
		event(0, "state_enter", "state", "check", "iteration", int64(1)),
		event(0, "action_start", "action", "make test\nmake more"),
		event(time.Second, "action_output", "line", "one\ntwo"),
		event(time.Second, "action_complete", "exit_code", int64(2), "duration_ms", int64(1234), "output_preview",
			"one\ntwo", "stderr_preview", "make: oops"),
		event(time.Second, "evaluate", "type", "exit_code", "verdict", "no"),
		event(time.Second, "route", "from", "check", "to", "failed"),
		event(time.Second, "loop_complete", "final_state", "failed"),
	}
	end := fsm.Outcome{
		TerminatedBy: fsm.EndTerminal, FinalState: "failed", Failure: true, Steps: 1,
		Duration: 1234 * time.Millisecond,
	}
	for _, c := range []struct {
		name        string
		p           *Text
		OutcomeText fsm.Outcome
		resume      string
		events      []fsm.Event
		out         string
		err         string
	}{
		{"a failure", &Text{}, end, "", failed, top +
			"[1/50] check (0ms) -> make test …\n       one\n       two\n       ! make: oops\n       (1.2s) exit: 2\n" +
			"       no -> failed\n" +
			"\nLoop failed: failed (1 step, 1.2s)\n", ""},
		{"verbose", &Text{verbose: true}, end, "", failed, top +
			"[1/50] check (0ms) -> make test\n       | make more\n       one\n       two\n       ! make: oops\n" +
			"       (1.2s) exit: 2\n       type=exit_code\n       no -> failed\n" +
			"\nLoop failed: failed (1 step, 1.2s)\n", ""},
		{
			"verbose shows what a good action complained of", &Text{verbose: true},
			fsm.Outcome{TerminatedBy: fsm.EndTerminal, FinalState: "done", Steps: 1},
			"",
			[]fsm.Event{
				event(0, "state_enter", "state", "a", "iteration", int64(1)),
				event(0, "action_start", "action", "make"),
				event(0, "action_complete", "exit_code", int64(0), "duration_ms", int64(5), "output_preview", nil,
					"stderr_preview", "careful"),
				event(0, "route", "from", "a", "to", "done"),
			},
			top + "[1/50] a (0ms) -> make\n       ! careful\n       (5ms)\n       -> done\n\n" +
				"Loop completed: done (1 step, 0ms)\n", "",
		},
		{
			"quiet says how it failed", &Text{quiet: true}, end, "", failed, "",
			"The last action said:\n       make: oops\nLoop failed: failed (1 step, 1.2s)\n",
		},
		{
			"quiet says nothing on success",
			&Text{quiet: true},
			fsm.Outcome{TerminatedBy: fsm.EndTerminal, FinalState: "done"},
			"",
			failed,
			"",
			"",
		},
		{"colours", &Text{paint: true}, end, "", failed[:1], strings.Replace(top, "fix\n", "\x1b[1mfix\x1b[0m\n", 1) +
			"[1/50] \x1b[1mcheck\x1b[0m (0ms)\n\n\x1b[31mLoop failed: failed (1 step, 1.2s)\x1b[0m\n", ""},
		{
			"a timeout, a state without action, an interruption", &Text{},
			fsm.Outcome{
				TerminatedBy: fsm.EndInterrupted, Signal: "SIGINT", FinalState: "b", Steps: 2,
				Duration: 65 * time.Second,
			},
			"loops resume fix-1",
			[]fsm.Event{
				event(0, "state_enter", "state", "a", "iteration", int64(1)),
				event(0, "action_start", "action", "sleep 99"),
				event(0, "action_complete", "exit_code", int64(124), "duration_ms", int64(60000), "stderr_preview",
					nil),
				event(0, "evaluate", "type", "exit_code", "verdict", "error"),
				event(61*time.Second, "route", "from", "a", "to", "b"),
				event(61*time.Second, "state_enter", "state", "b", "iteration", int64(2)),
				event(61*time.Second, "evaluate", "type", "default", "verdict", "yes"),
				event(65*time.Second, "loop_complete", "final_state", "b"),
			},
			top + "[1/50] a (0ms) -> sleep 99\n       (1m00s) timed out\n       error -> b\n[2/50] b (1m01s)\n" +
				"       yes\n" +
				"\nLoop interrupted by SIGINT: b (2 steps, 1m05s)\nResume with: loops resume fix-1\n", "",
		},
		{"a sub-loop and other events", &Text{}, fsm.Outcome{
			TerminatedBy: fsm.EndError, FinalState: "a", Steps: 1,
			Error: "no way on",
		}, "", []fsm.Event{
			event(0, "state_enter", "state", "a", "iteration", int64(1)),
			event(0, "loop_start", "loop", "child", "depth", 1),
			event(0, "state_enter", "state", "x", "iteration", int64(1), "depth", 1),
			event(0, "loop_complete", "final_state", "x", "terminated_by", "terminal", "depth", 1),
			event(0, "retry_exhausted", "state", "a", "retries", int64(3)),
		}, top + "[1/50] a (0ms)\n  sub-loop child\n  [1] x (0ms)\n  sub-loop ended: x [terminal]\n" +
			"       retry exhausted: state=a retries=3\n" +
			"\nLoop ended with an error: a (1 step, 0ms)\nError: no way on\n", ""},
	} {
		out, errs := show(c.p, c.OutcomeText, c.resume, c.events...)
		if out != c.out {
			t.Errorf("%s:\n got %q\nwant %q", c.name, out, c.out)
		}
		if errs != c.err {
			t.Errorf("%s: on standard error:\n got %q\nwant %q", c.name, errs, c.err)
		}
	}
}

func TestJSONPrinter(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &JSON{out: &out, err: &bytes.Buffer{}}
	p.Event(event(0, "state_enter", "state", "a", "iteration", int64(1)))
	want := `{"event": "state_enter", "ts": "2026-11-21T10:00:00.000000+00:00", "state": "a", "iteration": 1}` + "\n"
	if out.String() != want {
		t.Errorf("got %s", out.String())
	}
}
