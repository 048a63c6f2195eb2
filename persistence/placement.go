package persistence

import (
	"slices"

	"loops/fsm"
)

// A Placement is what a listing says of a submitted run that no process owns.
type Placement struct {
	Queue  string
	Labels []string
	Open   bool   // workers are to carry it until it has ended; false = they are done with it
	Note   string // what a worker that left it said last; "" = nothing
	Waits  bool   // it is parked, its time has not come, and nothing was asked of it since
	Heard  bool   // a worker that may take it was heard of, and is not asked to end
}

// Due reports whether workers continue a submitted run with this record as soon as it has no owner. A parked
// run is due when what it waits for has come.
func (r Run) Due() bool {
	switch r.Status {
	case Queued, Running:
		return true
	case Interrupted:
		// "" = its process died, EndInterrupted = it was asked to end: by its worker, or with its machine.
		return r.Ended == "" || r.Ended == fsm.EndInterrupted
	case Awaiting:
		return r.Ended == fsm.EndParked || r.Ended == fsm.EndSuspended
	}
	return false
}

// Carried reports whether a worker continues the run, so that no user has to.
func (r Run) Carried() bool {
	p := r.Placement
	return p != nil && p.Open && p.Heard && r.Due() && (!r.Held || r.Lapsed)
}

// Takes reports whether a worker may take jobs of a queue that need these labels: it was heard of, and is not
// asked to end. Whether it has the files is not known.
func (w WorkerState) Takes(queue string, labels []string) bool {
	return !w.Gone() && w.Draining == "" && w.Queue == queue &&
		!slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(w.Labels, l) })
}
