package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
)

// What a store knows of what runs remembered earlier, and of where they come from.
var rewinding = []test{
	{"what a run remembered is known on both sides of every event", func(t *T) {
		j := t.create("fix")
		id := j.Run().ID
		steps := testenv.Some(12, 40)
		at := []uint64{0} // of the memory of each step
		for n := 1; n <= steps; n++ {
			t.record(j, t.enter(remembering40(n)))
			at = append(at, uint64(len(t.events(id, 0))))
			t.record(j, t.output("one", "two"))
		}
		check := func() {
			t.Helper()
			n := 0 // the step of the last memory before the event
			for seq := uint64(1); seq <= at[steps]+3; seq++ {
				for n < steps && at[n+1] < seq {
					n++
				}
				t.around(id, seq, at, n)
			}
		}
		check()
		t.close(j)
		t.must(t.S.Interrupt(t.ctx, id, start, "killed"))
		check()
		j, s := t.resume(id, "fix") // back from the archive
		t.record(j, t.ended(s, fsm.EndTerminal))
		t.close(j)
		before, after := t.sides(id, at[steps]+3)
		if before.Memory.Step != steps || before.Seq > at[steps]+2 || after.Seq != at[steps]+3 ||
			after.Memory.Outcome == nil {
			t.Errorf("before the end %d, behind it %d, %+v", before.Seq, after.Seq, after.Memory)
		}
	}},
	{"what a run remembered of a sub-loop is known", func(t *T) {
		j := t.create("fix")
		id := j.Run().ID
		inner := snap("inner", 1)
		outer := snap("fix", 1)
		t.record(j, t.enter(outer))
		outer.Child = &fsm.Child{
			Memory: inner, Name: "inner", File: "inner.yaml",
			Log: []string{strings.Repeat("x", 9000)},
		}
		t.record(j, t.enter(outer))
		outer.Child.Log = append(outer.Child.Log, "y")
		t.record(j, t.enter(outer))
		t.close(j)
		before, after := t.sides(id, 5)
		if before.Memory == nil || len(before.Memory.Child.Log) != 1 || len(after.Memory.Child.Log) != 2 {
			t.Errorf("before %+v, after %+v", before, after)
		}
		if before, _ := t.sides(id, 3); before.Memory == nil || before.Memory.Child != nil {
			t.Errorf("before the sub-loop: %+v", before.Memory)
		}
	}},
	{"nothing is known of what an imported run remembered earlier", func(t *T) {
		from := &T{T: t.T, S: NewMemory(), ctx: t.ctx}
		defer from.S.Close()
		id := from.crashed("fix", 5)
		_, err := persistence.Copy(t.ctx, from.S, t.S, from.one(id))
		t.must(err)
		before, after := t.sides(id, 3)
		if before.Memory != nil || after.Seq != 10 && after.Memory != nil {
			t.Errorf("before %+v, behind it %+v", before, after)
		}
		if before, after = t.sides(id, 11); before.Seq != 10 || before.Memory.Step != 5 || after.Memory != nil {
			t.Errorf("before %+v, behind it %+v", before, after)
		}
	}},
	{"a run that is not there remembers nothing", func(t *T) {
		if _, _, err := t.S.Around(t.ctx, "fix-20261121T100000", 1); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("error is %v, want ErrNotFound", err)
		}
	}},
	{"a fork knows where it comes from for life", func(t *T) {
		origin := &persistence.Origin{ID: "fix-20261120T100000", RunID: "2026-11-20T100000", Step: 3, Seq: 17}
		spec := t.spec("fix")
		spec.Origin = origin
		j, err := t.S.Create(t.ctx, spec)
		t.must(err)
		id := j.Run().ID
		want := func(r persistence.Run) {
			t.Helper()
			if !reflect.DeepEqual(r.Origin, origin) {
				t.Fatalf("it comes from %v", r.Origin)
			}
		}
		want(j.Run())
		t.record(j, t.enter(snap("fix", 3)))
		t.close(j)
		want(t.one(id))
		t.must(t.S.Interrupt(t.ctx, id, start, "killed"))
		want(t.one(id))
		j, s := t.resume(id, "fix")
		want(j.Run())
		t.record(j, t.ended(s, fsm.EndTerminal))
		t.close(j)
		run := t.one(id)
		want(run)
		to := NewMemory()
		defer to.Close()
		_, err = persistence.Copy(t.ctx, t.S, to, run)
		t.must(err)
		t.must(t.S.Remove(t.ctx, id))
		runs, err := to.Runs(t.ctx, persistence.Query{})
		t.must(err)
		_, err = persistence.Copy(t.ctx, to, t.S, runs[0])
		t.must(err)
		want(t.one(id))
	}},
}

// remembering40 is the memory at a step, with what grows, shrinks, is large and changes its place.
func remembering40(n int) *fsm.Snapshot {
	s := snap("fix", n)
	s.Captured = value.NewMap("out", value.NewMap("output", fmt.Sprint(n), "exit_code", int64(0)))
	if n%7 > 3 {
		s.Captured = value.NewMap("first", value.NewMap("output", strings.Repeat("é", 40<<10+n%3)), "out",
			value.NewMap("output", fmt.Sprint(n)))
	}
	s.Messages = make([]string, n%5)
	s.Retries = map[string]int{"a": n % 3}
	s.PrevResult = value.NewMap("output", strings.Repeat("x", 8000), "state", fmt.Sprint(n))
	return s
}

func (t *T) sides(id persistence.ID, seq uint64) (before, after persistence.Moment) {
	t.Helper()
	before, after, err := t.S.Around(t.ctx, id, seq)
	if err != nil {
		t.Fatalf("around event %d of %s: %v", seq, id, err)
	}
	return before, after
}

// around wants the memory of step n before an event, and that of step n+1 with it or after it; or, in between, again
// what was remembered last.
func (t *T) around(id persistence.ID, seq uint64, at []uint64, n int) {
	t.Helper()
	before, after := t.sides(id, seq)
	switch last := n == len(at)-1; {
	case (before.Memory == nil) != (n == 0), before.Seq < at[n], before.Memory != nil && before.Seq >= seq:
		t.Fatalf("before event %d: memory at event %d, want that of step %d at event %d", seq, before.Seq, n, at[n])
	case after.Memory == nil && !last, after.Memory != nil && after.Seq < seq, !last && after.Seq > at[n+1]:
		t.Fatalf("behind event %d: memory at event %d, want that of step %d", seq, after.Seq, n+1)
	}
	for _, m := range []persistence.Moment{before, after} {
		if m.Memory == nil {
			continue
		}
		k := n
		for k+1 < len(at) && at[k+1] <= m.Seq {
			k++
		}
		t.same(m.Memory, remembering40(k))
	}
}
