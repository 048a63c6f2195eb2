package storetest

import (
	"slices"
	"time"

	"loops/fsm"
	"loops/persistence"
)

// steps are settings of the wall clock, against the start, in the order in which they happen.
var steps = []time.Duration{0, -time.Hour, 48 * time.Hour, -365 * 24 * time.Hour, time.Second, -time.Microsecond, 0}

// stepping is about a wall clock that is set back and forth. A store takes times as given, and decides nothing by them.
var stepping = []test{
	{"the clock steps while a run goes on", func(t *T) {
		j := t.create("fix")
		id := j.Run().ID
		var last *fsm.Snapshot
		for n, by := range steps {
			last = snap("fix", n+1)
			b := t.enter(last)
			for i := range b.Events {
				b.Events[i].Time = start.Add(by)
			}
			t.record(j, b)
		}
		check := func() {
			t.Helper()
			events := t.events(id, 0)
			if len(events) != 2*len(steps) {
				t.Fatalf("%d events, want %d", len(events), 2*len(steps))
			}
			for i, e := range events {
				if want := start.Add(steps[i/2]); e.Seq != uint64(i+1) || !e.Time.Equal(want) {
					t.Errorf("event %d has number %d and time %s, want %s", i+1, e.Seq, e.Time, want)
				}
			}
			if later := t.events(id, 3); len(later) != len(events)-3 || later[0].Seq != 4 {
				t.Errorf("%d events after the third", len(later))
			}
			t.memory(id, last)
			if r := t.one(id); !r.StartedAt.Equal(start) || r.Elapsed != last.Elapsed {
				t.Errorf("the run began at %s and took %s, want %s and %s", r.StartedAt, r.Elapsed, start, last.Elapsed)
			}
		}
		check()
		t.close(j)
		check()
	}},
	{"the clock steps between segments", func(t *T) {
		id := t.crashed("fix", 1)
		want := 2
		for n, by := range steps {
			if n%2 == 1 { // it is tidied up by a third clock
				t.must(t.S.Interrupt(t.ctx, id, start.Add(-by), "test"))
			}
			sp := t.spec("fix")
			sp.StartedAt = start.Add(by)
			j, s, err := t.S.Resume(t.ctx, id, sp)
			t.must(err)
			if took := time.Duration(n+1) * time.Second; s.Step != n+1 || s.Elapsed != took ||
				!s.StartedAt.Equal(start) {
				t.Fatalf("resumed at step %d after %s, begun %s; want %d, %s, %s", s.Step, s.Elapsed, s.StartedAt,
					n+1, took, start)
			}
			b := t.enter(snap("fix", n+2))
			for i := range b.Events {
				b.Events[i].Time = start.Add(by)
			}
			t.record(j, b)
			want += 2
			t.close(j)
			events := t.events(id, 0)
			for i, e := range events {
				if e.Seq != uint64(i+1) {
					t.Fatalf("event %d has number %d", i+1, e.Seq)
				}
			}
			if len(events) != want {
				t.Fatalf("%d events, want %d", len(events), want)
			}
		}
		if r := t.one(id); !r.StartedAt.Equal(start) {
			t.Errorf("the run began at %s, want %s", r.StartedAt, start)
		}
	}},
	{"the clock is set back to a second that has been", func(t *T) {
		seen := map[persistence.ID]bool{}
		for range 3 {
			for _, by := range steps {
				sp := t.spec("fix")
				sp.StartedAt = start.Add(by)
				j, err := t.S.Create(t.ctx, sp)
				t.must(err)
				id := j.Run().ID
				if seen[id] {
					t.Fatalf("two runs have the id %s", id)
				}
				seen[id] = true
				t.record(j, t.ended(snap("fix", 1), fsm.EndTerminal))
				t.close(j)
			}
		}
		if runs := t.runs(persistence.Query{}); len(runs) != len(seen) {
			t.Errorf("%d runs, want %d", len(runs), len(seen))
		}
	}},
	{"of runs that began in one second, those that began last come first, also where only some are wanted", func(t *T) {
		var order []persistence.ID
		var running persistence.Journal
		for n, loop := range []string{"earlier", "mid", "zeta", "alpha", "late", "beta"} {
			sp := t.spec(loop)
			sp.StartedAt = start.Add(time.Duration(n)*time.Millisecond + time.Second)
			if loop == "earlier" {
				sp.StartedAt = start
			}
			j, err := t.S.Create(t.ctx, sp)
			t.must(err)
			order = append([]persistence.ID{j.Run().ID}, order...)
			s := snap(sp.Loop, 1)
			s.StartedAt = sp.StartedAt
			if loop == "late" { // it is still running
				t.record(j, t.enter(s))
				running = j
				continue
			}
			t.record(j, t.ended(s, fsm.EndTerminal))
			t.close(j)
		}
		for _, f := range []persistence.Filter{
			{},
			{Since: start.Add(-time.Minute)},
			{Statuses: []persistence.Status{persistence.Completed, persistence.Running}},
		} {
			for skip := range order {
				for limit := range len(order) - skip + 1 {
					q := persistence.Query{Filter: f, Skip: skip, Limit: limit}
					want := order[skip:]
					if limit > 0 {
						want = want[:limit]
					}
					var got []persistence.ID
					for _, r := range t.runs(q) {
						got = append(got, r.ID)
					}
					if !slices.Equal(got, want) {
						t.Fatalf("of %v skip %d, limit %d: %v, want %v", f, skip, limit, got, want)
					}
				}
			}
		}
		t.close(running)
	}},
	{"the newest run is the one that began last, whatever the clock said", func(t *T) {
		var order []persistence.ID
		last := map[string]persistence.ID{}
		for n, by := range append([]time.Duration{0}, steps...) {
			sp := t.spec([]string{"alpha", "beta"}[n%2])
			sp.StartedAt = start.Add(by)
			j, err := t.S.Create(t.ctx, sp)
			t.must(err)
			s := snap(sp.Loop, 1)
			s.StartedAt = sp.StartedAt
			t.record(j, t.ended(s, fsm.EndTerminal))
			t.close(j)
			order, last[sp.Loop] = append([]persistence.ID{j.Run().ID}, order...), j.Run().ID
			list := func(q persistence.Query) (ids []persistence.ID) {
				for _, r := range t.runs(q) {
					ids = append(ids, r.ID)
				}
				return ids
			}
			if got := list(persistence.Query{}); !slices.Equal(got, order) {
				t.Fatalf("all are %v, want %v", got, order)
			}
			if got := list(persistence.Query{Limit: 1}); !slices.Equal(got, order[:1]) {
				t.Fatalf("the newest is %v, want %v", got, order[:1])
			}
			for loop, want := range last {
				if got := list(persistence.Query{Loop: loop, Last: true}); !slices.Equal(got, []persistence.ID{want}) {
					t.Fatalf("the newest of %s is %v, want %v", loop, got, want)
				}
			}
			if r := t.one(j.Run().ID); !r.StartedAt.Equal(sp.StartedAt) {
				t.Errorf("it began at %s, want %s", r.StartedAt, sp.StartedAt)
			}
		}
	}},
}
