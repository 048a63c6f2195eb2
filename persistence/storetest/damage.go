package storetest

import (
	"errors"

	"loops/fsm"
	"loops/persistence"
)

var spoiling = []test{
	{"a spoilt event is reported and read over", func(t *T) {
		d := t.S.(EventSpoiler)
		id := t.crashed("fix", 3)
		t.must(d.SpoilEvent(id, 3))
		var seqs []uint64
		var damage *persistence.DamageError
		for e, err := range t.S.Events(t.ctx, id, 0) {
			if err != nil {
				if !errors.As(err, &damage) {
					t.Fatalf("error is %v, want a *DamageError", err)
				}
				continue
			}
			seqs = append(seqs, e.Seq)
		}
		if damage == nil || damage.File == "" || damage.What == "" {
			t.Fatalf("damage = %+v", damage)
		}
		if len(seqs) != 5 || seqs[4] != 6 {
			t.Fatalf("events %v", seqs)
		}
	}},
}

var damaging = []test{
	{"a spoilt state is rebuilt", func(t *T) {
		d := t.damager()
		j := t.create("fix")
		s := Filled("fix")
		s.Outcome = nil
		t.record(j, t.enter(s))
		s.Step++
		t.record(j, t.enter(s))
		t.close(j)
		id := j.Run().ID
		t.must(d.SpoilState(id))
		if r := t.one(id); r.Step != s.Step || r.File != "fix.yaml" || r.Options.Len() != 1 {
			t.Errorf("run = %+v", r)
		}
		t.memory(id, s)
		k, got := t.resume(id, "fix")
		t.same(got, s)
		t.record(k, t.ended(s, fsm.EndTerminal))
		t.close(k)
		if r := t.one(id); len(r.Damage) != 0 || r.Status != persistence.Completed {
			t.Errorf("run = %+v", r)
		}
	}},
	{"one damaged run does not hide others", func(t *T) {
		d := t.damager()
		a, b := t.crashed("a", 1), t.finished("b", fsm.EndTerminal)
		t.must(d.SpoilState(a))
		t.must(d.SpoilEvent(a, 2))
		if r := t.one(a); len(r.Damage) == 0 || r.Loop != "a" {
			t.Errorf("run = %+v", r)
		}
		if r := t.one(b); len(r.Damage) != 0 {
			t.Errorf("run = %+v", r)
		}
		_, err := t.S.Snapshot(t.ctx, a)
		var damage *persistence.DamageError
		if !errors.As(err, &damage) {
			t.Errorf("error is %v, want a *DamageError", err)
		}
	}},
	{"a torn batch is as if it never was", func(t *T) {
		d := t.damager()
		for _, cut := range []int64{1, 2, 30, 200} {
			id := t.crashed("fix", 3)
			t.must(d.CutEvents(id, cut))
			t.memory(id, snap("fix", 2))
			if n := len(t.events(id, 0)); n != 4 {
				t.Errorf("cut %d: %d events are shown, want 4", cut, n)
			}
			j, s := t.resume(id, "fix")
			t.same(s, snap("fix", 2))
			b := t.enter(snap("fix", 3))
			t.record(j, b)
			t.close(j)
			if b.Events[0].Seq != 5 {
				t.Errorf("cut %d: next number %d, want 5", cut, b.Events[0].Seq)
			}
			if n := len(t.events(id, 0)); n != 6 {
				t.Errorf("cut %d: %d events, want 6", cut, n)
			}
		}
	}},
}

func (t *T) damager() Damager { return t.S.(Damager) }

func (t *T) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
