package storetest

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
)

// inside is the memory of a run that is in a sub-loop of a sub-loop …, with the memories from outside to inside. Every
// one of them is running, at its own step.
func inside(loop string, depth int) (*fsm.Snapshot, []*fsm.Snapshot) {
	top := snap(loop, 1)
	all := []*fsm.Snapshot{top}
	for i := range depth {
		name := fmt.Sprintf("sub%d", i+1)
		s := snap(name, i+2)
		all[i].Child = &fsm.Child{Memory: s, Name: name, File: name + ".yaml", SHA256: "abc", Timeout: time.Minute}
		all = append(all, s)
	}
	return top, all
}

var nesting = []test{
	{"every field inside a sub-loop alone can change and be taken back", func(t *T) {
		for depth := testenv.Some(2, 1); depth <= 2; depth++ {
			loop := fmt.Sprintf("fix%d", depth)
			j := t.create(loop)
			top, all := inside(loop, depth)
			t.record(j, t.enter(top))
			full, empty := reflect.ValueOf(Filled("sub")).Elem(), reflect.ValueOf(snap("sub", 1)).Elem()
			in := reflect.ValueOf(all[depth]).Elem()
			for i := range in.NumField() {
				for _, from := range []reflect.Value{full, empty, full} {
					in.Field(i).Set(from.Field(i))
					t.record(j, &fsm.Batch{Snapshot: top, Events: []fsm.Event{t.event(fsm.EventRoute)}})
					t.memory(j.Run().ID, top)
					if t.Failed() {
						t.Fatalf("after a change of %s at depth %d", in.Type().Field(i).Name, depth)
					}
				}
			}
			t.close(j)
		}
	}},
	{"branches and items begin, change, end and are gone", func(t *T) {
		j := t.create("fix")
		top := snap("fix", 1)
		t.record(j, t.enter(top))
		begun := func(name string) *fsm.BranchMemory {
			return &fsm.BranchMemory{Name: name, Child: &fsm.Child{Memory: snap(name, 1), Name: name}}
		}
		ended := func(name string) *fsm.BranchMemory {
			return &fsm.BranchMemory{Name: name, End: value.NewMap("verdict", "yes", "output", name)}
		}
		one, two, three, four := begun("#1"), begun("#2"), begun("lint"), begun("#4")
		for i, list := range [][]*fsm.BranchMemory{
			{one},
			{one, two},
			{two},
			{two, three},
			{three, four},
			{ended("lint"), four},
			{ended("lint"), four, one},
			{four},
			{one, four},
			{four, one},
			{two},
			nil,
			{one, two, three},
			{two},
			{ended("#2")},
			{two},
			nil,
		} {
			top.Branches = list
			for _, b := range list {
				if b.Child != nil {
					b.Child.Memory.Step++
				}
			}
			t.record(j, &fsm.Batch{Snapshot: top, Events: []fsm.Event{t.event(fsm.EventRoute)}})
			if t.memory(j.Run().ID, top); t.Failed() {
				t.Fatalf("after change %d", i+1)
			}
		}
		t.close(j)
	}},
	{"every field of a sub-loop alone can change", func(t *T) {
		j := t.create("fix")
		top, _ := inside("fix", 1)
		t.record(j, t.enter(top))
		full, c := reflect.ValueOf(Filled("sub").Child).Elem(), reflect.ValueOf(top.Child).Elem()
		empty := reflect.ValueOf(&fsm.Child{Memory: snap("sub", 1)}).Elem()
		for i := range c.NumField() {
			for _, from := range []reflect.Value{full, empty, full} {
				c.Field(i).Set(from.Field(i))
				t.record(j, &fsm.Batch{Snapshot: top, Events: []fsm.Event{t.event(fsm.EventRoute)}})
				t.memory(j.Run().ID, top)
				if t.Failed() {
					t.Fatalf("after a change of %s", c.Type().Field(i).Name)
				}
			}
		}
		t.close(j)
	}},
	{"sub-loops come, go on, end and come again", func(t *T) {
		j := t.create("fix")
		top, _ := inside("fix", 0)
		visit := func(name string, n int) *fsm.Child {
			s := snap(name, 0)
			s.Phase, s.Attempt, s.StartedAt = fsm.PhasePending, 0, start.Add(time.Duration(n)*time.Minute)
			return &fsm.Child{Memory: s, Name: name}
		}
		messages := func(c *fsm.Child, l ...string) { c.Memory.Messages = append(c.Memory.Messages, l...) }
		for i, change := range []func(){
			func() { top.Child = visit("a", 1) },
			func() { top.Child.Memory.Step, top.Child.Memory.Phase = 1, fsm.PhaseActing },
			func() { messages(top.Child, "one", "two"); top.Child.Log = append(top.Child.Log, "x") },
			func() { top.Child.Memory.Child = visit("b", 2); top.Child.Log = append(top.Child.Log, "y", "z") },
			func() { messages(top.Child.Memory.Child, "deep") },
			func() { top.Child.Memory.Captured.Set("k", value.NewMap("output", "v")); top.Child.Memory.Child = nil },
			func() { top.Child.Memory.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndTerminal, FinalState: "end"} },
			func() { top.Child = nil },
			func() { top.Child = visit("a", 3) }, // the same loop again
			func() { messages(top.Child, "other", "words"); top.Child.Log = []string{"u"} },
			// and again, in one go
			func() { top.Child = visit("a", 4); messages(top.Child, "same", "count"); top.Child.Log = []string{"v"} },
			func() { top.Child = visit("b", 4) },
			func() { top.Child.Memory.Child = visit("b", 4) },
			func() { top.Child.Memory.Child = visit("a", 4) },
			func() { *top = *snap("fix", 2) },
		} {
			change()
			t.record(j, &fsm.Batch{Snapshot: top, Events: []fsm.Event{t.event(fsm.EventRoute)}})
			t.memory(j.Run().ID, top)
			if t.Failed() {
				t.Fatalf("after change %d", i+1)
			}
		}
		t.close(j)
	}},
	{"a run goes on inside its sub-loop", func(t *T) {
		j := t.create("fix")
		top, all := inside("fix", 3)
		t.record(j, t.enter(top))
		all[3].Captured.Set("k", value.NewMap("output", "v"))
		t.record(j, t.enter(top))
		t.close(j)
		for range 3 { // dead, interrupted, ended
			k, got := t.resume(j.Run().ID, "fix")
			t.same(got, top)
			got.Child.Memory.Child.Memory.Child.Memory.Step++
			all[3].Step++
			t.record(k, t.enter(got))
			t.memory(j.Run().ID, top)
			if all[3].Step == 6 {
				got.Outcome, all[0].Outcome = &fsm.Outcome{TerminatedBy: fsm.EndInterrupted},
					&fsm.Outcome{TerminatedBy: fsm.EndInterrupted}
				t.record(k, &fsm.Batch{
					Snapshot: got, Checkpoint: true,
					Events: []fsm.Event{t.event(fsm.EventLoopComplete)},
				})
			}
			t.close(k)
			if all[3].Step == 5 {
				t.must(t.S.Interrupt(t.ctx, j.Run().ID, start, "test"))
			}
		}
		k, got := t.resume(j.Run().ID, "fix")
		t.same(got, top)
		t.close(k)
	}},
	{"sub-loops as deep as they may be", func(t *T) {
		j := t.create("fix")
		top, all := inside("fix", fsm.MaxDepth)
		t.record(j, t.enter(top))
		for n := range 3 {
			all[len(all)-1].Messages = append(all[len(all)-1].Messages, fmt.Sprint(n))
			t.record(j, t.enter(top))
			t.memory(j.Run().ID, top)
		}
		t.close(j)
		t.memory(j.Run().ID, top)
	}},
	{"large texts inside a sub-loop survive", func(t *T) {
		j := t.create("fix")
		big := strings.Repeat("0123456789abcde\n", 20_000)
		top, all := inside("fix", 2)
		all[2].Captured.Set("big", value.NewMap("output", big))
		all[1].Result, all[1].Phase = &fsm.Result{Stdout: big[1:]}, fsm.PhaseActed
		all[1].Messages = []string{big[2:]}
		all[1].Child.Log = []string{big[3:]}
		t.record(j, t.enter(top))
		t.memory(j.Run().ID, top)
		all[1].Child.Log = append(all[1].Child.Log, "small", big[4:])
		t.record(j, t.enter(top))
		t.close(j)
		k, got := t.resume(j.Run().ID, "fix")
		t.same(got, top)
		t.close(k)
	}},
	{"long logs of sub-loops survive", func(t *T) {
		j := t.create("fix")
		top, all := inside("fix", 3)
		line := strings.Repeat(`{"event": "route"} `, 20)
		for n := range 200 {
			all[2].Step = n + 1
			all[0].Child.Log = append(all[0].Child.Log, fmt.Sprint(n, line))
			if n%3 == 0 {
				all[1].Child.Log = append(all[1].Child.Log, fmt.Sprint(n, line))
			}
			t.record(j, &fsm.Batch{Snapshot: top, Checkpoint: n%2 == 0, Events: []fsm.Event{t.event(fsm.EventRoute)}})
			if n%10 == 0 {
				t.memory(j.Run().ID, top)
			}
			if n%50 == 9 {
				t.close(j)
				if n == 109 {
					t.must(t.S.Interrupt(t.ctx, j.Run().ID, start, "test"))
				}
				var got *fsm.Snapshot
				j, got = t.resume(j.Run().ID, "fix")
				t.same(got, top)
			}
		}
		t.record(j, t.ended(top, fsm.EndInterrupted))
		t.close(j)
		t.memory(j.Run().ID, top)
		j, got := t.resume(j.Run().ID, "fix")
		t.same(got, top)
		t.close(j)
	}},
	{"what the store keeps of a sub-loop is not what the machine goes on changing", func(t *T) {
		j := t.create("fix")
		top, all := inside("fix", 2)
		*all[2] = *Filled("sub2")
		t.record(j, t.enter(top))
		want, err := t.S.Snapshot(t.ctx, j.Run().ID)
		t.must(err)
		for _, s := range all[1:] {
			s.Captured.Set("late", "x")
			s.Current, s.Retries, s.Result = "late", map[string]int{"late": 9}, nil
		}
		all[2].Edges = all[2].Edges.With("late", 9)
		all[2].StallRing[0].State = "late"
		top.Child.Name, top.Child.Timeout = "late", 0
		all[1].Child.Log = append(all[1].Child.Log, "late")
		all[1].Child = nil
		t.memory(j.Run().ID, want)
		lent, err := t.S.Snapshot(t.ctx, j.Run().ID)
		t.must(err)
		lent.Child.Memory.Captured.Set("later", "x")
		lent.Child.Memory.Child.Memory.Edges = value.Counts{}
		t.memory(j.Run().ID, want)
		t.close(j)
		t.memory(j.Run().ID, want)
	}},
	{"two who were lent the memory of a sub-loop do not write into each other's", func(t *T) {
		j := t.create("fix")
		top, _ := inside("fix", 1)
		top.Child.Log, top.Child.Memory.Messages = append(make([]string, 0, 8), "a"), append(make([]string, 0, 8), "a")
		t.record(j, t.enter(top))
		t.close(j)
		one, err := t.S.Snapshot(t.ctx, j.Run().ID)
		t.must(err)
		k, two := t.resume(j.Run().ID, "fix")
		for _, s := range []*fsm.Snapshot{one, two, top} {
			s.Child.Log = append(s.Child.Log, s.Current)
			s.Child.Memory.Messages = append(s.Child.Memory.Messages, s.Current)
			s.Current = "other"
		}
		for _, s := range []*fsm.Snapshot{one, two, top} {
			s.Child.Log[1] += " of its own"
		}
		for _, s := range []*fsm.Snapshot{one, two, top} {
			if got := s.Child.Log[1]; got != "s1 of its own" {
				t.Errorf("log = %q", got)
			}
		}
		t.close(k)
	}},
}
