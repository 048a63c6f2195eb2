package persistence

import (
	"strconv"

	"loops/fsm"
)

// Marker is the value of the environment variable by which the processes of the action in flight are known, also one
// inside sub-loops; "" where none is. The segment is in it because the next owner of a run starts an interrupted action
// again, as the same attempt of the same step: a process that ends what the last owner left must not hit that.
func Marker(id ID, segment int, memory *fsm.Snapshot) string {
	if !memory.InFlight() {
		return ""
	}
	return RunMark(id, segment) + memory.Mark()
}

// RunMark is what the markers of all actions of a segment begin with.
func RunMark(id ID, segment int) string { return strconv.Itoa(segment) + "/" + string(id) }
