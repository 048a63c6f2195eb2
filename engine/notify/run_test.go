package notify

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/config"
	"loops/internal/inspect"
	"loops/persistence"
)

// TestEndKind: every end of a run has a name that on knows.
func TestEndKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end  fsm.Outcome
		want string
	}{
		{fsm.Outcome{TerminatedBy: fsm.EndTerminal}, "completed"},
		{fsm.Outcome{TerminatedBy: fsm.EndTerminal, Failure: true}, "failed"},
		{fsm.Outcome{TerminatedBy: fsm.EndTerminal, Signal: "SIGINT"}, "interrupted"},
		{fsm.Outcome{TerminatedBy: fsm.EndInterrupted}, "interrupted"},
		{fsm.Outcome{TerminatedBy: fsm.EndUserStopped}, "interrupted"},
		{fsm.Outcome{TerminatedBy: fsm.EndMaxSteps}, "capped"},
		{fsm.Outcome{TerminatedBy: fsm.EndMaxIterations}, "capped"},
		{fsm.Outcome{TerminatedBy: fsm.EndTimeout}, "timed_out"},
		{fsm.Outcome{TerminatedBy: fsm.EndCycle}, "stalled"},
		{fsm.Outcome{TerminatedBy: fsm.EndStall}, "stalled"},
		{fsm.Outcome{TerminatedBy: fsm.EndBudget}, "budget"},
		{fsm.Outcome{TerminatedBy: fsm.EndHostBudget}, "budget"},
		{fsm.Outcome{TerminatedBy: fsm.EndHostPressure}, "budget"},
		{fsm.Outcome{TerminatedBy: fsm.EndHandoff}, "awaiting"},
		{fsm.Outcome{TerminatedBy: fsm.EndError}, "failed"},
		{fsm.Outcome{TerminatedBy: fsm.EndError, Limited: true}, "limited"},
		{fsm.Outcome{TerminatedBy: fsm.EndSystemSignal}, "failed"},
	} {
		got := inspect.EndKind(c.end)
		known := false
		for _, k := range config.NotifyKinds {
			known = known || k.Name == got
		}
		if got != c.want || !known {
			t.Errorf("%+v: %s, want %s", c.end, got, c.want)
		}
	}
}

// A question with a timeout of less than five minutes was not sent, and people who may not answer were sent
// links, as was a team that only an escalation named.
func TestLinksOfQuestions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".loops"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".loops/config.yaml"),
		[]byte("answer_links: {url: \"https://loops.example.com\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := project.Open(dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var targets []config.Notify
	for _, name := range []string{"ada", "bob", "team"} {
		on := []string{"waiting"}
		if name == "team" {
			on = []string{config.NotifyEscalated}
		}
		targets = append(targets, config.Notify{Name: name, On: on, Command: "true"})
	}
	n := To(p, targets, Options{Env: os.Environ()})
	const id persistence.ID = "fix-1"
	n.Observe(engine.Began{
		Header: engine.Header{
			Loop: &fsm.Loop{Name: "fix"}, Run: persistence.Run{ID: id, Loop: "fix"},
			Begin: time.Now(),
		},
	})
	choices, short := fsm.Field{Key: "choices", Value: []any{"approve", "reject"}},
		fsm.Field{Key: "seconds", Value: 60.0}
	to := func(names ...any) fsm.Field { return fsm.Field{Key: "to", Value: names} }
	who := func(names ...any) fsm.Field { return fsm.Field{Key: "who", Value: names} }
	at := func(address string) fsm.Field { return fsm.Field{Key: "address", Value: address} }
	wait := fsm.Field{Key: "wait", Value: fsm.WaitState}
	said := fsm.Field{Key: "choices", Value: "approve, reject"}
	for _, e := range []fsm.Event{
		{Kind: fsm.EventNote, Fields: []fsm.Field{wait, at("/1:1"), said, short}},
		{Kind: fsm.EventNote, Fields: []fsm.Field{wait, at("/2:1"), said, short, who("ada", "team")}},
		{
			Kind:   fsm.EventHumanReminded,
			Fields: []fsm.Field{at("/2:1"), choices, who("ada", "team"), {Key: "number", Value: int64(1)}},
		},
		{Kind: fsm.EventHumanEscalated, Fields: []fsm.Field{at("/2:1"), choices, who("ada", "team"), to("team")}},
		{Kind: fsm.EventHumanEscalated, Fields: []fsm.Field{at("/1:1"), choices, to("team")}},
	} {
		n.Observe(engine.Recorded{Run: id, Event: e})
	}
	results, err := n.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprintf("%s %s %s: %d", targets[r.Place].Name, r.Event.Kind, r.Event.Question,
			len(r.Event.Links)))
	}
	slices.Sort(got)
	want := []string{
		"ada waiting /1:1: 2", "ada waiting /2:1: 2", "ada waiting /2:1: 2",
		"bob waiting /1:1: 2", "bob waiting /2:1: 0", "bob waiting /2:1: 0",
		"team escalated /1:1: 0", "team escalated /2:1: 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("sent were\n%q\nwant\n%q", got, want)
	}
}

// TestRun: which events of a run are sent while it is running.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := project.Open(dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := To(p, []config.Notify{{
		On:      config.NotifyNames(),
		Command: `echo "$LOOPS_NOTIFY_EVENT|$LOOPS_NOTIFY_TEXT|$LOOPS_NOTIFY_STATE|$LOOPS_NOTIFY_STEPS|$LOOPS_NOTIFY_RESUME|$LOOPS_ACTION$LOOPS_RUN_ID$LOOPS_ANCESTORS" >>told`,
	}}, Options{Env: append(os.Environ(), "LOOPS_ACTION=x", "LOOPS_RUN_ID=x", "LOOPS_ANCESTORS=x")})
	const id persistence.ID = "fix-1"
	n.Observe(engine.Began{
		Header: engine.Header{
			Loop: &fsm.Loop{Name: "fix"}, Run: persistence.Run{ID: id, Loop: "fix"},
			Begin: time.Now(),
		},
	})
	event := func(kind string, fields ...any) fsm.Event {
		e := fsm.Event{Kind: kind}
		for i := 0; i < len(fields); i += 2 {
			e.Fields = append(e.Fields, fsm.Field{Key: fields[i].(string), Value: fields[i+1]})
		}
		return e
	}
	inside := event("state_enter", "state", "inner", "iteration", int64(9))
	inside.Depth = 1
	for _, e := range []fsm.Event{
		event("loop_start", "loop", "fix"),
		event("state_enter", "state", "ask", "iteration", int64(3)),
		inside,
		event("note", "state", "ask", "message", "short", "wait", fsm.WaitRateLimit, "seconds", 299.0),
		event("note", "state", "ask", "message", "between states", "wait", fsm.WaitBackoff, "seconds", 9999.0),
		event("note", "state", "ask", "message", "long", "wait", fsm.WaitRateLimit, "seconds", 300.0),
		event("note", "state", "ask", "message", "longer", "wait", fsm.WaitRateLimit, "seconds", 3000.0),
		event("route", "to", "ask"),
		event("note", "state", "ask", "message", "another", "wait", fsm.WaitCircuit, "seconds", int64(3000)),
		event("note", "state", "ask", "message", "paused", "wait", fsm.WaitPaused),
	} {
		n.Observe(engine.Recorded{Run: id, Event: e})
	}
	results, err := n.Close(t.Context())
	if err != nil || len(results) != 4 {
		t.Errorf("%+v, %v", results, err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "told"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `started|fix: started||0||
waiting|fix: waits in ask: long|ask|3|retry-now fix-1|
waiting|fix: waits in ask: another|ask|3|retry-now fix-1|
paused|fix: paused before ask|ask|3|unpause fix-1|
`
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
