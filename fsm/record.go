package fsm

import (
	"context"
	"slices"
	"strings"
	"time"

	"loops/fsm/expr"
)

func (e *Executor) emit(kind string, fields ...Field) {
	e.batch.Events = append(e.batch.Events, Event{Kind: kind, Time: e.now(), Fields: fields})
}

// ownLines is how many empty lines at the end of an output get an event each.
const ownLines = 16

// emitOutput logs lines, which are joined by line ends. Empty ones at the end get an event each, because
// readers of such a log take one line end off the end of a line.
func (e *Executor) emitOutput(b *Batch, text string) {
	empty := 0
	for ; empty < ownLines && strings.HasSuffix(text, "\n"); empty++ {
		text = text[:len(text)-1]
	}
	now := e.now()
	b.Events = append(b.Events, Event{Kind: EventActionOutput, Time: now, Fields: []Field{{"line", text}}})
	for range empty {
		b.Events = append(b.Events, Event{Kind: EventActionOutput, Time: now, Fields: []Field{{"line", ""}}})
	}
}

// record has the events so far recorded together with the memory, before anything is started, and then shown.
// It reports whether something can be recorded.
func (e *Executor) record(checkpoint bool) bool {
	if e.machine.broken != nil {
		return false
	}
	if len(e.batch.Events) == 0 && !checkpoint {
		return true
	}
	if o := e.mem.Outcome; o != nil {
		e.mem.Elapsed = o.Duration // one reading of the clock: no view says another time than the next
	} else {
		e.mem.Elapsed = e.elapsed()
	}
	e.batch.Snapshot, e.batch.Checkpoint = e.mem, checkpoint
	return e.write(&e.batch)
}

func (e *Executor) write(b *Batch) bool {
	if e.parent != nil {
		e.pass(b)
	} else {
		e.machine.put(b)
	}
	clear(b.Events)
	b.Events, b.Snapshot, b.Checkpoint, b.Written = b.Events[:0], nil, false, false
	return e.machine.broken == nil
}

// finish ends the run.
func (e *Executor) finish(by, text string) {
	e.end(Outcome{TerminatedBy: by, Error: text})
}

// end ends the run with an outcome, whose other fields it fills in.
func (e *Executor) end(as Outcome) {
	m, by := e.mem, as.TerminatedBy
	o := &as
	o.FinalState, o.Steps, o.Continuation = m.Current, m.Step, m.Continuation
	if st := e.cfg.Loop.States[m.Current]; by == EndTerminal && st != nil && st.Terminal {
		o.Failure, o.Message = st.Failure, e.message(st)
	}
	merges := by == EndTerminal && !o.Failure && e.parent == nil && e.cfg.Merge != nil
	if !e.beginEnd(*o, merges) {
		return
	}
	e.noteEnd(o)
	e.receipt(o)
	unmerged := ""
	if merges {
		e.do(func(ctx context.Context) { o.Merge, unmerged = e.cfg.Merge(ctx) })
	}
	if stop := e.stopCause(); stop != nil && (by == EndInterrupted || by == EndUserStopped) {
		o.Signal = stop.Signal
	}
	if by == EndSuspended && e.parent == nil {
		e.suspend(o)
	}
	o.Duration = e.elapsed()
	if e.parent == nil {
		o.Ignored = m.IgnoredText()
	}
	fields := endFields(o, unmerged)
	if stop := e.stopCause(); stop != nil && stop.By != "" && by == EndUserStopped {
		fields = append(fields, Field{"by", stop.By})
	}
	e.emit(EventLoopComplete, e.facts(e.inlined(fields), true)...)
	if e.parent == nil && e.cfg.Why != nil {
		o.Reason, o.FailedItems = e.cfg.Why(*o, slices.Concat(e.machine.out.Events, e.batch.Events))
	}
	m.Outcome, m.Ending = o, nil
	// The end of a sub-loop is durable with what its parent does next.
	if !e.record(e.parent == nil) {
		m.Outcome = nil
	}
}

// beginEnd records how the run itself is about to end, and what led there: if the process dies from here on, a resumed
// run only ends. The record is durable before something outside of the run is changed. A run that continues when it is
// resumed does nothing at its end but look at its files. beginEnd reports whether the run can end.
func (e *Executor) beginEnd(as Outcome, merges bool) bool {
	if e.parent != nil || paused(&as) || as.TerminatedBy == EndSuspended {
		return true
	}
	changes := merges || e.notes(e.mem.Recalled, &as)
	if !changes && e.cfg.Facts == nil && e.cfg.Receipt == nil {
		return true
	}
	e.mem.Ending = &as
	return e.record(changes)
}

// lifted reports whether a limit was raised that a run was about to end at.
func (e *Executor) lifted(o *Outcome) bool {
	m, l := e.mem, e.cfg.Loop
	switch o.TerminatedBy {
	case EndMaxSteps:
		return m.Step < l.MaxSteps
	case EndMaxIterations:
		return l.MaxIterations <= 0 || m.Passes < l.MaxIterations
	case EndTimeout:
		return l.Timeout <= 0 || e.elapsed()+time.Millisecond < l.Timeout // the record has whole milliseconds
	case EndBudget:
		return e.usedUp(needPrompt) == nil
	}
	return false
}

// endFields returns what the event of the end of a run has of its outcome. unmerged is why its work tree was
// not merged.
func endFields(o *Outcome, unmerged string) []Field {
	fields := []Field{
		{"final_state", o.FinalState},
		{"iterations", int64(o.Steps)},
		{"terminated_by", o.TerminatedBy},
		{"failure_terminal", o.Failure},
	}
	if o.Error != "" {
		fields = append(fields, Field{"error", o.Error})
	}
	if o.Source != "" {
		fields = append(fields, Field{"source", o.Source})
	}
	if o.Message != "" {
		fields = append(fields, Field{"message", o.Message})
	}
	if o.TerminatedBy == EndSuspended {
		fields = append(fields, Field{"suspended_by", o.SuspendedBy}, Field{"cause", string(o.Cause)})
	}
	if o.Remedy != "" {
		fields = append(fields, Field{"remedy", o.Remedy})
	}
	if o.Ignored != "" {
		fields = append(fields, Field{"ignored_failures", o.Ignored})
	}
	if o.Merge != "" {
		fields = append(fields, Field{"merge", o.Merge})
	}
	if unmerged != "" {
		fields = append(fields, Field{"merge_error", unmerged})
	}
	return fields
}

// message is what a run that ends in the state says last, "" for nothing.
func (e *Executor) message(st *State) string {
	text, err := expr.Expand(st.Message, e.scope(nil))
	if err != nil {
		e.emit(EventWarning, Field{"state", st.Name},
			Field{"message", "no message is printed at the end: " + err.Error()})
		return ""
	}
	return strings.TrimSpace(text)
}

// finishHalted ends the run where nothing was decided.
func (e *Executor) finishHalted(d decision) {
	if d.parked {
		e.finish(EndParked, "")
		return
	}
	e.finishStopped()
}

// finishStopped ends a run that was asked to stop, by cause.
func (e *Executor) finishStopped() {
	m := e.mem
	by, text := EndInterrupted, ""
	stop, shortage := e.stopCause(), e.root().shortage
	switch {
	case !e.ending() && shortage != nil:
		text = shortage.Error()
	case stop != nil && e.deadline != nil && stop == e.deadline.why:
		by = EndTimeout
	case stop != nil && stop.ByUser, stop == nil && !e.ending() && e.drained():
		by = EndUserStopped
	case e.ending() && stop == nil:
		if e.breaks(e.life.ended()); e.machine.broken != nil {
			return
		}
		text = e.life.ended().Error()
	}
	root := e.root()
	root.stopping = root.stopping || m.PendingRequest == "stop"
	m.PendingRequest, m.PendingPayload = "", ""
	e.end(Outcome{TerminatedBy: by, Error: text, Limited: !e.ending() && shortage != nil})
}

// stopCause is the graceful stop that ends the loop; nil = none does.
func (e *Executor) stopCause() *Stop {
	stop, _ := e.life.ended().(*Stop)
	return stop
}

// ending reports whether the loop is to end because of what is around it: a stop of the run, or the end of the
// branch or the item that it is or is inside.
func (e *Executor) ending() bool { return e.life.ended() != nil }

// drained reports whether nothing more is to begin here. An item that is at work has begun: it goes through all
// its states.
func (e *Executor) drained() bool {
	if s := e.slotAround(); s != nil && s.held {
		return false
	}
	return e.draining()
}

// draining reports whether nothing more is to begin in the run.
func (e *Executor) draining() bool {
	return e.machine.drains || e.root().shortage != nil
}

// stopAsked ends the run if a stop was asked for, by the context, by Drain or by an action that printed LOOP_STOP.
func (e *Executor) stopAsked() bool {
	if !e.ending() && !e.drained() && e.mem.PendingRequest != "stop" {
		return false
	}
	e.finishStopped()
	return true
}
