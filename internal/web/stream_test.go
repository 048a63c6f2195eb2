package web

import (
	"iter"
	"testing"
	"time"

	"loops/fsm"
)

// TestSlowReaderGetsTheNewest: of more events than a reader gets at once it gets the newest, and is notified how many
// it missed; a few more than that are not left out, and those kept are never more than a bound, however many there are.
func TestSlowReaderGetsTheNewest(t *testing.T) {
	t.Parallel()
	events := func(n int) iter.Seq2[fsm.Event, error] {
		return func(yield func(fsm.Event, error) bool) {
			for i := range n {
				if !yield(fsm.Event{Seq: uint64(i) + 1}, nil) { //nolint:gosec // it is small
					return
				}
			}
		}
	}
	for n, most := range map[int]int{0: 0, 1: 1, burst: burst, burst + 1: burst + 1, 2 * burst: burst, 100_000: burst} {
		last, missed := newest(events(n), time.Now().Add(time.Minute))
		if len(last)+missed != n || len(last) > most || cap(last) > 4*burst {
			t.Errorf("of %d events there are %d, and %d were missed; room for %d is kept", n, len(last), missed,
				cap(last))
		}
		if len(last) > 0 && last[len(last)-1].Seq != uint64(n) { //nolint:gosec // it is small
			t.Errorf("of %d events the last is %d", n, last[len(last)-1].Seq)
		}
	}
	if last, missed := newest(events(100_000), time.Now()); len(last) != burst || missed != burst {
		t.Errorf("when there is no more time %d events are sent, and %d left out", len(last), missed)
	}
}
