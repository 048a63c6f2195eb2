package fsm

import (
	"context"
	"slices"
	"strings"
	"time"

	"loops/fsm/template"
)

func (e *Executor) emit(kind string, fields ...Field) {
	e.batch.Events = append(e.batch.Events, Event{Kind: kind, Time: time.Now(), Fields: fields})
}

// ownLines is how many empty lines at the end of an output get an event each.
const ownLines = 16

// emitOutput logs lines, which are joined by line ends. Empty ones at the end get an event each, because readers of such a
// log take one line end off the end of a line.
func (e *Executor) emitOutput(b *Batch, text string) {
	empty := 0
	for ; empty < ownLines && strings.HasSuffix(text, "\n"); empty++ {
		text = text[:len(text)-1]
	}
	now := time.Now()
	b.Events = append(b.Events, Event{Kind: EventActionOutput, Time: now, Fields: []Field{{"line", text}}})
	for range empty {
		b.Events = append(b.Events, Event{Kind: EventActionOutput, Time: now, Fields: []Field{{"line", ""}}})
	}
}

// record has the events so far remembered together with the memory, and then shows them. It reports whether
// that worked.
func (e *Executor) record(ctx context.Context, checkpoint bool) bool {
	if e.broken != nil {
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
	if e.cfg.Verify {
		if err := e.mem.verify(); err != nil {
			e.broken = err
			return false
		}
	}
	e.batch.Snapshot, e.batch.Checkpoint = e.mem, checkpoint
	return e.write(ctx, &e.batch)
}

func (e *Executor) write(ctx context.Context, b *Batch) bool {
	if !e.keepFiles(ctx, b) {
		return false
	}
	// A stop must not keep the end of the run from being recorded.
	if err := e.cfg.Recorder.Record(context.WithoutCancel(ctx), b); err != nil {
		e.broken = err
		return false
	}
	if n := len(b.Events); n > 0 {
		e.recorded = b.Events[n-1].Seq
	}
	if e.cfg.Observe != nil {
		for _, ev := range b.Events {
			e.cfg.Observe(ev)
		}
	}
	clear(b.Events)
	b.Events, b.Snapshot, b.Checkpoint = b.Events[:0], nil, false
	return true
}

// keepFiles has files kept before what depends on them is recorded. Of a batch their event is the first.
func (e *Executor) keepFiles(ctx context.Context, b *Batch) bool {
	if e.cfg.Keep == nil || e.parent != nil || b.Snapshot == nil && !b.Checkpoint {
		return true
	}
	ev, changed, err := e.cfg.Keep(ctx)
	if err != nil {
		e.broken = err
		return false
	}
	if changed {
		ev.Time = time.Now()
		b.Events = slices.Insert(b.Events, 0, ev)
	}
	return true
}

// finish ends the run.
func (e *Executor) finish(ctx context.Context, by, text string) {
	e.end(ctx, Outcome{TerminatedBy: by, Error: text})
}

// end ends the run with an outcome, whose other fields it fills in.
func (e *Executor) end(ctx context.Context, as Outcome) {
	m, by, text := e.mem, as.TerminatedBy, as.Error
	o := &as
	o.FinalState, o.Steps, o.Continuation = m.Current, m.Step, m.Continuation
	if st := e.cfg.Loop.States[m.Current]; by == EndTerminal && st != nil {
		o.Failure, o.Message = st.Failure, e.message(st)
	}
	unmerged := ""
	if by == EndTerminal && !o.Failure && e.parent == nil && e.cfg.Merge != nil {
		if !e.record(ctx, true) {
			return
		}
		o.Merge, unmerged = e.cfg.Merge(ctx)
	}
	if stop := stopCause(ctx); stop != nil && (by == EndInterrupted || by == EndUserStopped) {
		o.Signal = stop.Signal
	}
	o.Duration = e.elapsed()
	fields := []Field{
		{"final_state", o.FinalState},
		{"iterations", int64(o.Steps)},
		{"terminated_by", by},
		{"failure_terminal", o.Failure},
	}
	if text != "" {
		fields = append(fields, Field{"error", text})
	}
	if o.Source != "" {
		fields = append(fields, Field{"source", o.Source})
	}
	if o.Message != "" {
		fields = append(fields, Field{"message", o.Message})
	}
	if e.parent == nil {
		o.Ignored = m.IgnoredText()
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
	if stop := stopCause(ctx); stop != nil && stop.By != "" && by == EndUserStopped {
		fields = append(fields, Field{"by", stop.By})
	}
	e.emit(EventLoopComplete, e.facts(ctx, e.inlined(fields), true)...)
	if e.parent == nil && e.cfg.Why != nil {
		o.Reason = e.cfg.Why(*o, e.batch.Events)
	}
	m.Outcome = o
	// The end of a sub-loop is durable with what its parent does next.
	if !e.record(ctx, e.parent == nil) {
		m.Outcome = nil
	}
}

// message is what a run that ends in the state says last, "" for nothing.
func (e *Executor) message(st *State) string {
	text, err := template.Expand(st.Message, e.scope(nil))
	if err != nil {
		e.emit(EventWarning, Field{"state", st.Name}, Field{"message", "no message is printed at the end: " + err.Error()})
		return ""
	}
	return strings.TrimSpace(text)
}

// finishHalted ends the run where nothing was decided.
func (e *Executor) finishHalted(ctx context.Context, d decision) {
	if d.parked {
		e.finish(ctx, EndParked, "")
		return
	}
	e.finishStopped(ctx)
}

// finishStopped ends a run that was asked to stop, by cause.
func (e *Executor) finishStopped(ctx context.Context) {
	m := e.mem
	by, text := EndInterrupted, ""
	stop, shortage := stopCause(ctx), e.root().shortage
	switch {
	case ctx.Err() == nil && shortage != nil:
		text = shortage.Error()
	case stop != nil && e.deadline != nil && stop == e.deadline.why:
		by = EndTimeout
	case stop != nil && stop.ByUser, stop == nil && ctx.Err() == nil && e.drained():
		by = EndUserStopped
	case ctx.Err() != nil && stop == nil:
		if e.breaks(context.Cause(ctx)); e.broken != nil {
			return
		}
		text = context.Cause(ctx).Error()
	}
	root := e.root()
	root.stopping = root.stopping || m.PendingRequest == "stop"
	m.PendingRequest, m.PendingPayload = "", ""
	e.end(ctx, Outcome{TerminatedBy: by, Error: text, Limited: ctx.Err() == nil && shortage != nil})
}

func stopCause(ctx context.Context) *Stop {
	stop, _ := context.Cause(ctx).(*Stop)
	return stop
}

// drained reports whether nothing more is to begin here. An item that is at work has begun: it goes through all its states.
func (e *Executor) drained() bool {
	if s := e.slotAround(); s != nil && s.held {
		return false
	}
	return e.draining()
}

// draining reports whether nothing more is to begin in the run.
func (e *Executor) draining() bool {
	select {
	case <-e.cfg.Drain:
		return true
	default:
		return e.root().shortage != nil
	}
}

// stopAsked ends the run if a stop was asked for, by the context, by Drain or by an action that printed LOOP_STOP.
func (e *Executor) stopAsked(ctx context.Context) bool {
	if ctx.Err() == nil && !e.drained() && e.mem.PendingRequest != "stop" {
		return false
	}
	e.finishStopped(ctx)
	return true
}
