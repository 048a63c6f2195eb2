package fsm

import (
	"context"
	"strings"
	"time"

	"loops/fsm/value"
)

// away puts the baton down while f waits. What a branch remembers is on record before.
func (e *Executor) away(ctx context.Context, f func()) {
	if e.baton == nil {
		f()
		return
	}
	if len(e.batch.Events) > 0 {
		e.record(ctx, false)
	}
	e.baton.Unlock()
	defer e.baton.Lock()
	f()
}

// branchPath names the branches that this executor is in, outermost first; "" = it is in none.
func (e *Executor) branchPath() string {
	path := ""
	for x := e; x != nil; x = x.parent {
		if x.branch != "" && path != "" {
			path = x.branch + "/" + path
		} else if x.branch != "" {
			path = x.branch
		}
	}
	return path
}

// branchRecord is what a branch left, for the capture of the state.
func branchRecord(b *Branch, m *Snapshot) *value.Map {
	if own, ok := m.Captured.Value(b.Name).(*value.Map); ok && b.State.Loop == "" {
		return own.Clone()
	}
	if b.State.Loop == "" {
		return value.NewMap("output", "")
	}
	rec := m.Captured.Clone()
	if rec == nil {
		rec = value.NewMap()
	}
	rec.Set("output", "")
	if o := m.Outcome; o != nil {
		rec.Set("output", o.Message)
		rec.Set("terminated_by", o.TerminatedBy)
		rec.Set("final_state", o.FinalState)
	}
	return rec
}

// leave decides what came of it all.
func (f *fork) leave(ctx context.Context) decision {
	e, m := f.e, f.e.mem
	if e.broken != nil || ctx.Err() != nil {
		return decision{halted: true}
	}
	if m.PendingRequest == "error" {
		return decision{}
	}
	if f.hands {
		m.PendingRequest, m.PendingPayload = "handoff", f.handoff
		return decision{}
	}
	var parked bool
	for _, b := range m.Branches {
		if b.Child != nil && b.Child.Memory.Outcome != nil {
			parked = parked || b.Child.Memory.Outcome.TerminatedBy == EndParked
		}
	}
	finished := f.ended == len(f.st.Branches.List) || f.lost || f.won || f.late
	switch err := e.affordable(); {
	case !finished && err != nil:
		return e.exception(f.st, err)
	case parked && !finished:
		return decision{halted: true, parked: true}
	case !finished && (e.over() || e.isHeld()):
		return f.wait(ctx)
	case !finished:
		return decision{halted: true}
	}
	yes := 0
	rec, verdicts := value.NewMap(), value.NewMap()
	var failed []string
	for _, b := range f.st.Branches.List {
		end := value.NewMap("output", "", "verdict", BranchStopped)
		if bm := m.branch(b.Name); bm != nil && bm.End != nil {
			end = bm.End
		} else if bm != nil && bm.Child != nil {
			end = branchRecord(b, bm.Child.Memory)
			end.Set("verdict", BranchStopped)
		}
		rec.Set(b.Name, end)
		verdict, _ := end.Value("verdict").(string)
		verdicts.Set(b.Name, verdict)
		switch verdict {
		case "yes":
			yes++
		case BranchStopped:
		default:
			failed = append(failed, b.Name)
		}
	}
	verdict := "no"
	switch {
	case yes == len(f.st.Branches.List) || yes > 0 && f.st.Branches.Join == JoinAny:
		verdict = "yes"
	case yes > 0:
		verdict = ItemsPartial
	}
	rec.Set("failed", strings.Join(failed, "\n"))
	m.Branches = nil
	m.setCapture(f.st.Capture, rec)
	details := value.NewMap("branches", verdicts, "failed", strings.Join(failed, ", "))
	return e.joined(f.st, verdict, details)
}

// wait waits while the run is paused, or ends it because its time is up, and continues with the branches that lack an end.
func (f *fork) wait(ctx context.Context) decision {
	e := f.e
	if e.over() && e.loopTimeout(ctx) != pass || e.isHeld() && e.held(ctx) == ended || ctx.Err() != nil {
		return decision{halted: true}
	}
	e.mem.Attempt--
	return e.branches(ctx, f.st)
}

// pauses takes in that a branch is held, or is not any more. The clock of the state stands still while all are.
func (f *fork) pauses(change int) {
	was := f.held > 0 && f.held >= len(f.live)
	if f.held += change; change == 0 {
		return
	}
	switch now := f.held > 0 && f.held >= len(f.live); {
	case now && !was:
		f.since = time.Now()
	case was && !now:
		f.e.shift(time.Since(f.since))
	}
}

// shift has the clock of a loop, and of those around it, stand still for a time that was paused.
func (e *Executor) shift(paused time.Duration) {
	for x := e; x != nil; x = x.parent {
		x.started = x.started.Add(paused)
		if x.branch != "" {
			return // the state around the branches has its own clock
		}
	}
}

// around is the state whose branch this executor is in, nil if it is in none.
func (e *Executor) around() *fork {
	for x := e; x != nil; x = x.parent {
		if x.branch != "" {
			return x.parent.fork
		}
	}
	return nil
}

// joined leaves a state with branches by its verdict.
func (e *Executor) joined(st *State, verdict string, details *value.Map) decision {
	m := e.mem
	if err := e.assign(st); err != nil {
		return e.exception(st, err)
	}
	res := Result{}
	if verdict != "yes" {
		res.ExitCode = 1
	}
	m.PrevResult = prevResult(st, &res)
	fields := []Field{{"type", "parallel"}, {"verdict", verdict}}
	for _, k := range details.Keys() {
		fields = append(fields, Field{k, details.Value(k)})
	}
	e.emit(EventEvaluate, fields...)
	m.LastResult = value.NewMap("verdict", verdict, "details", details)
	scope := e.scope(value.NewMap("verdict", verdict, "details", details))
	target, err := st.Next, error(nil)
	if target == "" {
		target, err = e.route(st, Followed(st, verdict), scope)
	} else {
		target, err = e.target(st.Next, scope)
	}
	if err != nil {
		return e.exception(st, err)
	}
	return decision{target: target}
}

// captured are the captures of the loop around a branch with an action, and its own.
func (e *Executor) captured() *value.Map {
	if !e.inline {
		return e.mem.Captured
	}
	all := e.parent.captured().Clone()
	for _, k := range e.mem.Captured.Keys() {
		all.Set(k, e.mem.Captured.Value(k))
	}
	return all
}
