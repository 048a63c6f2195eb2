package sqlstore_test

import (
	"slices"
	"testing"
	"time"

	"loops/internal/testenv"
	"loops/persistence"
)

// TestRunsSayWhatWorkersDo: a listed run that no process owns has its placement, and whether a worker that may
// take it was heard of.
func TestRunsSayWhatWorkersDo(t *testing.T) {
	t.Parallel()
	s := opened(t, postgres(t))
	id := submitted(t, s, persistence.Job{Queue: "q", Labels: []string{"gpu"}}).ID
	look := func() *persistence.Placement {
		t.Helper()
		runs, err := s.Runs(t.Context(), persistence.Query{ID: id})
		must(t, err)
		if len(runs) != 1 || runs[0].Placement == nil {
			t.Fatalf("%+v", runs)
		}
		return runs[0].Placement
	}
	beat := func(w persistence.WorkerState) {
		t.Helper()
		must(t, s.Beat(t.Context(), w, time.Hour))
	}
	beat(persistence.WorkerState{ID: "bare", Queue: "q"})
	beat(persistence.WorkerState{ID: "other", Queue: "p", Labels: []string{"gpu"}})
	if p := look(); p.Heard || !p.Open || p.Queue != "q" || !slices.Equal(p.Labels, []string{"gpu"}) {
		t.Errorf("without a worker that has the label: %+v", p)
	}
	beat(persistence.WorkerState{ID: "fit", Queue: "q", Labels: []string{"big", "gpu"}})
	if p := look(); !p.Heard {
		t.Errorf("with a worker that has the label: %+v", p)
	}
	if found, err := s.Drain(t.Context(), "fit", "anna"); err != nil || !found {
		t.Fatalf("%v, %v", found, err)
	}
	must(t, s.Found(t.Context(), id, persistence.Finding{Open: true, Note: "it is another loop here"}))
	if p := look(); p.Heard || p.Note != "it is another loop here" {
		t.Errorf("with a worker that ends: %+v", p)
	}
	j, err := s.Begin(t.Context(), id, spec(faraway))
	must(t, err)
	must(t, j.Record(t.Context(), step(1)))
	runs, err := s.Runs(t.Context(), persistence.Query{ID: id})
	must(t, err)
	if len(runs) != 1 || runs[0].Placement != nil {
		t.Errorf("a run that a process owns: %+v", runs)
	}
	must(t, j.Close(t.Context()))
}

// TestGoneWorkerLosesWhatOthersHave: a worker that is gone has only the runs that nobody took over.
func TestGoneWorkerLosesWhatOthersHave(t *testing.T) {
	t.Parallel()
	s := opened(t, postgres(t))
	left, taken, over := submitted(t, s, persistence.Job{Queue: "q"}).ID,
		submitted(t, s, persistence.Job{Queue: "q"}).ID, submitted(t, s, persistence.Job{Queue: "q"}).ID
	must(t, s.Withdraw(t.Context(), over))
	must(t, s.Beat(t.Context(),
		persistence.WorkerState{ID: "dead", Queue: "q", Runs: []persistence.ID{left, taken, over}}, time.Nanosecond))
	must(t, s.Beat(t.Context(), persistence.WorkerState{ID: "live", Queue: "q", Runs: []persistence.ID{taken}},
		time.Hour))
	var all []persistence.WorkerState
	testenv.Wait(t, "the worker to be gone", func() bool {
		var err error
		all, err = s.Workers(t.Context())
		must(t, err)
		return all[0].Gone()
	})
	if !slices.Equal(all[0].Runs, []persistence.ID{left}) || !slices.Equal(all[1].Runs, []persistence.ID{taken}) {
		t.Errorf("the dead worker has %v, the live one %v", all[0].Runs, all[1].Runs)
	}
}
