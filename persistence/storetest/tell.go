package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
)

// odd are texts that a file, a statement or a protocol could take for something else.
var odd = []string{
	"", " ", "'; DROP TABLE runs; --", `"`, `\`, "?", "$1", "{now}", "%s", "NULL", "a\x00b", "line\nline\r\n",
	"\u2028", "é", "\U0001F600",
	"$blob", "memory", strings.Repeat("x", 10_000),
}

var telling = []test{
	{"texts are what they were", func(t *T) {
		j := t.create("fix")
		s := snap("fix", 1)
		var want []string
		for i, text := range odd {
			s.Current, s.Previous, s.Continuation = text+"x", text, text
			s.Captured.Set(fmt.Sprint(i, text), value.NewMap("output", text, text, text))
			s.Messages = append(s.Messages, text)
			b := &fsm.Batch{
				Snapshot: s, Checkpoint: i%2 == 0,
				Events: []fsm.Event{t.event(fsm.EventRoute, "to", text, "key "+text, text)},
			}
			t.record(j, b)
			want = append(want, string(b.Events[0].AppendJSON(nil)))
			t.memory(j.Run().ID, s)
			if r := t.one(j.Run().ID); r.State != s.Current || r.Continuation != text {
				t.Errorf("state %q, continuation %q, want %q", r.State, r.Continuation, text)
			}
		}
		t.close(j)
		t.memory(j.Run().ID, s)
		for i, e := range t.events(j.Run().ID, 0) {
			if got := string(e.AppendJSON(nil)); got != want[i] {
				t.Errorf("event %d is\n%s\nwant\n%s", i+1, got, want[i])
			}
		}
	}},
	{"a value that looks like what a store writes for a large text is what it was", func(t *T) {
		j := t.create("fix")
		s := snap("fix", 1)
		like := func() *value.Map { return value.NewMap("$blob", strings.Repeat("a", 64), "bytes", int64(5)) }
		s.Context.Set("reference", like())
		s.Context.Set("within", []any{like(), value.NewMap("deeper", like(), "large", strings.Repeat("y", 100_000))})
		s.Captured.Set("reference", like())
		s.Captured.Set("literal", value.NewMap("$literal", like()))
		s.Captured.Set("twice", value.NewMap("$literal", value.NewMap("$literal", value.NewMap("$literal", int64(1)))))
		t.record(j, &fsm.Batch{Snapshot: s, Checkpoint: true, Events: []fsm.Event{t.event(fsm.EventRoute)}})
		t.memory(j.Run().ID, s)
		s.Captured.Set("later", like())
		t.record(j, &fsm.Batch{Snapshot: s, Checkpoint: true, Events: []fsm.Event{t.event(fsm.EventRoute)}})
		t.close(j)
		t.memory(j.Run().ID, s)
	}},
	{"what was specified can be any text", func(t *T) {
		spec := t.spec("fix")
		for i, text := range odd {
			spec.File, spec.SHA256, spec.StartedAt = text+".yaml", text, start.Add(time.Duration(i)*time.Minute)
			spec.Options = value.NewMap("input", text, "n"+text, nil)
			spec.Definition = []byte(text)
			j, err := t.S.Create(t.ctx, spec)
			t.must(err)
			s := snap("fix", 1)
			t.record(j, t.enter(s))
			b := t.ended(s, fsm.EndError)
			b.Snapshot.Outcome.Error = text
			t.record(j, b)
			t.close(j)
			r := t.one(j.Run().ID)
			if r.File != spec.File || r.SHA256 != text || r.Error != text ||
				string(value.AppendJSON(nil, r.Options)) != string(value.AppendJSON(nil, spec.Options)) {
				t.Errorf("%q: run = %+v", text, r)
			}
		}
	}},
	{"an ID that cannot be one is not found", func(t *T) {
		t.finished("fix", fsm.EndTerminal)
		for _, text := range append([]string{
			".", "..", "/", "../fix-20261121T103405", "a/../../b", "\xff",
			"fix-20261121T103405\x00",
		}, odd...) {
			id := persistence.ID(text)
			_, err := t.S.Snapshot(t.ctx, id)
			t.is(err, persistence.ErrNotFound)
			_, _, err = t.S.Resume(t.ctx, id, t.spec("fix"))
			t.is(err, persistence.ErrNotFound)
			t.is(t.S.Interrupt(t.ctx, id, start, ""), persistence.ErrNotFound)
			t.is(t.S.Archive(t.ctx, id), persistence.ErrNotFound)
			n := 0
			for _, err := range t.S.Events(t.ctx, id, 0) {
				t.is(err, persistence.ErrNotFound)
				n++
			}
			if n != 1 {
				t.Errorf("%q: events told %d things, want one error", text, n)
			}
		}
	}},
	{"a loop that nobody ran lists nothing", func(t *T) {
		t.finished("fix", fsm.EndTerminal)
		for _, loop := range append([]string{"fi", "fix-", "FIX", "fix-20261121T103405", "\xff"}, odd[1:]...) {
			if rs := t.runs(persistence.Query{Loop: loop}); len(rs) != 0 {
				t.Errorf("%q: %+v", loop, rs)
			}
		}
		if rs := t.runs(persistence.Query{Loop: "fix", Limit: 1000}); len(rs) != 1 {
			t.Errorf("runs = %+v", rs)
		}
	}},
	{"a very long event and very many", func(t *T) {
		j := t.create("fix")
		s := snap("fix", 1)
		t.record(j, t.enter(s))
		long := strings.Repeat("0123456789abcdef", 1<<17)
		t.record(j, t.output(long))
		lines := make([]string, 3000)
		for i := range lines {
			lines[i] = fmt.Sprint("line ", i)
		}
		t.record(j, t.output(lines...))
		more := testenv.Some(300, 3000)
		for i := range more {
			t.record(j, t.output(fmt.Sprint("more ", i)))
		}
		last := uint64(3004 + more)
		s.Phase = fsm.PhaseActed
		b := &fsm.Batch{Snapshot: s, Checkpoint: true, Events: []fsm.Event{t.event(fsm.EventActionComplete)}}
		t.record(j, b)
		if b.Events[0].Seq != last {
			t.Errorf("the last event has number %d", b.Events[0].Seq)
		}
		t.close(j)
		es := t.events(j.Run().ID, 0)
		if len(es) != int(last) || es[2].Fields[0].Value != long || es[3000].Fields[0].Value != "line 2997" ||
			es[last-2].Fields[0].Value != fmt.Sprint("more ", more-1) {
			t.Errorf("%d events", len(es))
		}
		if es := t.events(j.Run().ID, last-4); len(es) != 4 || es[0].Seq != last-3 {
			t.Errorf("%d events behind %d", len(es), last-4)
		}
	}},
	{"readers of a running run see the beginning of its history", func(t *T) {
		j := t.create("fix")
		t.record(j, t.enter(snap("fix", 1)))
		id := j.Run().ID
		stop, cancel := context.WithCancel(t.ctx)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for last := 0; stop.Err() == nil; {
					n := 0
					for e, err := range t.S.Events(t.ctx, id, 0) {
						if n++; err != nil || e.Seq != uint64(n) {
							t.Errorf("event %d: %+v, %v", n, e, err)
							return
						}
					}
					m, err := t.S.Snapshot(t.ctx, id)
					if err != nil || n < last || 2*m.Step < n {
						t.Errorf("%d events after %d, memory of step %+v: %v", n, last, m, err)
						return
					}
					last = n
				}
			})
		}
		for i := 2; i <= 100; i++ {
			t.record(j, t.enter(snap("fix", i)))
		}
		cancel()
		wg.Wait()
		t.close(j)
		t.memory(id, snap("fix", 100))
	}},
	{"why a run was interrupted is told until it goes on", func(t *T) {
		id := t.crashed("fix", 1)
		t.must(t.S.Interrupt(t.ctx, id, start.Add(time.Hour), "its process died"))
		for _, r := range []persistence.Run{t.one(id), t.runs(persistence.Query{Loop: "fix", Limit: 1})[0]} {
			if r.Why != "its process died" || !r.Reconciled.Equal(start.Add(time.Hour)) ||
				r.Status != persistence.Interrupted {
				t.Errorf("run = %+v", r)
			}
		}
		j, s := t.resume(id, "fix")
		t.record(j, t.enter(s))
		if r := t.one(id); r.Why != "" || !r.Reconciled.IsZero() || r.Status != persistence.Running || r.Segment != 1 {
			t.Errorf("run = %+v", r)
		}
		t.close(j)
	}},
	{"a name that was given back can be taken", func(t *T) {
		j := t.create("fix")
		id := j.Run().ID
		t.close(j)
		k := t.create("fix")
		if k.Run().ID != id {
			t.Errorf("id %s, want %s", k.Run().ID, id)
		}
		t.record(k, t.enter(snap("fix", 1)))
		t.close(k)
	}},
	{"a working folder outlives its run", func(t *T) {
		j := t.create("fix")
		t.record(j, t.enter(snap("fix", 1)))
		t.must(os.WriteFile(j.Dir()+"/report", []byte("x"), 0o644))
		t.record(j, t.ended(snap("fix", 1), fsm.EndInterrupted))
		t.close(j)
		k, _ := t.resume(j.Run().ID, "fix")
		if b, err := os.ReadFile(k.Dir() + "/report"); err != nil || string(b) != "x" {
			t.Errorf("the file holds %q: %v", b, err)
		}
		t.close(k)
	}},
	{"an owner that let go is named nowhere", func(t *T) {
		id := t.crashed("fix", 1)
		if r := t.one(id); r.Owner != (persistence.Owner{}) || r.Held {
			t.Errorf("run = %+v", r)
		}
		j, _ := t.resume(id, "fix")
		if r := t.one(id); r.Owner.PID != os.Getpid() || !r.Held {
			t.Errorf("run = %+v", r)
		}
		_, _, err := t.S.Resume(t.ctx, id, t.spec("fix"))
		var held *persistence.HeldError
		if !errors.As(err, &held) || held.ID != id || held.Owner.PID != os.Getpid() {
			t.Errorf("error is %v", err)
		}
		t.close(j)
	}},
	{"what ended cannot be interrupted", func(t *T) {
		for _, by := range []string{fsm.EndTerminal, fsm.EndMaxSteps, fsm.EndHandoff} {
			id := t.finished("fix", by)
			before := t.one(id)
			t.is(t.S.Interrupt(t.ctx, id, start, "test"), persistence.ErrNotFound)
			if r := t.one(id); r.Status != before.Status || r.Why != "" {
				t.Errorf("run = %+v", r)
			}
		}
	}},
}
