package simtest

import (
	"context"
	"fmt"
	"time"

	"loops/fsm"
)

// atEnd is what a world does at the end of a run, before that is on record. It takes no time.
type atEnd struct {
	merges bool   // the run asks for a merge when it completes
	done   string // what was done outside of the run, after which nothing more may be; "" = nothing was
}

// looked fits fsm.Config.Facts. It takes a while at the end of a run.
func (w *World) looked(_ context.Context, ends bool) []fsm.Field {
	if ends {
		w.mu.Lock()
		d := time.Duration(w.hash("files", len(w.events)) % 2_000_000_000) //nolint:gosec // it is small
		w.mu.Unlock()
		time.Sleep(d)
	}
	return []fsm.Field{{Key: "worktree_digest", Value: ends}}
}

// receipt fits fsm.Config.Receipt. It may be made again.
func (w *World) receipt(context.Context, fsm.Spent, []fsm.Event) *fsm.Receipt {
	return &fsm.Receipt{Run: "run", Checks: []fsm.CheckResult{}}
}

// merge fits fsm.Config.Merge.
func (w *World) merge(context.Context) (how, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.atEnd.done = "its files were merged"
	return fsm.MergeDone, ""
}

// acts notes that something is done by a run, or by a judge of it.
func (w *World) acts(at string) {
	if w.atEnd.done != "" {
		w.fault(fmt.Sprintf("%s starts, and %s", at, w.atEnd.done))
	}
}

// wholeEnd checks that a run which completed did all that it does at its end.
func (w *World) wholeEnd(o fsm.Outcome) {
	if o.TerminatedBy != fsm.EndTerminal || o.Failure {
		return
	}
	if o.Receipt == nil {
		w.fault("the run completed without a receipt")
	}
	if w.atEnd.merges != (o.Merge == fsm.MergeDone) {
		w.fault("the run completed, and of its merge is recorded " + fmt.Sprintf("%q", o.Merge))
	}
}
