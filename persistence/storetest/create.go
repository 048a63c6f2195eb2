package storetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"loops/fsm"
	"loops/persistence"
)

var creating = []test{
	{"an empty store lists nothing", func(t *T) {
		if rs := t.runs(persistence.Query{}); len(rs) != 0 {
			t.Fatalf("runs = %v, want none", rs)
		}
	}},
	{"a run is not listed before its first record", func(t *T) {
		j := t.create("fix")
		if rs := t.runs(persistence.Query{}); len(rs) != 0 {
			t.Fatalf("runs = %v, want none", rs)
		}
		t.record(j, t.enter(snap("fix", 1)))
		if rs := t.runs(persistence.Query{}); len(rs) != 1 {
			t.Fatalf("%d runs, want 1", len(rs))
		}
		t.close(j)
	}},
	{"a run without a record leaves nothing", func(t *T) {
		j := t.create("fix")
		dir := j.Dir()
		t.close(j)
		if _, err := os.Stat(dir); err == nil {
			t.Fatalf("%s is still there", dir)
		}
		_, err := t.S.Snapshot(t.ctx, "fix-20261121T103405")
		t.is(err, persistence.ErrNotFound)
	}},
	{"the id is the loop and the second in UTC", func(t *T) {
		spec := t.spec("fix")
		spec.StartedAt = start.In(time.FixedZone("east", 9*3600))
		j, err := t.S.Create(t.ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		defer t.close(j)
		if r := j.Run(); r.ID != "fix-20261121T103405" || r.RunID != "2026-11-21T103405" {
			t.Fatalf("id %s, run id %s", r.ID, r.RunID)
		}
	}},
	{"ids are unique within one second", func(t *T) {
		seen := map[persistence.ID]bool{}
		for range 5 {
			id := t.finished("fix", fsm.EndTerminal)
			if seen[id] {
				t.Fatalf("%s twice", id)
			}
			seen[id] = true
		}
	}},
	{"a run gets the id that it is to have, once", func(t *T) {
		spec := t.spec("fix")
		spec.ID = "fix-20261121T030000"
		j, err := t.S.Create(t.ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		if r := j.Run(); r.ID != spec.ID || r.RunID != "2026-11-21T030000" {
			t.Fatalf("id %s, run id %s", r.ID, r.RunID)
		}
		_, err = t.S.Create(t.ctx, spec)
		t.is(err, persistence.ErrTaken) // it is being made
		t.record(j, t.enter(snap("fix", 1)))
		_, err = t.S.Create(t.ctx, spec)
		t.is(err, persistence.ErrTaken) // it is running
		t.record(j, t.ended(snap("fix", 2), fsm.EndTerminal))
		t.close(j)
		_, err = t.S.Create(t.ctx, spec)
		t.is(err, persistence.ErrTaken) // it ended
	}},
	{"an id whose run was never recorded can be had", func(t *T) {
		spec := t.spec("fix")
		spec.ID = "fix-20261121T030000"
		for range 2 {
			j, err := t.S.Create(t.ctx, spec)
			if err != nil {
				t.Fatal(err)
			}
			t.close(j)
		}
	}},
	{"an id of another loop cannot be had", func(t *T) {
		for _, id := range []persistence.ID{"other-20261121T030000", "fix", "fix-2026", "../fix-20261121T030000"} {
			spec := t.spec("fix")
			spec.ID = id
			if _, err := t.S.Create(t.ctx, spec); err == nil {
				t.Errorf("a run of fix is %s", id)
			}
		}
	}},
	{"of many who create one id one does", func(t *T) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var made []persistence.Journal
		spec := t.spec("fix")
		spec.ID = "fix-20261121T030000"
		for range 8 {
			wg.Go(func() {
				j, err := t.S.Create(t.ctx, spec)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made = append(made, j)
				} else if !errors.Is(err, persistence.ErrTaken) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(made) != 1 {
			t.Errorf("%d made it, want 1", len(made))
		}
		for _, j := range made {
			t.close(j)
		}
	}},
	{"concurrent creates get runs of their own", func(t *T) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[persistence.ID]int{}
		for range 8 {
			wg.Go(func() {
				j, err := t.S.Create(t.ctx, t.spec("fix"))
				if err != nil {
					t.Errorf("create: %v", err)
					return
				}
				mu.Lock()
				seen[j.Run().ID]++
				mu.Unlock()
				if err := j.Close(t.ctx); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
		wg.Wait()
		// A closed run without a record may give its name back, so only names held at once must differ.
		if len(seen) == 0 {
			t.Fatal("no run was made")
		}
	}},
	{"runs held at once have different ids and folders", func(t *T) {
		dirs := map[string]bool{}
		for range 6 {
			j := t.create("fix")
			t.record(j, t.enter(snap("fix", 1)))
			if dirs[j.Dir()] || !filepath.IsAbs(j.Dir()) {
				t.Fatalf("folder %s", j.Dir())
			}
			dirs[j.Dir()] = true
			if st, err := os.Stat(j.Dir()); err != nil || !st.IsDir() {
				t.Fatalf("folder %s: %v", j.Dir(), err)
			}
			defer t.close(j)
		}
	}},
	{"a run needs the name of a loop", func(t *T) {
		if _, err := t.S.Create(t.ctx, persistence.Spec{}); err == nil {
			t.Fatal("no error")
		}
	}},
	{"what was specified is listed", func(t *T) {
		id := t.crashed("fix", 2)
		r := t.one(id)
		if r.Loop != "fix" || r.File != "fix.yaml" || r.SHA256 != "abc" || r.MaxSteps != 50 ||
			!r.StartedAt.Equal(start) {
			t.Errorf("run = %+v", r)
		}
		if v, _ := r.Options.Get("max_steps"); v != int64(50) {
			t.Errorf("options = %v", v)
		}
		if r.State != "s2" || r.Step != 2 || r.Elapsed != 2*time.Second || r.Status != persistence.Running {
			t.Errorf("run = %+v", r)
		}
	}},
	{"a run that is owned is held", func(t *T) {
		j := t.create("fix")
		t.record(j, t.enter(snap("fix", 1)))
		if r := t.one(j.Run().ID); !r.Held || r.Archived || r.Owner.PID != os.Getpid() {
			t.Errorf("run = %+v", r)
		}
		t.close(j)
		if r := t.one(j.Run().ID); r.Held || r.Archived || r.Status != persistence.Running || !r.Resumable {
			t.Errorf("run = %+v", r)
		}
	}},
	{"the marker names the action in flight", func(t *T) {
		id := t.crashed("fix", 3)
		if r := t.one(id); r.Marker != "0/"+string(id)+"/3/1" {
			t.Errorf("marker = %q", r.Marker)
		}
		if r := t.one(t.finished("b", fsm.EndTerminal)); r.Marker != "" {
			t.Errorf("marker = %q, want none", r.Marker)
		}
	}},
	{"the marker of an action inside sub-loops names the way to it", func(t *T) {
		j := t.create("fix")
		id := j.Run().ID
		top, all := inside("fix", 2)
		all[1].Step, all[1].Attempt, all[2].Step, all[2].Attempt = 5, 2, 7, 3
		for _, c := range []struct {
			name   string
			change func()
			want   string
		}{
			{"acting", func() {}, "0/" + string(id) + "/1/1/5/2/7/3"},
			{"chosen", func() { all[2].Phase = fsm.PhasePending }, ""},
			{"acted", func() { all[2].Phase, all[2].Result = fsm.PhaseActed, &fsm.Result{} }, ""},
			{"the sub-loop has ended", func() {
				all[2].Phase, all[2].Result, all[2].Outcome = fsm.PhaseActing, nil,
					&fsm.Outcome{TerminatedBy: fsm.EndTimeout}
			}, ""},
			{"a sub-loop is about to begin", func() {
				all[1].Child = &fsm.Child{Memory: &fsm.Snapshot{Phase: fsm.PhasePending, Current: "a"}}
			}, "0/" + string(id) + "/1/1/5/2"},
			{"outside again", func() { all[1].Child = nil }, "0/" + string(id) + "/1/1/5/2"},
			{"the outermost acts", func() { all[0].Child = nil }, "0/" + string(id) + "/1/1"},
		} {
			c.change()
			t.record(j, t.enter(top))
			for _, r := range []persistence.Run{t.one(id), j.Run()} {
				if r.Marker != c.want {
					t.Errorf("%s: marker = %q, want %q", c.name, r.Marker, c.want)
				}
			}
		}
		t.close(j)
	}},
	{"the marker of an action that is done again is another one", func(t *T) {
		id := t.crashed("fix", 3)
		for segment := 1; segment <= 2; segment++ {
			j, s := t.resume(id, "fix")
			if r := j.Run(); r.Segment != segment {
				t.Errorf("segment = %d, want %d", r.Segment, segment)
			}
			t.record(j, t.enter(s))
			t.close(j)
			if r, want := t.one(id), fmt.Sprintf("%d/%s/3/1", segment, id); r.Marker != want {
				t.Errorf("marker = %q, want %q", r.Marker, want)
			}
		}
	}},
}
