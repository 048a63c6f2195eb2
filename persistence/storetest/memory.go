package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
)

var remembering = []test{
	{"events are numbered from one without gaps", func(t *T) {
		j := t.create("fix")
		b := t.enter(snap("fix", 1))
		t.record(j, b)
		if b.Events[0].Seq != 1 || b.Events[1].Seq != 2 {
			t.Fatalf("the batch was numbered %d, %d", b.Events[0].Seq, b.Events[1].Seq)
		}
		t.record(j, t.output("a", "b"))
		t.record(j, t.enter(snap("fix", 2)))
		t.close(j)
		for i, e := range t.events(j.Run().ID, 0) {
			if e.Seq != uint64(i+1) {
				t.Fatalf("event %d has number %d", i+1, e.Seq)
			}
		}
	}},
	{"events come back as they were", func(t *T) {
		j := t.create("fix")
		b := t.enter(snap("fix", 1))
		b.Events[0].Depth = 2
		b.Events[1].Fields = append(b.Events[1].Fields,
			fsm.Field{
				Key:   "m",
				Value: value.NewMap("memory", value.NewMap("a", nil), "é\n", []any{int64(1), 2.5, true}),
			})
		want := slices.Clone(b.Events)
		t.record(j, b)
		t.close(j)
		got := t.events(j.Run().ID, 0)
		if len(got) != len(want) {
			t.Fatalf("%d events, want %d", len(got), len(want))
		}
		for i := range got {
			want[i].Seq = uint64(i + 1)
			if string(got[i].AppendJSON(nil)) != string(want[i].AppendJSON(nil)) {
				t.Errorf("got  %s\nwant %s", got[i].AppendJSON(nil), want[i].AppendJSON(nil))
			}
		}
	}},
	{"events since a number", func(t *T) {
		id := t.crashed("fix", 3)
		got := t.events(id, 4)
		if len(got) != 2 || got[0].Seq != 5 {
			t.Fatalf("events after 4: %v", got)
		}
		if got := t.events(id, 6); len(got) != 0 {
			t.Fatalf("events after the last: %v", got)
		}
	}},
	{"reading events can stop early", func(t *T) {
		id := t.crashed("fix", 3)
		n := 0
		for _, err := range t.S.Events(t.ctx, id, 0) {
			t.must(err)
			if n++; n == 2 {
				break
			}
		}
		if n != 2 {
			t.Fatalf("read %d", n)
		}
	}},
	{"output is kept behind the last memory", func(t *T) {
		j := t.create("fix")
		t.record(j, t.enter(snap("fix", 1)))
		t.record(j, t.output("one", "two"))
		t.close(j)
		if n := len(t.events(j.Run().ID, 0)); n != 4 {
			t.Fatalf("%d events, want 4", n)
		}
		t.memory(j.Run().ID, snap("fix", 1))
	}},
	{"a batch of other events without memory is kept", func(t *T) {
		j := t.create("fix")
		t.record(j, t.enter(snap("fix", 1)))
		t.record(j, &fsm.Batch{Events: []fsm.Event{t.event("heartbeat"), t.event(fsm.EventWarning)}})
		t.close(j)
		if n := len(t.events(j.Run().ID, 0)); n != 4 {
			t.Fatalf("%d events, want 4", n)
		}
		t.memory(j.Run().ID, snap("fix", 1))
	}},
	{"memory without an event is kept", func(t *T) {
		j := t.create("fix")
		t.record(j, t.enter(snap("fix", 1)))
		s := snap("fix", 1)
		s.Elapsed = time.Hour
		t.record(j, &fsm.Batch{Snapshot: s})
		t.close(j)
		t.memory(j.Run().ID, s)
	}},
	{"an empty batch is nothing", func(t *T) {
		j := t.create("fix")
		t.record(j, t.enter(snap("fix", 1)))
		t.record(j, &fsm.Batch{Checkpoint: true})
		t.close(j)
		if n := len(t.events(j.Run().ID, 0)); n != 2 {
			t.Fatalf("%d events, want 2", n)
		}
	}},
	{"every field survives", func(t *T) {
		j := t.create("fix")
		s := Filled("fix")
		t.record(j, t.enter(s))
		t.memory(j.Run().ID, s)
		t.close(j)
		t.memory(j.Run().ID, s)
	}},
	{"every field alone can change and be taken back", func(t *T) {
		j := t.create("fix")
		base, full := snap("fix", 1), Filled("fix")
		t.record(j, t.enter(base))
		for i := range reflect.TypeFor[fsm.Snapshot]().NumField() {
			name := reflect.TypeFor[fsm.Snapshot]().Field(i).Name
			if name == "Loop" || name == "StartedAt" || name == "Messages" { // do not change, only grow
				continue
			}
			for _, from := range []*fsm.Snapshot{full, base} {
				s := *base
				reflect.ValueOf(&s).Elem().Field(i).Set(reflect.ValueOf(from).Elem().Field(i))
				t.record(j, &fsm.Batch{Snapshot: &s, Events: []fsm.Event{t.event(fsm.EventRoute)}})
				t.memory(j.Run().ID, &s)
				if t.Failed() {
					t.Fatalf("after a change of %s", name)
				}
			}
		}
		t.close(j)
	}},
	{"entries of maps change, come and go", func(t *T) {
		j := t.create("fix")
		s := snap("fix", 1)
		rec := func(out any) *value.Map {
			return value.NewMap("output", out, "timeout_kind", nil, "exit_code", int64(0))
		}
		for _, change := range []func(){
			func() { s.Captured.Set("a", rec("1")); s.Edges = s.Edges.With("a->b", 1) },
			func() { s.Captured.Set("b", rec("2")); s.Edges = s.Edges.With("b->a", 1).With("a->b", 2) },
			func() { s.Captured.Set("a", value.NewMap("output", nil)); s.Edges = s.Edges.Without("a->b") },
			func() { s.Captured.Delete("a"); s.Edges = value.Counts{} },
			func() { s.Captured.Set("a", rec("again")); s.Context.Set("none", nil) },
			func() { s.Context.Delete("input") },
			func() { s.Captured = value.NewMap("b", rec("2"), "a", rec("again"), "c", rec("3")) },
			func() { s.PrevResult = rec("x"); s.Messages = append(s.Messages, "one") },
			func() { s.PrevResult = nil; s.Messages = append(s.Messages, "two", "three") },
			func() { s.Evaluators = map[string]fsm.Repeat{"e": {Hash: "h", Count: 1}} },
			func() { s.Evaluators["e"] = fsm.Repeat{Hash: "h", Count: 2, Seen: true} },
			func() { delete(s.Evaluators, "e") },
			func() { s.StallRing = append(s.StallRing, fsm.StallRecord{State: "a", ExitCode: 1, Verdict: "no"}) },
			func() { s.StallRing = s.StallRing[:0] },
		} {
			change()
			t.record(j, &fsm.Batch{Snapshot: s, Events: []fsm.Event{t.event(fsm.EventRoute)}})
			t.memory(j.Run().ID, s)
		}
		t.close(j)
		t.memory(j.Run().ID, s)
	}},
	{"large texts survive", func(t *T) {
		j := t.create("fix")
		s := snap("fix", 1)
		big := strings.Repeat("0123456789abcde\n", 20_000)
		s.Captured.Set("big", value.NewMap("output", big, "stderr", big[1:]))
		s.PrevResult = value.NewMap("output", big)
		s.Result = &fsm.Result{Stdout: big, Stderr: big[2:]}
		s.Messages = []string{big}
		t.record(j, t.enter(s))
		t.memory(j.Run().ID, s)
		t.close(j)
		j2, got := t.resume(j.Run().ID, "fix")
		t.same(got, s)
		t.close(j2)
	}},
	{"many small batches and a long memory", func(t *T) {
		j := t.create("fix")
		s := snap("fix", 1)
		for i := range testenv.Some(400, 2000) {
			s.Step = i + 1
			s.Captured.Set(fmt.Sprintf("c%d", i%7), value.NewMap("output", strings.Repeat("x", i%997)))
			t.record(j, &fsm.Batch{Snapshot: s, Events: []fsm.Event{t.event(fsm.EventRoute)}})
		}
		t.memory(j.Run().ID, s)
		t.close(j)
		t.memory(j.Run().ID, s)
	}},
	{"what the store keeps is not what the machine goes on changing", func(t *T) {
		j := t.create("fix")
		s := Filled("fix")
		t.record(j, t.enter(s))
		want, _ := t.S.Snapshot(t.ctx, j.Run().ID)
		s.Captured.Set("late", "x")
		s.Retries["late"] = 9
		s.StallRing[0].State = "late"
		s.Result.Stdout = "late"
		t.memory(j.Run().ID, want)
		t.close(j)
	}},
}
