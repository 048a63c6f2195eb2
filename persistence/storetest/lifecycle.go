package storetest

import (
	"errors"
	"strings"
	"sync"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
)

var living = []test{
	{"an ended run is archived", func(t *T) {
		for _, by := range []string{
			fsm.EndTerminal, fsm.EndInterrupted, fsm.EndHandoff, fsm.EndTimeout, fsm.EndError,
			fsm.EndMaxSteps, fsm.EndUserStopped,
		} {
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
	{"a run whose rate limit lasted has failed and can go on", func(t *T) {
		j := t.create("fix")
		b := t.ended(snap("fix", 1), fsm.EndError)
		b.Snapshot.Outcome.Limited = true
		t.record(j, b)
		t.close(j)
		id := j.Run().ID
		if r := t.one(id); r.Status != persistence.Failed || !r.Limited || !r.Resumable {
			t.Errorf("run = %+v", r)
		}
		j, s := t.resume(id, "fix")
		if s.Outcome == nil || !s.Outcome.Limited {
			t.Errorf("outcome = %+v", s.Outcome)
		}
		t.record(j, t.ended(snap("fix", 2), fsm.EndError))
		t.close(j)
		if r := t.one(id); r.Limited || r.Resumable {
			t.Errorf("failed for another reason: run = %+v", r)
		}
	}},
	{"a run whose prompt failed for good has failed and can be resumed", func(t *T) {
		j := t.create("fix")
		b := t.ended(snap("fix", 1), fsm.EndError)
		b.Snapshot.Outcome.Refused = true
		t.record(j, b)
		t.close(j)
		id := j.Run().ID
		if r := t.one(id); r.Status != persistence.Failed || !r.Refused || r.Limited || !r.Resumable {
			t.Errorf("run = %+v", r)
		}
		j, s := t.resume(id, "fix")
		if s.Outcome == nil || !s.Outcome.Refused {
			t.Errorf("outcome = %+v", s.Outcome)
		}
		t.record(j, t.ended(snap("fix", 2), fsm.EndError))
		t.close(j)
		if r := t.one(id); r.Refused || r.Resumable {
			t.Errorf("failed for another reason: run = %+v", r)
		}
	}},
	{"a suspended run can be resumed, and says what it waits for until then", func(t *T) {
		j := t.create("fix")
		b := t.ended(snap("fix", 1), fsm.EndSuspended)
		o := b.Snapshot.Outcome
		o.Refused, o.SuspendedBy, o.Cause, o.Remedy = true, "claude", fsm.FailAuth, "log in"
		t.record(j, b)
		t.close(j)
		id := j.Run().ID
		if r := t.one(id); r.Status != persistence.Awaiting || r.Ended != fsm.EndSuspended ||
			r.SuspendedBy != "claude" || r.Remedy != "log in" || !r.Resumable {
			t.Errorf("run = %+v", r)
		}
		j, s := t.resume(id, "fix")
		if s.Outcome == nil || *s.Outcome != *o {
			t.Errorf("outcome = %+v, want %+v", s.Outcome, o)
		}
		t.record(j, t.enter(snap("fix", 2)))
		if r := t.one(id); r.SuspendedBy != "" || r.Remedy != "" {
			t.Errorf("resumed, and it waits for %q (%q)", r.SuspendedBy, r.Remedy)
		}
		t.close(j)
	}},
	{"why a run ended is listed, and forgotten when the run is resumed", func(t *T) {
		j := t.create("fix")
		b := t.ended(snap("fix", 1), fsm.EndError)
		b.Snapshot.Outcome.Refused, b.Snapshot.Outcome.Reason, b.Snapshot.Outcome.FailedItems = true,
			"state test said no 3 times", 2
		t.record(j, b)
		t.close(j)
		id := j.Run().ID
		if r := t.one(id); r.Reason != "state test said no 3 times" || r.FailedItems != 2 {
			t.Errorf("reason = %q, %d failed items", r.Reason, r.FailedItems)
		}
		j, _ = t.resume(id, "fix")
		t.record(j, t.enter(snap("fix", 2)))
		if r := t.one(id); r.Reason != "" || r.FailedItems != 0 {
			t.Errorf("resumed, and its reason is %q", r.Reason)
		}
		t.close(j)
	}},
	{"what the terminal state of a run said last is listed, and forgotten when the run is resumed", func(t *T) {
		j := t.create("fix")
		b := t.ended(snap("fix", 1), fsm.EndInterrupted)
		b.Snapshot.Outcome.Message = "3 tests\nwere fixed"
		t.record(j, b)
		t.close(j)
		id := j.Run().ID
		if r := t.one(id); r.Message != b.Snapshot.Outcome.Message {
			t.Errorf("run = %+v", r)
		}
		j, s := t.resume(id, "fix")
		if s.Outcome == nil || s.Outcome.Message != b.Snapshot.Outcome.Message {
			t.Errorf("outcome = %+v", s.Outcome)
		}
		t.record(j, t.ended(snap("fix", 2), fsm.EndTerminal))
		t.close(j)
		if r := t.one(id); r.Message != "" {
			t.Errorf("resumed: run = %+v", r)
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
			if rs := t.runs(persistence.Query{}); len(rs) != 1 || rs[0].Archived ||
				rs[0].Status != persistence.Running {
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
		spec.Options, spec.MaxSteps = value.NewMap("delay", 2.0), 70
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
			for _, err := range t.S.Tail(t.ctx, id) {
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
		if r.Status != persistence.Interrupted || !r.Archived || !r.Resumable || !r.Reconciled.Equal(at) ||
			r.Why != "its process died" || r.Owner.PID != 0 {
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
	{"a running run is not archived", func(t *T) {
		id := t.crashed("fix", 1)
		if err := t.S.Archive(t.ctx, id); err == nil {
			t.Fatal("no error")
		}
		if r := t.one(id); r.Archived {
			t.Fatal("it was archived")
		}
	}},
}
