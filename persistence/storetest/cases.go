package storetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/fsm"
	"loops/persistence"
)

var cases = []struct {
	name string
	run  func(t *T)
}{
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
		if r.Loop != "fix" || r.File != "fix.yaml" || r.SHA256 != "abc" || r.MaxSteps != 50 || !r.StartedAt.Equal(start) {
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
		if r := t.one(id); r.Marker != string(id)+"/3/1" {
			t.Errorf("marker = %q", r.Marker)
		}
		if r := t.one(t.finished("b", fsm.EndTerminal)); r.Marker != "" {
			t.Errorf("marker = %q, want none", r.Marker)
		}
	}},
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
		b.Events[1].Fields = append(b.Events[1].Fields, fsm.Field{Key: "m", Value: fsm.NewMap("memory", fsm.NewMap("a", nil), "é\n", []any{int64(1), 2.5, true})})
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
		for range t.S.Events(t.ctx, id, 0) {
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
		t.record(j, &fsm.Batch{Events: []fsm.Event{t.event("heartbeat"), t.event("warning")}})
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
				t.record(j, &fsm.Batch{Snapshot: &s, Events: []fsm.Event{t.event("route")}})
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
		rec := func(out any) *fsm.Map { return fsm.NewMap("output", out, "timeout_kind", nil, "exit_code", int64(0)) }
		for _, change := range []func(){
			func() { s.Captured.Set("a", rec("1")); s.Edges = map[string]int{"a->b": 1} },
			func() { s.Captured.Set("b", rec("2")); s.Edges["b->a"] = 1; s.Edges["a->b"] = 2 },
			func() { s.Captured.Set("a", fsm.NewMap("output", nil)); delete(s.Edges, "a->b") },
			func() { s.Captured.Delete("a"); s.Edges = nil },
			func() { s.Captured.Set("a", rec("again")); s.Context.Set("none", nil) },
			func() { s.Context.Delete("input") },
			func() { s.Captured = fsm.NewMap("b", rec("2"), "a", rec("again"), "c", rec("3")) },
			func() { s.PrevResult = rec("x"); s.Messages = append(s.Messages, "one") },
			func() { s.PrevResult = nil; s.Messages = append(s.Messages, "two", "three") },
			func() { s.Evaluators = map[string]fsm.Repeat{"e": {Hash: "h", Count: 1}} },
			func() { s.Evaluators["e"] = fsm.Repeat{Hash: "h", Count: 2, Seen: true} },
			func() { delete(s.Evaluators, "e") },
			func() { s.StallRing = append(s.StallRing, fsm.StallRecord{State: "a", ExitCode: 1, Verdict: "no"}) },
			func() { s.StallRing = s.StallRing[:0] },
		} {
			change()
			t.record(j, &fsm.Batch{Snapshot: s, Events: []fsm.Event{t.event("route")}})
			t.memory(j.Run().ID, s)
		}
		t.close(j)
		t.memory(j.Run().ID, s)
	}},
	{"large texts survive", func(t *T) {
		j := t.create("fix")
		s := snap("fix", 1)
		big := strings.Repeat("0123456789abcde\n", 20_000)
		s.Captured.Set("big", fsm.NewMap("output", big, "stderr", big[1:]))
		s.PrevResult = fsm.NewMap("output", big)
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
		for i := range 2000 {
			s.Step = i + 1
			s.Captured.Set(fmt.Sprintf("c%d", i%7), fsm.NewMap("output", strings.Repeat("x", i%997)))
			t.record(j, &fsm.Batch{Snapshot: s, Events: []fsm.Event{t.event("route")}})
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
	{"an ended run is archived", func(t *T) {
		for _, by := range []string{fsm.EndTerminal, fsm.EndInterrupted, fsm.EndHandoff, fsm.EndTimeout, fsm.EndError, fsm.EndMaxSteps, fsm.EndUserStopped} {
			id := t.finished("fix-"+strings.ReplaceAll(by, "_", "-"), by)
			r := t.one(id)
			want := persistence.StatusOf(fsm.Outcome{TerminatedBy: by})
			if !r.Archived || r.Held || r.Status != want || r.Ended != by || r.Resumable != want.Resumable() {
				t.Errorf("%s: run = %+v", by, r)
			}
		}
		if rs := t.runs(persistence.Query{Live: true}); len(rs) != 0 {
			t.Errorf("live: %v", rs)
		}
	}},
	{"a failure terminal is a failed run", func(t *T) {
		j := t.create("fix")
		b := t.ended(snap("fix", 1), fsm.EndTerminal)
		b.Snapshot.Outcome.Failure = true
		b.Snapshot.Outcome.Error = "why"
		t.record(j, b)
		t.close(j)
		if r := t.one(j.Run().ID); r.Status != persistence.Failed || r.Error != "why" {
			t.Errorf("run = %+v", r)
		}
	}},
	{"an archived run keeps memory and history", func(t *T) {
		j := t.create("fix")
		s := Filled("fix")
		s.Outcome = nil
		t.record(j, t.enter(s))
		t.record(j, t.ended(s, fsm.EndTerminal))
		t.close(j)
		t.memory(j.Run().ID, s)
		if n := len(t.events(j.Run().ID, 0)); n != 3 {
			t.Errorf("%d events, want 3", n)
		}
	}},
	{"a run goes on where it was", func(t *T) {
		id := t.crashed("fix", 2)
		j, s := t.resume(id, "fix")
		t.same(s, snap("fix", 2))
		if j.Run().ID != id {
			t.Errorf("id %s, want %s", j.Run().ID, id)
		}
		b := t.enter(snap("fix", 3))
		t.record(j, b)
		if b.Events[0].Seq != 5 {
			t.Errorf("first new event has number %d, want 5", b.Events[0].Seq)
		}
		t.record(j, t.ended(snap("fix", 3), fsm.EndTerminal))
		t.close(j)
		if rs := t.runs(persistence.Query{}); len(rs) != 1 || rs[0].Status != persistence.Completed || rs[0].ID != id {
			t.Errorf("runs = %+v", rs)
		}
		if n := len(t.events(id, 0)); n != 7 {
			t.Errorf("%d events, want 7", n)
		}
	}},
	{"a run comes back from the archive and goes there again", func(t *T) {
		id := t.finished("fix", fsm.EndInterrupted)
		before := t.one(id)
		for range 3 {
			j, s := t.resume(id, "fix")
			if s.Outcome == nil || s.Outcome.TerminatedBy != fsm.EndInterrupted {
				t.Fatalf("outcome = %+v", s.Outcome)
			}
			s.Outcome = nil
			t.record(j, t.enter(s))
			if rs := t.runs(persistence.Query{}); len(rs) != 1 || rs[0].Archived || rs[0].Status != persistence.Running {
				t.Fatalf("runs while it goes on = %+v", rs)
			}
			t.record(j, t.ended(s, fsm.EndInterrupted))
			t.close(j)
		}
		rs := t.runs(persistence.Query{})
		if len(rs) != 1 || rs[0].ID != id || rs[0].RunID != before.RunID || !rs[0].Archived {
			t.Errorf("runs = %+v", rs)
		}
	}},
	{"taking over and recording nothing changes nothing", func(t *T) {
		id := t.crashed("fix", 2)
		j, _ := t.resume(id, "fix")
		t.close(j)
		t.memory(id, snap("fix", 2))
		if n := len(t.events(id, 0)); n != 4 {
			t.Errorf("%d events, want 4", n)
		}
	}},
	{"new options and limits hold, old ones stay", func(t *T) {
		id := t.crashed("fix", 1)
		spec := t.spec("fix")
		spec.Options, spec.MaxSteps = nil, 0
		j, _, err := t.S.Resume(t.ctx, id, spec)
		if err != nil {
			t.Fatal(err)
		}
		if r := j.Run(); r.MaxSteps != 50 || r.Options.Len() != 1 {
			t.Errorf("run = %+v", r)
		}
		t.close(j)
		spec.Options, spec.MaxSteps = fsm.NewMap("delay", 2.0), 70
		j, _, err = t.S.Resume(t.ctx, id, spec)
		if err != nil {
			t.Fatal(err)
		}
		t.record(j, t.enter(snap("fix", 2)))
		t.close(j)
		if v, _ := t.one(id).Options.Get("delay"); v != 2.0 || t.one(id).MaxSteps != 70 {
			t.Errorf("run = %+v", t.one(id))
		}
	}},
	{"a live run is not taken over", func(t *T) {
		j := t.create("fix")
		t.record(j, t.enter(snap("fix", 1)))
		id := j.Run().ID
		_, _, err := t.S.Resume(t.ctx, id, t.spec("fix"))
		t.isHeld(err)
		t.isHeld(t.S.Interrupt(t.ctx, id, start, "test"))
		t.isHeld(t.S.Archive(t.ctx, id))
		t.close(j)
	}},
	{"of many who take a run over one wins", func(t *T) {
		id := t.crashed("fix", 1)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var won []persistence.Journal
		for range 6 {
			wg.Go(func() {
				j, _, err := t.S.Resume(t.ctx, id, t.spec("fix"))
				var held *persistence.HeldError
				if err != nil && !errors.As(err, &held) {
					t.Errorf("resume: %v", err)
				}
				if err == nil {
					mu.Lock()
					won = append(won, j)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d won, want 1", len(won))
		}
		t.close(won[0])
	}},
	{"a run that ended for good is not resumed", func(t *T) {
		for _, by := range []string{fsm.EndTerminal, fsm.EndError, fsm.EndTimeout} {
			id := t.finished(by, by)
			_, _, err := t.S.Resume(t.ctx, id, t.spec(by))
			var no *persistence.NotResumableError
			if !errors.As(err, &no) || no.ID != id {
				t.Errorf("%s: error is %v, want a *NotResumableError", by, err)
			}
			if r := t.one(id); !r.Archived {
				t.Errorf("%s: it has left the archive", by)
			}
		}
	}},
	{"an unknown run is not found", func(t *T) {
		for _, id := range []persistence.ID{"fix-20200101T000000", "fix", "../x-20200101T000000", ""} {
			_, _, err := t.S.Resume(t.ctx, id, t.spec("fix"))
			t.is(err, persistence.ErrNotFound)
			_, err = t.S.Snapshot(t.ctx, id)
			t.is(err, persistence.ErrNotFound)
			t.is(t.S.Interrupt(t.ctx, id, start, ""), persistence.ErrNotFound)
			t.is(t.S.Archive(t.ctx, id), persistence.ErrNotFound)
			for _, err := range t.S.Events(t.ctx, id, 0) {
				t.is(err, persistence.ErrNotFound)
			}
		}
	}},
	{"a dead run is interrupted and stays resumable", func(t *T) {
		id := t.crashed("fix", 2)
		at := start.Add(time.Hour)
		if err := t.S.Interrupt(t.ctx, id, at, "its process died"); err != nil {
			t.Fatal(err)
		}
		r := t.one(id)
		if r.Status != persistence.Interrupted || !r.Archived || !r.Resumable || !r.Reconciled.Equal(at) || r.Why != "its process died" || r.Owner.PID != 0 {
			t.Errorf("run = %+v", r)
		}
		t.memory(id, snap("fix", 2))
		t.is(t.S.Interrupt(t.ctx, id, at, ""), persistence.ErrNotFound)
		j, s := t.resume(id, "fix")
		t.same(s, snap("fix", 2))
		t.record(j, t.enter(snap("fix", 3)))
		if r := j.Run(); !r.Reconciled.IsZero() || r.Status != persistence.Running {
			t.Errorf("run = %+v", r)
		}
		t.close(j)
	}},
	{"archiving twice is once", func(t *T) {
		id := t.finished("fix", fsm.EndTerminal)
		if err := t.S.Archive(t.ctx, id); err != nil {
			t.Fatal(err)
		}
		if rs := t.runs(persistence.Query{}); len(rs) != 1 {
			t.Fatalf("runs = %v", rs)
		}
	}},
	{"a run that goes on is not archived", func(t *T) {
		id := t.crashed("fix", 1)
		if err := t.S.Archive(t.ctx, id); err == nil {
			t.Fatal("no error")
		}
		if r := t.one(id); r.Archived {
			t.Fatal("it was archived")
		}
	}},
	{"overlapping scopes conflict", func(t *T) {
		dir := t.TempDir()
		a := t.spec("a")
		a.Scope = []string{filepath.Join(dir, "src")}
		j, err := t.S.Create(t.ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			path string
			ok   bool
		}{
			{"src", false}, {"src/", false}, {"src/a", false}, {".", false}, {"/", false}, {"src/../src", false},
			{"src/*.py", false}, {"srcx", true}, {"lib", true},
		} {
			b := t.spec("b")
			b.Scope = []string{filepath.Join(dir, "other"), filepath.Join(dir, c.path)}
			if c.path == "/" {
				b.Scope = []string{"/"}
			}
			k, err := t.S.Create(t.ctx, b)
			var conflict *persistence.ConflictError
			switch {
			case c.ok && err != nil:
				t.Errorf("%s: %v", c.path, err)
			case !c.ok && !errors.As(err, &conflict):
				t.Errorf("%s: error is %v, want a *ConflictError", c.path, err)
			case !c.ok && (conflict.Holder != j.Run().ID || conflict.Loop != "a" || conflict.Owner.PID != os.Getpid()):
				t.Errorf("%s: %+v", c.path, conflict)
			}
			if err == nil {
				t.close(k)
			}
		}
		t.close(j)
		b := t.spec("b")
		b.Scope = a.Scope
		k, err := t.S.Create(t.ctx, b)
		if err != nil {
			t.Fatalf("after the holder let go: %v", err)
		}
		t.close(k)
	}},
	{"a symlink does not get around a scope", func(t *T) {
		dir := t.TempDir()
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "src"), 0o755), os.Symlink("src", filepath.Join(dir, "link"))); err != nil {
			t.Fatal(err)
		}
		a := t.spec("a")
		a.Scope = []string{filepath.Join(dir, "src", "new")}
		j, err := t.S.Create(t.ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		defer t.close(j)
		b := t.spec("b")
		b.Scope = []string{filepath.Join(dir, "link")}
		var conflict *persistence.ConflictError
		if _, err := t.S.Create(t.ctx, b); !errors.As(err, &conflict) {
			t.Fatalf("error is %v, want a *ConflictError", err)
		}
	}},
	{"a run without a scope conflicts with none", func(t *T) {
		a := t.spec("a")
		a.Scope = []string{"/"}
		j, err := t.S.Create(t.ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		k := t.create("b")
		t.close(k)
		t.close(j)
	}},
	{"runs started by an action share its scope", func(t *T) {
		a := t.spec("a")
		a.Scope = []string{t.TempDir()}
		j, err := t.S.Create(t.ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		b := t.spec("b")
		b.Scope, b.Ancestors = a.Scope, []persistence.ID{"x-20200101T000000", j.Run().ID}
		k, err := t.S.Create(t.ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		t.close(k)
		t.close(j)
	}},
	{"two singletons of one loop conflict", func(t *T) {
		a := t.spec("a")
		a.Singleton = true
		a.Scope = []string{filepath.Join(t.TempDir(), "a")}
		j, err := t.S.Create(t.ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		b := a
		b.Scope = []string{filepath.Join(t.TempDir(), "b")}
		var conflict *persistence.ConflictError
		if _, err := t.S.Create(t.ctx, b); !errors.As(err, &conflict) {
			t.Errorf("error is %v, want a *ConflictError", err)
		}
		b.Loop = "b"
		k, err := t.S.Create(t.ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		t.close(k)
		t.close(j)
	}},
	{"a resume takes the scope, too", func(t *T) {
		dir := t.TempDir()
		id := t.crashed("a", 1)
		b := t.spec("b")
		b.Scope = []string{dir}
		j, err := t.S.Create(t.ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		a := t.spec("a")
		a.Scope = []string{dir}
		var conflict *persistence.ConflictError
		if _, _, err := t.S.Resume(t.ctx, id, a); !errors.As(err, &conflict) {
			t.Errorf("error is %v, want a *ConflictError", err)
		}
		t.close(j)
		k, _, err := t.S.Resume(t.ctx, id, a)
		if err != nil {
			t.Fatalf("after the holder let go: %v", err)
		}
		if _, err := t.S.Create(t.ctx, b); !errors.As(err, &conflict) {
			t.Errorf("error is %v, want a *ConflictError", err)
		}
		t.close(k)
	}},
	{"newest first, by loop, with a limit", func(t *T) {
		var ids []persistence.ID
		for i := range 6 {
			spec := t.spec([]string{"a", "b", "a-b"}[i%3])
			spec.StartedAt = start.Add(time.Duration(i) * time.Minute)
			j, err := t.S.Create(t.ctx, spec)
			if err != nil {
				t.Fatal(err)
			}
			s := snap(spec.Loop, 1)
			s.StartedAt = spec.StartedAt
			t.record(j, t.enter(s))
			if i%2 == 0 {
				t.record(j, t.ended(s, fsm.EndTerminal))
			}
			ids = append([]persistence.ID{j.Run().ID}, ids...)
			t.close(j)
		}
		list := func(q persistence.Query) (l []persistence.ID) {
			for _, r := range t.runs(q) {
				l = append(l, r.ID)
			}
			return l
		}
		if got := list(persistence.Query{}); !slices.Equal(got, ids) {
			t.Errorf("all = %v, want %v", got, ids)
		}
		if got := list(persistence.Query{Limit: 2}); !slices.Equal(got, ids[:2]) {
			t.Errorf("two = %v, want %v", got, ids[:2])
		}
		if got, want := list(persistence.Query{Loop: "b"}), []persistence.ID{ids[1], ids[4]}; !slices.Equal(got, want) {
			t.Errorf("of b = %v, want %v", got, want)
		}
		if got, want := list(persistence.Query{Live: true}), []persistence.ID{ids[0], ids[2], ids[4]}; !slices.Equal(got, want) {
			t.Errorf("live = %v, want %v", got, want)
		}
		if got, want := list(persistence.Query{Loop: "a", Live: true, Limit: 1}), []persistence.ID{ids[2]}; !slices.Equal(got, want) {
			t.Errorf("live of a = %v, want %v", got, want)
		}
	}},
	{"odd names of loops come back", func(t *T) {
		for _, loop := range []string{"sub/n", "a b", "ünï", "x%2Fy", ".hidden", "x-20200101T000000", "a\\b", "..", "*"} {
			j := t.create(loop)
			t.record(j, t.enter(snap(loop, 1)))
			id := j.Run().ID
			if r := t.one(id); r.Loop != loop {
				t.Errorf("loop %q is listed as %q", loop, r.Loop)
			}
			if rs := t.runs(persistence.Query{Loop: loop}); len(rs) != 1 || rs[0].ID != id {
				t.Errorf("runs of %q = %v", loop, rs)
			}
			t.record(j, t.ended(snap(loop, 1), fsm.EndInterrupted))
			t.close(j)
			k, _ := t.resume(id, loop)
			t.close(k)
		}
	}},
}
