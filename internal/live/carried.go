package live

import (
	"context"
	"fmt"
	"io"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/reconcile"
)

// Carried shows a run that this process carries.
type Carried struct {
	page    *view.Page
	says    func(error) error // returns an error of the engine in the words of this face
	Starter io.Writer         // who started a run in the background; nil = it is not in one
	p       *project.Project
	Print   Printer
	quiet   bool
	Began   chan struct{}   // closed when the header of the run was shown
	Over    chan struct{}   // closed when its progress is shown no more, so that its end can be
	Seen    func(fsm.Event) // receives each event after it was shown; may be nil
	ended   bool
}

// Observe implements [engine.Observer].
func (v *Carried) Observe(n engine.Notice) {
	switch n := n.(type) {
	case engine.Queued:
		v.Print.Queued(Queued{
			Waiter: n.Waiter, For: n.For, Text: view.WaitsFor(n.Why), First: n.First, Now: n.Now,
			Log: n.Log,
		})
	case engine.Began:
		v.Print.Header(v.headerOf(n.Header))
		close(v.Began)
	case engine.Recorded:
		v.event(n.Event)
	case engine.Missed:
		v.catchUp(n)
	case engine.Said:
		v.waitUntilOver()
		text := string(v.page.Text(n.Text))
		if n.Problem {
			text = "loops: " + text
		}
		v.Print.Note(text)
	case engine.Reconciled:
		v.reconciled(n.Changes)
	case engine.Unpaused:
		v.tellUnpaused(n)
	case engine.Retained:
		v.waitUntilOver()
		v.retained(n)
	case engine.Ended:
		v.ended = true
		v.waitUntilOver()
		v.Print.Finish(n.Outcome, v.page.Remedy(n.Next))
	case engine.TreeEnded:
		switch lines := view.TreeLines(n.Report); {
		case !n.Other:
			v.waitUntilOver()
			v.Print.Tree(Tree{Lines: lines, Object: view.TreeEnd(n.Report), Left: n.Report.Kept || n.Report.Err != nil})
		case !v.quiet || n.Report.Kept:
			NoteLines(v.Print, "loops: ", lines)
		}
	}
}

// waitUntilOver waits until the progress of a run that has ended is shown no more.
func (v *Carried) waitUntilOver() {
	if v.ended {
		<-v.Over
	}
}

func (v *Carried) event(e fsm.Event) {
	v.Print.Event(e)
	if v.Seen != nil {
		v.Seen(e)
	}
}

// catchUp shows what was recorded while this observer was too slow.
func (v *Carried) catchUp(m engine.Missed) {
	if err := engine.CatchUp(context.Background(), v.p, m, v.event); err != nil {
		v.Print.Note("loops: what was recorded meanwhile cannot be shown: " + humanize.OneLine(err))
	}
}

// headerOf is what printers show when a run begins or is resumed.
func (v *Carried) headerOf(h engine.Header) Header {
	out := Header{
		Loop: h.Loop, File: h.File, Run: h.Run, RunDir: h.RunDir, ShortDir: h.ShortDir, Resumed: h.Resumed,
		Elapsed: h.Elapsed, Begin: h.Begin,
		Agents: string(v.page.Text(h.Agents)), Sandbox: string(v.page.Text(h.Sandbox)),
		Guard: string(v.page.Text(h.Guard)), Wake: v.page.Command("retry-now", string(h.Run.ID)),
		Explain: v.page.Command("explain", string(h.Run.ID)), Worktree: h.Worktree, Branch: h.Branch, Where: h.Where,
		Origin: h.Origin, Retry: h.Retry,
	}
	out.Again = func(failedItems int) string { return v.page.Remedy(engine.AgainAfter(h.Run.ID, failedItems)) }
	for _, n := range h.Notes {
		out.Notes = append(out.Notes, string(v.page.Text(n)))
	}
	return out
}

// retained reports what retention removed beside a run. Quiet, it reports only what went wrong.
func (v *Carried) retained(n engine.Retained) {
	if text := view.RetainedText(n.Removed, n.Late); text != "" && !v.quiet {
		v.Print.Note(text)
		for _, r := range n.Removed {
			if r.Tree != nil {
				NoteLines(v.Print, "", view.TreeLines(*r.Tree))
			}
		}
	}
	if n.Err != nil {
		v.Print.Note("loops: retention: " + humanize.OneLine(v.says(n.Err)))
	}
}

// reconciled reports what was done about runs that were found dead.
func (v *Carried) reconciled(changes []reconcile.Change) {
	if !v.quiet {
		for _, c := range changes {
			v.Print.Note("loops: " + v.page.ChangeLine(c))
		}
	}
}

// tellUnpaused reports that a pause was lifted: in the background to the process that started the run.
func (v *Carried) tellUnpaused(n engine.Unpaused) {
	switch {
	case n.Err != nil:
		v.Print.Note(fmt.Sprintf("loops: run %s stays paused: %v", n.Run, n.Err))
	case v.quiet:
	case v.Starter != nil:
		terminal.SayLine(v.Starter, "The pause of "+humanize.Clock(n.Since)+" is lifted.")
	default:
		v.Print.Note("The pause of " + humanize.Clock(n.Since) + " is lifted.")
	}
}

// NewCarried returns a view of a run of a project. says returns an error of the engine in the words of the face.
func NewCarried(p *project.Project, print Printer, quiet bool, page *view.Page, says func(error) error) *Carried {
	return &Carried{
		page: page, says: says, p: p, Print: print, quiet: quiet, Began: make(chan struct{}),
		Over: make(chan struct{}),
	}
}
