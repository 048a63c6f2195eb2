package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
)

// What people rely on, one promise each.
var guaranteeing = []test{
	{"what Record took is there for everybody when it returns", func(t *T) {
		j := t.create("fix")
		id := j.Run().ID
		t.record(j, t.enter(snap("fix", 1)))
		done := make(chan struct{})
		var wg sync.WaitGroup
		for _, read := range []func() int{
			func() int {
				s, err := t.S.Snapshot(t.ctx, id)
				if err != nil {
					t.Errorf("snapshot: %v", err)
					return 0
				}
				return s.Step
			},
			func() int { return t.one(id).Step },
			func() int {
				n := 0
				for e, err := range t.S.Events(t.ctx, id, 0) {
					if n++; err != nil || e.Seq != uint64(n) {
						t.Errorf("event %d has number %d: %v", n, e.Seq, err)
					}
				}
				return n
			},
		} {
			wg.Go(func() {
				for last := 0; ; {
					select {
					case <-done:
						return
					default:
					}
					n := read()
					if n < last {
						t.Errorf("it went back from %d to %d", last, n)
						return
					}
					last = n
				}
			})
		}
		for n := 2; n <= testenv.Some(60, 150); n++ {
			s := snap("fix", n)
			b := t.enter(s)
			b.Checkpoint = n%3 == 0
			t.record(j, b)
			if got, err := t.S.Snapshot(t.ctx, id); err != nil || got.Step != n {
				t.Errorf("after step %d: %v, %+v", n, err, got)
			}
		}
		close(done)
		wg.Wait()
		t.close(j)
	}},
	{"a result that was recorded is there after a crash", func(t *T) {
		j := t.create("fix")
		s := snap("fix", 1)
		t.record(j, t.enter(s))
		s.Phase, s.Result = fsm.PhaseActed, &fsm.Result{Stdout: "done\n", ExitCode: 3, Duration: time.Second}
		// no checkpoint: a crash of the process must not lose it
		t.record(j, &fsm.Batch{Snapshot: s, Events: []fsm.Event{t.event(fsm.EventActionComplete)}})
		t.close(j)
		k, got := t.resume(j.Run().ID, "fix")
		t.same(got, s)
		if m := t.one(j.Run().ID).Marker; m != "" {
			t.Errorf("marker = %q, but no action is in flight", m)
		}
		t.close(k)
	}},
	{"an action in flight is known by its attempt, crash after crash", func(t *T) {
		id := t.crashed("fix", 1)
		for attempt := 2; attempt < 5; attempt++ {
			j, s := t.resume(id, "fix")
			if s.Phase != fsm.PhaseActing || s.Attempt != attempt-1 {
				t.Fatalf("phase %s, attempt %d, want %d", s.Phase, s.Attempt, attempt-1)
			}
			s.Attempt = attempt
			t.record(j, t.enter(s))
			t.close(j)
		}
	}},
	{"numbers have no gap over crashes, interruptions, archives and resumes", func(t *T) {
		id := t.crashed("fix", 1)
		want := 2
		for round := range 8 {
			switch round % 4 {
			case 1:
				t.must(t.S.Interrupt(t.ctx, id, start, "test"))
			case 3:
				j, _ := t.resume(id, "fix") // and recorded nothing
				t.close(j)
			}
			j, s := t.resume(id, "fix")
			s.Outcome = nil
			t.record(j, t.enter(s))
			t.record(j, t.output("a", "b"))
			want += 4
			if round%4 == 2 {
				t.record(j, t.ended(s, fsm.EndInterrupted))
				want++
			}
			t.close(j)
			events := t.events(id, 0)
			for i, e := range events {
				if e.Seq != uint64(i+1) {
					t.Fatalf("round %d: event %d has number %d", round, i+1, e.Seq)
				}
			}
			if len(events) != want {
				t.Fatalf("round %d: %d events, want %d", round, len(events), want)
			}
		}
	}},
	{"a list tells what was recorded last", func(t *T) {
		j := t.create("fix")
		id := j.Run().ID
		s := snap("fix", 1)
		t.record(j, t.enter(s))
		s.Current, s.Step, s.Passes, s.Elapsed, s.Continuation = "other", 7, 2, 9*time.Second, "go on so"
		t.record(j, &fsm.Batch{Snapshot: s, Events: []fsm.Event{t.event(fsm.EventRoute)}})
		for _, r := range []persistence.Run{t.one(id), j.Run()} {
			if r.State != "other" || r.Step != 7 || r.Passes != 2 || r.Elapsed != 9*time.Second ||
				r.Continuation != "go on so" || r.Ended != "" {
				t.Errorf("run = %+v", r)
			}
		}
		b := t.ended(s, fsm.EndError)
		s.Outcome.Error = "what went wrong"
		t.record(j, b)
		for _, r := range []persistence.Run{t.one(id), j.Run()} {
			if r.Status != persistence.Failed || r.Ended != fsm.EndError || r.Error != "what went wrong" || !r.Held {
				t.Errorf("run = %+v", r)
			}
		}
		t.close(j)
	}},
	{"odd names inside the memory survive", func(t *T) {
		j := t.create("fix")
		s := snap("fix", 1)
		s.StallPrints = map[string]string{}
		names := []string{
			"", "memory", "memory_full", "captured_all", "messages_add", "sub_loop", "sub_loop_all",
			"$blob", "event", "a->b", "é\u2028\n\"\\", "null", "\x00",
		}
		for round := range 3 {
			for i, n := range names {
				if round == 1 && i%3 == 0 {
					s.Captured.Delete(n)
					s.Edges = s.Edges.Without(n)
				} else {
					s.Captured.Set(n, value.NewMap(n, n, "memory", value.NewMap("memory", int64(round))))
					s.Context.Set(n, []any{n, nil, value.NewMap()})
					s.Edges, s.StallPrints[n] = s.Edges.With(n, round+1), n
				}
				t.record(j, &fsm.Batch{Snapshot: s, Events: []fsm.Event{t.event(fsm.EventRoute, n, n)}})
			}
			t.memory(j.Run().ID, s)
		}
		t.close(j)
		t.memory(j.Run().ID, s)
	}},
	{"history can be read from any number on", func(t *T) {
		j := t.create("fix")
		for n := 1; n <= 5; n++ {
			t.record(j, t.enter(snap("fix", n)))
			t.record(j, t.output(fmt.Sprint(n)))
		}
		t.close(j)
		all := t.events(j.Run().ID, 0)
		for after := range len(all) + 2 {
			got := t.events(j.Run().ID, uint64(after))
			if len(got) != max(0, len(all)-after) {
				t.Errorf("%d events after %d of %d", len(got), after, len(all))
			}
			for i, e := range got {
				if string(e.AppendJSON(nil)) != string(all[after+i].AppendJSON(nil)) {
					t.Errorf("after %d: event %d is %s", after, i+1, e.AppendJSON(nil))
				}
			}
		}
	}},
	{"reading ends when it is told to, and says why", func(t *T) {
		id := t.crashed("fix", 3)
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.ctx)
		defer cancel(nil)
		n := 0
		var last error
		for _, err := range t.S.Events(ctx, id, 0) {
			if last = err; err != nil {
				break
			}
			if n++; n == 2 {
				cancel(why)
			}
		}
		if n != 2 || !errors.Is(last, why) {
			t.Errorf("%d events, then %v", n, last)
		}
	}},
	{"one run's history is not another's", func(t *T) {
		loops := []string{"a", "a-b", "a-20261121T103405", "a.b", "A"}
		var open []persistence.Journal
		for range 2 {
			for _, l := range loops {
				open = append(open, t.create(l))
			}
		}
		for n := 1; n <= 3; n++ {
			for i, j := range open {
				s := snap(j.Run().Loop, n)
				s.Current = fmt.Sprint(i)
				t.record(j, t.enter(s))
			}
		}
		for i, j := range open {
			t.close(j)
			if s, err := t.S.Snapshot(t.ctx, j.Run().ID); err != nil || s.Current != fmt.Sprint(i) ||
				s.Loop != loops[i%len(loops)] {
				t.Errorf("run %d (%s): %v, %+v", i, j.Run().ID, err, s)
			}
			events := t.events(j.Run().ID, 0)
			if len(events) != 6 || events[0].Get("state") != fmt.Sprint(i) {
				t.Errorf("run %d (%s): %d events, state %v", i, j.Run().ID, len(events), events[0].Get("state"))
			}
		}
	}},
	{"many runs at once, each whole", func(t *T) {
		var wg sync.WaitGroup
		for i := range 12 {
			spec := t.spec("fix")
			wg.Go(func() {
				j, err := t.S.Create(t.ctx, spec)
				if err != nil {
					t.Errorf("create: %v", err)
					return
				}
				for n := 1; n <= 5; n++ {
					s := snap("fix", n)
					s.Captured.Set("who", fmt.Sprint(i))
					b := &fsm.Batch{
						Snapshot: s, Checkpoint: n == 3,
						Events: []fsm.Event{
							{
								Kind: fsm.EventStateEnter, Time: start,
								Fields: []fsm.Field{{Key: "who", Value: fmt.Sprint(i)}},
							},
						},
					}
					if n == 5 {
						s.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndTerminal}
					}
					if err := j.Record(t.ctx, b); err != nil {
						t.Errorf("record: %v", err)
					}
				}
				if err := j.Close(t.ctx); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
		wg.Wait()
		who := map[any]bool{}
		for _, r := range t.runs(persistence.Query{}) {
			s, err := t.S.Snapshot(t.ctx, r.ID)
			if err != nil || s.Step != 5 || r.Status != persistence.Completed || !r.Archived {
				t.Errorf("%v, run %+v", err, r)
				continue
			}
			me, _ := s.Captured.Get("who")
			who[me] = true
			for i, e := range t.events(r.ID, 0) {
				if e.Seq != uint64(i+1) || e.Get("who") != me {
					t.Errorf("event %d of %s: %s", i+1, r.ID, e.AppendJSON(nil))
				}
			}
		}
		if len(who) != 12 {
			t.Errorf("%d runs, want 12", len(who))
		}
	}},
	{"of two who take a run over one wins, again and again", func(t *T) {
		id := t.crashed("fix", 1)
		for round := range 12 {
			won := make(chan persistence.Journal, 2)
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					j, _, err := t.S.Resume(t.ctx, id, t.spec("fix"))
					var held *persistence.HeldError
					switch {
					case err == nil:
						won <- j
					case !errors.As(err, &held) || held.ID != id:
						t.Errorf("resume: %v", err)
					}
				})
			}
			wg.Wait()
			if len(won) != 1 {
				t.Fatalf("round %d: %d won, want 1", round, len(won))
			}
			j := <-won
			t.record(j, t.enter(snap("fix", round+2)))
			t.close(j)
		}
	}},
}
