package fsm_test

import (
	"fmt"
	"time"

	"loops/fsm"
)

// mostAtOneTime is how often a driver may step its machine before time passes. Only a run that spins does so as often:
// its clock is that of a bubble, which stands still until all goroutines wait.
const mostAtOneTime = 100_000

// doesNotSpin ends the tests where a run is stepped for ever and nothing happens: a test that does not end fails too
// late, and says nothing.
func doesNotSpin(c *fsm.Control) {
	var last time.Time
	n := 0
	c.Changed = func() <-chan struct{} {
		if n++; n == mostAtOneTime {
			if now := time.Now(); now.Equal(last) {
				panic(fmt.Sprintf("the run is stepped %d times, and no time passes", n))
			}
			last, n = time.Now(), 0
		}
		return nil
	}
}
