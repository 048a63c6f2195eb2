package cli

import (
	"runtime"
	"runtime/debug"
)

// leastHeap is the heap from which Go collects for the first time, with the usual percentage of 100.
const leastHeap = 4 << 20

// collectFrom lets the heap grow to so many bytes before it is collected for the first time; from then on all is as usual. Most
// commands end before that: a fifth of the time of a listing would go into collecting.
func (a *app) collectFrom(size int) {
	if !a.collectAt(100 * size / leastHeap) {
		return
	}
	first := new([64]byte) // gone with the first collection
	a.usual = runtime.AddCleanup(first, func(percent int) { debug.SetGCPercent(percent) }, 100)
}

// collectAt sets the percentage by which the heap grows between two collections, unless the user has set it.
func (a *app) collectAt(percent int) (set bool) {
	if _, users := a.getenv("GOGC"); users {
		return false
	}
	a.usual.Stop()
	debug.SetGCPercent(percent)
	return true
}
