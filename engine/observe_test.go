package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
)

// Which notices an observer gets at once, and which together, under faked time.
func TestObserverRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		type told struct {
			seq uint64 // 0 = no event
			at  time.Duration
		}
		var got []told
		s, stop := newSubscription(ObserverFunc(func(n Notice) {
			r, _ := n.(Recorded)
			got = append(got, told{r.Event.Seq, time.Since(began)})
		}))
		event := func(seq uint64) Recorded { return Recorded{persistence.ID("a"), fsm.Event{Seq: seq}} }
		s.put(event(1)) // at once: it is the first
		synctest.Wait()
		s.put(event(2)) // when it has rested
		testenv.Pass(restTime / 2)
		s.put(Said{}) // at once, with what came before
		synctest.Wait()
		s.put(event(3))
		stop() // what waits is delivered before it ends
		want := []told{{1, 0}, {2, restTime / 2}, {0, restTime / 2}, {3, restTime / 2}}
		if len(got) != len(want) {
			t.Fatalf("told %v, want %v", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("told %v, want %v", got, want)
			}
		}
	})
}

// An observer that is slower than a run is notified of what it missed, and the run does not wait.
func TestObserverMisses(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var got []Notice
	s, stop := newSubscription(ObserverFunc(func(n Notice) {
		<-release
		got = append(got, n)
	}))
	for seq := range uint64(2*bufferSize + 10) {
		s.put(Recorded{persistence.ID("a"), fsm.Event{Seq: seq + 1}})
	}
	close(release)
	stop()
	seen := uint64(0)
	missed := false
	for _, n := range got {
		switch n := n.(type) {
		case Recorded:
			if n.Event.Seq != seen+1 {
				t.Fatalf("event %d follows %d", n.Event.Seq, seen)
			}
			seen = n.Event.Seq
		case Missed:
			if n.After != seen {
				t.Fatalf("missed after %d, but event %d was told", n.After, seen)
			}
			seen, missed = n.Until, true
		}
	}
	if seen != 2*bufferSize+10 || !missed {
		t.Errorf("told up to event %d, missed some: %v", seen, missed)
	}
}

// However many runs are running beside an observer that is blocked, it has one notice waiting for each of them beyond
// its buffer.
func TestObserverMissesOfSeveralRuns(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	last := map[persistence.ID]uint64{} // up to which event each run was delivered, or missed
	s, stop := newSubscription(ObserverFunc(func(n Notice) {
		<-release
		switch n := n.(type) {
		case Recorded:
			if n.Event.Seq != last[n.Run]+1 {
				t.Errorf("run %s: event %d behind %d", n.Run, n.Event.Seq, last[n.Run])
			}
			last[n.Run] = n.Event.Seq
		case Missed:
			if n.After != last[n.Run] {
				t.Errorf("run %s: missed after %d, behind %d", n.Run, n.After, last[n.Run])
			}
			last[n.Run] = n.Until
		}
	}))
	runs := []persistence.ID{"a", "b", "c"}
	for seq := range uint64(2 * bufferSize) {
		for _, id := range runs {
			s.put(Recorded{id, fsm.Event{Seq: seq + 1}})
		}
	}
	s.put(Ended{Run: "b"})
	s.put(Recorded{"b", fsm.Event{Seq: 2*bufferSize + 1}}) // resumed: distinguished from what was missed before the end
	s.mu.Lock()
	waiting := len(s.waiting)
	s.mu.Unlock()
	close(release)
	stop()
	if most := bufferSize + len(runs) + 2; waiting > most {
		t.Errorf("%d notices wait, want at most %d", waiting, most)
	}
	for _, id := range runs {
		want := uint64(2 * bufferSize)
		if id == "b" {
			want++
		}
		if last[id] != want {
			t.Errorf("run %s: told up to %d, want %d", id, last[id], want)
		}
	}
}
