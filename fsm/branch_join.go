package fsm

import (
	"errors"
	"slices"
	"strings"

	"loops/fsm/value"
)

// leave decides the verdict.
func (f *fork) leave() decision {
	e, m := f.e, f.e.mem
	if e.machine.broken != nil || e.ending() {
		return decision{halted: true}
	}
	if m.PendingRequest == "error" {
		return decision{}
	}
	if f.hands {
		m.PendingRequest, m.PendingPayload = "handoff", f.handoff
		return decision{}
	}
	if f.refused != nil && !f.won && (f.why != nil || f.late || !f.open()) {
		return e.unanswered(f.st, f.refused)
	}
	parked := m.parkedBranch()
	finished := f.done == len(f.st.Branches.List) || f.lost || f.won || f.late
	switch err := e.affordable(); {
	case !finished && err != nil:
		return e.exception(f.st, err)
	case parked && !finished:
		return decision{halted: true, parked: true}
	case !finished && (e.over() || e.isHeld() || f.goesOn()):
		return f.wait()
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
			end = memberRecord(b.State, bm.Child.Memory)
			f.leavesTree(end, bm.Child)
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
	if err := f.gather(rec); errors.Is(err, errHalted) {
		return decision{halted: true}
	} else if err != nil {
		m.forgetInside()
		m.setCapture(f.st.Capture, rec)
		return e.exception(f.st, err)
	}
	m.forgetInside()
	m.setCapture(f.st.Capture, rec)
	details := value.NewMap("branches", verdicts, "failed", strings.Join(failed, ", "))
	return e.joined(f.st, verdict, details)
}

// open reports whether a branch has neither ended nor been refused: what refused another one is followed after it.
func (f *fork) open() bool {
	return slices.ContainsFunc(f.st.Branches.List, func(b *Branch) bool {
		m := f.e.mem.branch(b.Name)
		if m == nil || m.End != nil || m.Child.Memory.Outcome == nil {
			return m == nil || m.End == nil
		}
		o := m.Child.Memory.Outcome
		return paused(o) || !o.Retriable()
	})
}

// wait waits while the run is paused, or ends it because its time is up, and continues with the branches that
// lack an end.
func (f *fork) wait() decision {
	e := f.e
	if e.over() && e.loopTimeout() != pass || e.isHeld() && e.held() != pass || e.ending() {
		return decision{halted: true}
	}
	e.mem.Attempt--
	return e.branches(f.st)
}

// joined leaves a state with branches by its verdict.
func (e *Executor) joined(st *State, verdict string, details *value.Map) decision {
	m := e.mem
	res := Result{}
	if verdict != "yes" {
		res.ExitCode = 1
	}
	m.PrevResult = prevResult(st, &res)
	if err := e.assign(st, m.PrevResult); err != nil {
		return e.exception(st, err)
	}
	fields := []Field{{"type", "parallel"}, {"verdict", verdict}}
	for _, k := range details.Keys() {
		fields = append(fields, Field{k, details.Value(k)})
	}
	e.emit(EventEvaluate, fields...)
	m.LastResult = value.NewMap("verdict", verdict, "details", details)
	scope := e.scope(value.NewMap("verdict", verdict, "details", details))
	var target string
	var err error
	if st.Next != "" {
		target, err = e.target(e.onward(st, verdict), scope)
	} else {
		target, err = e.route(st, Followed(st, verdict), scope)
	}
	if err != nil {
		return e.exception(st, err)
	}
	return decision{target: target}
}
