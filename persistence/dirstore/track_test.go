package dirstore

import (
	"os"
	"slices"
	"testing"

	"loops/fsm"
	"loops/persistence"
)

// looked adds what a look at a run yields.
func looked(t *testing.T, track persistence.Track, last bool, to []uint64) []uint64 {
	t.Helper()
	for e, err := range track.Events(t.Context(), last) {
		must(t, err)
		to = append(to, e.Seq)
	}
	return to
}

// numbers are the events of a run, each once.
func numbers(t *testing.T, d *Store, id persistence.ID) (all []uint64) {
	t.Helper()
	for e, err := range d.Events(t.Context(), id, 0) {
		must(t, err)
		all = append(all, e.Seq)
	}
	return all
}

// A journal that grows byte by byte is read to its end, and no event twice.
func TestTrackAtEveryByte(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1),
		&fsm.Batch{Events: []fsm.Event{
			{Kind: fsm.EventActionOutput, Time: at, Fields: []fsm.Field{{Key: "line", Value: "x"}}},
		}}, step(2), step(3))
	j.die()
	path := d.live(j.id).events
	whole, err := os.ReadFile(path)
	must(t, err)
	all := numbers(t, d, j.id)
	must(t, os.Remove(d.live(j.id).state))
	must(t, os.Truncate(path, 0))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	track := d.Track(persistence.Run{ID: j.id}, 0)
	var got []uint64
	for n := range whole {
		_, err := f.Write(whole[n : n+1])
		must(t, err)
		got = looked(t, track, n == len(whole)-1, got)
	}
	if !slices.Equal(got, all) || len(all) < 4 {
		t.Errorf("byte by byte there are %d, at once %d", got, all)
	}
}

// A run is followed while its journal begins new files, is repaired after a death, and moves to the archive and back.
func TestTrackFollowsTheJournal(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.PartSize = 1 << 10
	j := begin(t, d)
	track := d.Track(j.Run(), 0)
	var got []uint64
	n := 0
	grow := func(j persistence.Journal, steps int) {
		t.Helper()
		for range steps {
			n++
			must(t, j.Record(t.Context(), step(n)))
			if n%3 == 0 {
				got = looked(t, track, false, got)
			}
		}
	}
	grow(j, 40)
	if len(partsOf(t, d.live(j.id).parts)) == 0 {
		t.Fatal("the journal has one file")
	}
	f, err := os.OpenFile(d.live(j.id).events, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(`{"event": "torn`)
	must(t, err)
	must(t, f.Close())
	got = looked(t, track, false, got)
	j.die()
	must(t, d.Interrupt(t.Context(), j.id, at, "its process is gone"))
	got = looked(t, track, false, got)
	again, _, err := d.Resume(t.Context(), j.id, persistence.Spec{})
	must(t, err)
	grow(again, 10)
	n++
	must(t, again.Record(t.Context(), end(n, fsm.EndTerminal)))
	must(t, again.Close(t.Context()))
	got = looked(t, track, true, got)
	if all := numbers(t, d, j.id); !slices.Equal(got, all) {
		t.Errorf("followed %d\nat once  %d", got, all)
	}
}
