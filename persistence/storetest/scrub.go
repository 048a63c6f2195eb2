package storetest

import (
	"errors"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
)

// hidden is what Scrub takes off the record.
const hidden = "hunter22-of-ours"

func scrub(s string) string { return strings.ReplaceAll(s, hidden, "***(PASS)") }

func alone() error { return nil }

// secretive returns a memory that has a secret at many places, a large text and a long log of a sub-loop among them.
func secretive(step int) *fsm.Snapshot {
	m := snap("fix", step)
	m.Context.Set("pass", hidden)
	m.Captured.Set("out", value.NewMap("output", strings.Repeat("x", 70000)+hidden+strings.Repeat("y", 100)))
	m.Captured.Set("odd", value.NewMap("$blob", hidden, "bytes", int64(3)))
	m.Messages = []string{"one " + hidden + " two"}
	inner := snap("inner", 1)
	inner.Captured.Set("said", value.NewMap("output", "\n"+hidden))
	m.Child = &fsm.Child{
		Memory: inner, Name: "inner", File: "inner.yaml",
		Log: []string{strings.Repeat("z", 9000), hidden},
	}
	return m
}

var scrubbing = []test{
	{"what is recorded of a run has other texts after a scrub, and the rest is as it was", func(t *T) {
		spec := t.spec("fix")
		spec.Definition = []byte("name: fix\n# " + hidden + "\n")
		spec.Options = value.NewMap("context", value.NewMap("pass", hidden))
		j, err := t.S.Create(t.ctx, spec)
		t.must(err)
		id := j.Run().ID
		for n := 1; n <= 3; n++ {
			t.record(j, t.enter(secretive(n)))
			t.record(j, t.output("said "+hidden, "more"))
			if n == 2 {
				_, err := t.S.Send(t.ctx, id,
					persistence.Command{
						Kind: persistence.CommandSignal, Segment: persistence.AnySegment,
						Args: value.NewMap("name", "go", "data", hidden),
					})
				t.must(err)
			}
		}
		t.close(j)
		t.must(t.S.Interrupt(t.ctx, id, start, "killed: "+hidden))
		was, events := t.recalled(id), len(t.events(id, 0))

		changed, err := t.S.Scrub(t.ctx, id, scrub, alone)
		if err != nil || !changed {
			t.Fatalf("scrub: %v, %v", changed, err)
		}
		run := t.one(id)
		if run.Status != persistence.Interrupted || !run.Archived || run.Leftover || !run.Resumable ||
			len(run.Damage) > 0 {
			t.Errorf("the run is %+v", run)
		}
		m := t.recalled(id)
		if got := value.AppendJSON(nil, m.Captured); strings.Contains(string(got), hidden) ||
			!strings.Contains(string(got), "xx***(PASS)yy") {
			t.Errorf("captured: …%s", got[max(0, len(got)-300):])
		}
		if m.Context.Value("pass") != "***(PASS)" || m.Messages[0] != "one ***(PASS) two" ||
			m.Child.Log[len(m.Child.Log)-1] != "***(PASS)" {
			t.Errorf("the memory is %+v, %+v", m, m.Child)
		}
		if m.Step != was.Step || m.Current != was.Current || len(m.Child.Log) != len(was.Child.Log) {
			t.Errorf("the memory is %+v, and was %+v", m, was)
		}
		all := t.events(id, 0)
		if len(all) != events {
			t.Errorf("%d events, and there were %d", len(all), events)
		}
		for i, e := range all {
			if e.Seq != uint64(i+1) || strings.Contains(string(e.AppendJSON(nil)), hidden) {
				t.Errorf("event %d: %s", i+1, e.AppendJSON(nil))
			}
		}
		if commands, err := t.S.Commands(t.ctx, id, 0); err != nil || len(commands) != 1 ||
			commands[0].Args.Value("data") != "***(PASS)" {
			t.Errorf("commands %+v, %v", commands, err)
		}
		if text, err := t.S.Definition(t.ctx, id); err != nil || string(text) != "name: fix\n# ***(PASS)\n" {
			t.Errorf("the definition is %q, %v", text, err)
		}
		if before, _, err := t.S.Around(t.ctx, id, 3); err != nil || before.Memory == nil ||
			before.Memory.Step != 1 || before.Memory.Context.Value("pass") != "***(PASS)" {
			t.Errorf("the memory before event 3 is %+v, %v", before, err)
		}
		if changed, err := t.S.Scrub(t.ctx, id, scrub, alone); err != nil || changed {
			t.Errorf("scrubbed again: %v, %v", changed, err)
		}

		// it can be resumed
		j, m = t.resume(id, "fix")
		if m.Step != 3 || m.Captured.Value("out").(*value.Map).Value("output") != strings.Repeat("x", 70000)+
			"***(PASS)"+strings.Repeat("y", 100) {
			t.Errorf("resumed with %d", m.Step)
		}
		_, err = t.S.Scrub(t.ctx, id, scrub, alone)
		t.isHeld(err)
		t.record(j, t.ended(m, fsm.EndTerminal))
		t.close(j)
	}},
	{"no run is scrubbed that is not there", func(t *T) {
		if _, err := t.S.Scrub(t.ctx, "fix-20261121T100000", scrub, alone); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("scrub: %v", err)
		}
	}},
}

// recalled returns the memory of a run.
func (t *T) recalled(id persistence.ID) *fsm.Snapshot {
	t.Helper()
	m, err := t.S.Snapshot(t.ctx, id)
	t.must(err)
	return m
}
