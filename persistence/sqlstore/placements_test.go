package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/sqlstore"
)

func submitted(t testing.TB, s *sqlstore.Store, j persistence.Job) persistence.Run {
	t.Helper()
	r, err := submit(t, s, j)
	must(t, err)
	return r
}

func submit(t testing.TB, s *sqlstore.Store, j persistence.Job) (persistence.Run, error) {
	m := &fsm.Snapshot{
		Loop: "fix", Phase: fsm.PhasePending, Current: "s1", StartedAt: began,
		Context: value.NewMap("a", "b"), Captured: value.NewMap(),
	}
	sp := spec(persistence.Owner{})
	sp.StartedAt = time.Now()
	return s.Submit(t.Context(), sp, m, j)
}

func trySubmit(t testing.TB, s *sqlstore.Store, j persistence.Job) error {
	_, err := submit(t, s, j)
	return err
}

func placed(t testing.TB, s *sqlstore.Store, id persistence.ID) persistence.Placed {
	t.Helper()
	all, err := s.Placed(t.Context(), id, 0)
	must(t, err)
	if len(all) != 1 {
		t.Fatalf("run %s is placed %d times", id, len(all))
	}
	return all[0]
}

// TestQueuedRun follows a submitted run from one process to another.
func TestQueuedRun(t *testing.T) {
	t.Parallel()
	at := postgres(t)
	submitter, worker := opened(t, at), opened(t, at)
	r := submitted(t, submitter, persistence.Job{
		Queue: "default", Key: "k", Priority: 2, Labels: []string{"gpu"},
		Files: persistence.FilesPinned, Hash: "h", Request: []byte(`{"loop":"fix"}`),
	})
	runs, err := worker.Runs(t.Context(), persistence.Query{ID: r.ID})
	must(t, err)
	if len(runs) != 1 || runs[0].Status != persistence.Queued || runs[0].Held || runs[0].Resumable ||
		runs[0].State != "s1" || len(runs[0].Damage) > 0 {
		t.Fatalf("listed: %+v", runs)
	}
	m, err := worker.Snapshot(t.Context(), r.ID)
	must(t, err)
	if v, _ := m.Context.Get("a"); m.Current != "s1" || v != "b" {
		t.Errorf("its memory: %+v", m)
	}
	p := placed(t, worker, r.ID)
	if p.Queue != "default" || p.Key != "k" || p.Priority != 2 || fmt.Sprint(p.Labels) != "[gpu]" || p.Hash != "h" ||
		string(p.Request) != `{"loop":"fix"}` || !p.Open || p.Claimed {
		t.Errorf("placed: %+v", p)
	}
	if _, _, err := worker.Resume(t.Context(), r.ID, spec(persistence.Owner{PID: 1})); !errors.As(err,
		new(*persistence.NotResumableError)) {
		t.Errorf("resumed although it has not begun: %v", err)
	}
	j, err := worker.Begin(t.Context(), r.ID, spec(faraway))
	must(t, err)
	if _, err := submitter.Begin(t.Context(), r.ID, spec(faraway)); !errors.As(err, new(*persistence.HeldError)) {
		t.Errorf("begun twice: %v", err)
	}
	if err := submitter.Withdraw(t.Context(), r.ID); !errors.As(err, new(*persistence.HeldError)) {
		t.Errorf("withdrawn although it began: %v", err)
	}
	if p := placed(t, submitter, r.ID); !p.Claimed || p.State.Status != persistence.Queued {
		t.Errorf("taken, nothing recorded: %+v", p)
	}
	must(t, j.Close(t.Context())) // as if it died here
	j, err = worker.Begin(t.Context(), r.ID, spec(faraway))
	must(t, err)
	must(t, j.Record(t.Context(), step(1)))
	if p := placed(t, submitter, r.ID); p.State.Status != persistence.Running || !p.Open {
		t.Errorf("running: %+v", p)
	}
	last := step(2)
	last.Snapshot.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndTerminal}
	must(t, j.Record(t.Context(), last))
	must(t, j.Close(t.Context()))
	if p := placed(t, submitter, r.ID); p.State.Status != persistence.Completed || p.Claimed {
		t.Errorf("ended: %+v", p)
	}
	if _, err := worker.Begin(t.Context(), r.ID, spec(faraway)); !errors.As(err, new(*persistence.NotResumableError)) {
		t.Errorf("begun again: %v", err)
	}
	must(t, submitter.Remove(t.Context(), r.ID))
	if all, err := submitter.Placed(t.Context(), "", 0); err != nil || len(all) != 0 {
		t.Errorf("after it was removed: %v, %v", all, err)
	}
}

var faraway = persistence.Owner{Host: "faraway", Boot: "b", PID: 7, Start: 1}

// TestWithdrawn: a queued run that its user stops is never begun, and of a withdrawal and a beginning at once one wins.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	at := postgres(t)
	one, two := opened(t, at), opened(t, at)
	for range 10 {
		r := submitted(t, one, persistence.Job{Queue: "default", Priority: 3})
		var begun, withdrawn error
		var j persistence.Journal
		var wg sync.WaitGroup
		wg.Go(func() { j, begun = two.Begin(t.Context(), r.ID, spec(faraway)) })
		wg.Go(func() { withdrawn = one.Withdraw(t.Context(), r.ID) })
		wg.Wait()
		if (begun == nil) == (withdrawn == nil) {
			t.Fatalf("begun: %v, withdrawn: %v", begun, withdrawn)
		}
		if begun == nil {
			must(t, j.Close(t.Context()))
			must(t, one.Withdraw(t.Context(), r.ID))
		}
		if p := placed(t, one, r.ID); p.State.Status != persistence.UserStopped || p.Open || p.Claimed ||
			p.State.Ended != fsm.EndUserStopped {
			t.Fatalf("withdrawn: %+v", p)
		}
	}
}

// TestPlacedInOrder: of each key the first come by their priority, and those whose time has not come are last.
func TestPlacedInOrder(t *testing.T) {
	t.Parallel()
	s := opened(t, postgres(t))
	names := map[persistence.ID]string{}
	add := func(name string, j persistence.Job) {
		j.Queue = "default"
		names[submitted(t, s, j).ID] = name
	}
	add("a late", persistence.Job{Key: "a", Priority: 1, At: time.Now().Add(time.Hour)})
	add("a low", persistence.Job{Key: "a", Priority: 4})
	add("a first", persistence.Job{Key: "a", Priority: 3})
	add("a second", persistence.Job{Key: "a", Priority: 3})
	add("b", persistence.Job{Key: "b", Priority: 3})
	all, err := s.Placed(t.Context(), "", 2)
	must(t, err)
	var got []string
	for _, p := range all {
		got = append(got, names[p.Run])
	}
	if want := "a first, a second, b"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	all, err = s.Placed(t.Context(), "", 0)
	must(t, err)
	if len(all) != 5 || names[all[0].Run] != "a late" || time.Until(all[0].At) < 59*time.Minute {
		t.Errorf("all of them: %+v", all)
	}
}

// TestFound: what a worker says of a run that it leaves, with a text that no database takes.
func TestFound(t *testing.T) {
	t.Parallel()
	s := opened(t, postgres(t))
	r := submitted(t, s, persistence.Job{Queue: "default"})
	for range 2 {
		must(t, s.Found(t.Context(), r.ID,
			persistence.Finding{Open: true, Again: true, After: time.Hour, Note: "no\x00\xff!"}))
	}
	if p := placed(t, s, r.ID); p.Tries != 2 || p.Note != "no??!" || time.Until(p.At) < 59*time.Minute || !p.Open {
		t.Errorf("left twice: %+v", p)
	}
	must(t, s.Found(t.Context(), r.ID, persistence.Finding{}))
	if p := placed(t, s, r.ID); p.Tries != 0 || p.Note != "" || p.Open {
		t.Errorf("done: %+v", p)
	}
}

// TestParkedHears: a run that is parked waits until a command comes that it did not have when it was taken.
func TestParkedHears(t *testing.T) {
	t.Parallel()
	s := opened(t, postgres(t))
	r := submitted(t, s, persistence.Job{Queue: "default"})
	j, err := s.Begin(t.Context(), r.ID, spec(faraway))
	must(t, err)
	parked := step(1)
	parked.Snapshot.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndParked}
	must(t, j.Record(t.Context(), parked))
	must(t, j.Close(t.Context()))
	if p := placed(t, s, r.ID); p.Waits {
		t.Fatalf("parked, and its worker was killed before it noted until when: %+v", p)
	}
	must(t, s.Found(t.Context(), r.ID, persistence.Finding{Open: true, After: persistence.Never}))
	if p := placed(t, s, r.ID); !p.Waits || time.Until(p.At) < 365*24*time.Hour {
		t.Fatalf("parked: %+v", p)
	}
	_, err = s.Send(t.Context(), r.ID,
		persistence.Command{Kind: persistence.CommandSignal, Segment: persistence.AnySegment})
	must(t, err)
	if p := placed(t, s, r.ID); p.Waits {
		t.Fatalf("a signal came: %+v", p)
	}
	j, _, err = s.Resume(t.Context(), r.ID, spec(faraway))
	must(t, err)
	must(t, j.Close(t.Context()))
	if p := placed(t, s, r.ID); p.Waits {
		t.Fatalf("its process died before it read the signal: %+v", p)
	}
	j, _, err = s.Resume(t.Context(), r.ID, spec(faraway))
	must(t, err)
	must(t, j.Record(t.Context(), parked))
	must(t, j.Close(t.Context()))
	must(t, s.Found(t.Context(), r.ID, persistence.Finding{Open: true, After: time.Hour}))
	if p := placed(t, s, r.ID); !p.Waits {
		t.Fatalf("parked again: %+v", p)
	}
	must(t, s.Found(t.Context(), r.ID, persistence.Finding{Open: true}))
	if p := placed(t, s, r.ID); p.Waits {
		t.Fatalf("to be continued at once: %+v", p)
	}
}

// TestAnsweredBehindManyThatWait: however many runs of a key are parked, one that was answered and one that is
// queued are among the first.
func TestAnsweredBehindManyThatWait(t *testing.T) {
	t.Parallel()
	s := opened(t, postgres(t))
	var last persistence.ID
	for range 3 {
		r := submitted(t, s, persistence.Job{Queue: "default"})
		j, err := s.Begin(t.Context(), r.ID, spec(faraway))
		must(t, err)
		parked := step(1)
		parked.Snapshot.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndParked}
		must(t, j.Record(t.Context(), parked))
		must(t, j.Close(t.Context()))
		must(t, s.Found(t.Context(), r.ID, persistence.Finding{Open: true, After: persistence.Never}))
		last = r.ID
	}
	_, err := s.Send(t.Context(), last,
		persistence.Command{Kind: persistence.CommandAnswer, Segment: persistence.AnySegment})
	must(t, err)
	queued := submitted(t, s, persistence.Job{Queue: "default"}).ID
	all, err := s.Placed(t.Context(), "", 2)
	must(t, err)
	if len(all) != 2 || all[0].Run != last || all[1].Run != queued {
		t.Errorf("%+v, want %s and %s", all, last, queued)
	}
	must(t, s.Found(t.Context(), last, persistence.Finding{Open: true, After: time.Hour, Note: "its paths are locked"}))
	all, err = s.Placed(t.Context(), "", 1)
	must(t, err)
	if len(all) != 1 || all[0].Run != queued {
		t.Errorf("%+v, want %s", all, queued)
	}
}

// TestQueuedRunStaysAmongTheLive: what is queued has not ended, and one that an earlier version archived is
// live as soon as it begins.
func TestQueuedRunStaysAmongTheLive(t *testing.T) {
	t.Parallel()
	s := opened(t, postgres(t))
	r := submitted(t, s, persistence.Job{Queue: "default"})
	if err := s.Archive(t.Context(), r.ID); err == nil {
		t.Error("a queued run was archived")
	}
	_, err := s.Exec(t.Context(), `UPDATE runs SET archived = 1`)
	must(t, err)
	j, err := s.Begin(t.Context(), r.ID, spec(faraway))
	must(t, err)
	must(t, j.Record(t.Context(), step(1)))
	runs, err := s.Runs(t.Context(), persistence.Query{Live: true})
	must(t, err)
	if len(runs) != 1 || runs[0].Archived {
		t.Errorf("live are %+v", runs)
	}
	must(t, j.Close(t.Context()))
}

// TestWorkers: a worker that is silent for its lease is gone, and one that says goodbye is not listed.
func TestWorkers(t *testing.T) {
	t.Parallel()
	s := opened(t, postgres(t))
	must(t, s.Beat(t.Context(), persistence.WorkerState{ID: "a", Host: "h", Slots: 2}, time.Hour))
	must(t, s.Beat(t.Context(), persistence.WorkerState{ID: "b", Slots: 1}, time.Hour))
	must(t, s.Beat(t.Context(), persistence.WorkerState{ID: "b", Slots: 3}, time.Nanosecond))
	var all []persistence.WorkerState
	testenv.Wait(t, "the lease of b to be over", func() bool {
		var err error
		all, err = s.Workers(t.Context())
		must(t, err)
		return slices.ContainsFunc(all, persistence.WorkerState.Gone)
	})
	if len(all) != 2 || all[0].Gone() || all[0].Host != "h" || !all[1].Gone() || all[1].Slots != 3 {
		t.Fatalf("%+v", all)
	}
	if found, err := s.Drain(t.Context(), "c", "anna"); err != nil || found {
		t.Fatalf("a worker that is not there: %v, %v", found, err)
	}
	if found, err := s.Drain(t.Context(), "a", "anna"); err != nil || !found {
		t.Fatalf("%v, %v", found, err)
	}
	must(t, s.Beat(t.Context(), persistence.WorkerState{ID: "a"}, time.Hour)) // which takes nothing back
	for worker, want := range map[string]string{"a": "anna", "b": "", "c": ""} {
		if by, err := s.Drained(t.Context(), worker); err != nil || by != want {
			t.Errorf("%s: drained by %q, %v, want %q", worker, by, err, want)
		}
	}
	if all, err := s.Workers(t.Context()); err != nil || all[0].Draining != "anna" || all[1].Draining != "" {
		t.Fatalf("%+v, %v", all, err)
	}
	must(t, s.Away(t.Context(), "a"))
	if all, err := s.Workers(t.Context()); err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
}

// TestSubmitNeedsPostgres: a file of SQLite is one machine's.
func TestSubmitNeedsPostgres(t *testing.T) {
	t.Parallel()
	s := opened(t, "sqlite:"+t.TempDir()+"/runs.db")
	_, err := s.Submit(t.Context(), spec(persistence.Owner{}), &fsm.Snapshot{Captured: value.NewMap()},
		persistence.Job{Queue: "default"})
	if !errors.Is(err, persistence.ErrNoWorkers) || !strings.Contains(err.Error(), "--store postgres://") {
		t.Errorf("submitted into SQLite: %v", err)
	}
}
