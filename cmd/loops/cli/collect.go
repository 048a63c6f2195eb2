package cli

import (
	"runtime"
	"runtime/debug"
)

// leastHeap is the heap from which Go collects for the first time, with the usual percentage of 100.
const leastHeap = 4 << 20

// collectFrom lets the heap grow to so many bytes before it is collected for the first time; from then on it
// grows by so many percent between two collections, unless the user has set that. Most commands, and runs of a
// few steps, end before the first: a fifth of the time of a listing would go into collecting.
func (a *program) collectFrom(size, percent int) {
	if _, users := a.getenv("GOGC"); users {
		return
	}
	a.usual.Stop()
	debug.SetGCPercent(100 * size / leastHeap)
	first := new([64]byte) // gone with the first collection
	a.usual = runtime.AddCleanup(first, func(percent int) { debug.SetGCPercent(percent) }, percent)
}
