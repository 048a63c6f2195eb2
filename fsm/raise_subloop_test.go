package fsm_test

import (
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// raiseAt is a Config.Raise that gives the run more time, once, at a time from now on.
func raiseAt(at, more time.Duration) func(uint64) (uint64, fsm.Raise, string, bool) {
	due := time.Now().Add(at)
	return func(after uint64) (uint64, fsm.Raise, string, bool) {
		return 1, fsm.Raise{Time: more}, "", after == 0 && !time.Now().Before(due)
	}
}

// A sub-loop that has what is left of the run's time has more of it when the run has; one with less of its own
// does not.
func TestMoreTimeReachesSubloops(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file       string
		free, more int    // states that are entered
		end        string // with more time
	}{
		{"timeout-loop-subloop-seconds", 6, 11, "end"},
		{"timeout-loop-subloop", 8, 8, "lost"},
	} {
		t.Run(c.file, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free, _, _ := waitCase(t, c.file, func(*fsm.Config) {})
				rec, out, _ := waitCase(t, c.file, func(cfg *fsm.Config) {
					cfg.Raise = raiseAt(time.Second, 4*time.Second)
				})
				if n := count(free.events, fsm.EventStateEnter); n != c.free {
					t.Errorf("%d states are entered without more time, want %d", n, c.free)
				}
				if n := count(rec.events, fsm.EventStateEnter); n != c.more {
					t.Errorf("%d states are entered, want %d:\n%s", n, c.more, show(rec.events))
				}
				if count(rec.events, fsm.EventLimitRaised) != 1 || out.FinalState != c.end {
					t.Errorf("%+v\n%s", out, show(rec.events))
				}
			})
		})
	}
}
