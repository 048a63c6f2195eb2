package persistence

import "loops/fsm"

// SetOutcome takes what a listing shows of how a run ended; nil = it has not. Stores use it.
func (r *Run) SetOutcome(o *fsm.Outcome) {
	if o == nil {
		o = &fsm.Outcome{}
	}
	r.Ended, r.Error, r.Message, r.Reason, r.Ignored, r.Merge, r.Limited, r.Refused = o.TerminatedBy, o.Error,
		o.Message, o.Reason, o.Ignored, o.Merge, o.Limited, o.Refused
	r.FailedItems, r.SuspendedBy, r.Remedy = o.FailedItems, o.SuspendedBy, o.Remedy
}

// Unmerged reports whether a run completed, and the merge that it asked for was not made.
func (r Run) Unmerged() bool { return fsm.Outcome{Merge: r.Merge}.Unmerged() }
