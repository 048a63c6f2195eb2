package fsm

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"loops/fsm/value"
)

// A fork runs the branches of one visit.
type fork struct {
	*crew
	tried map[string]bool // branches that ran in this process
	done  int             // branches that have ended
	lost  bool            // a branch failed, and the others are to end
	won   bool            // a branch said yes, and the others are to end
	why   *Stop           // the cause that ends them
	late  bool            // the time of the state is up
}

// errBranch is the cause by which a branch is ended because of another one.
var errBranch = &Stop{}

// errLate is the error of a branch that is ended by the timeout of the state.
const errLate = "the time of the state was up"

// branches begins what has no beginning, continues what is unfinished, and routes by the joined result.
func (e *Executor) branches(st *State) decision {
	m := e.mem
	if v, decided := e.given(st, "parallel"); decided {
		return e.joined(st, v.Name, v.Details)
	}
	if e.depth >= MaxDepth {
		return e.exception(st, fmt.Errorf("parallel: states nest more than %d deep", MaxDepth))
	}
	f := &fork{crew: newCrew(e, st), tried: map[string]bool{}}
	if !st.Branches.HasTrees() {
		if err := e.watch(st); err != nil {
			return e.exception(st, err)
		}
	}
	f.startVisit()
	m.Attempt++
	e.rerunBranches()
	fields := []Field{{"state", st.Name}, {"branches", int64(len(st.Branches.List))}, {"max_parallel", int64(f.most())}}
	if len(m.Branches) > 0 {
		fields = append(fields, Field{"resumed", true})
	}
	for _, b := range m.Branches {
		if b.End != nil {
			f.count(b.End)
		}
	}
	e.emit(EventBranchesStart, fields...)
	if !e.record(true) {
		return decision{halted: true}
	}
	defer f.assemble()()
	f.run()
	if err := e.inspect(st); err != nil && e.machine.broken == nil && !e.ending() {
		return e.exception(st, err)
	}
	return f.leave()
}

// rerunBranches forgets the branches that came to interrupted because they must not be repeated, where a user
// has them run again.
func (e *Executor) rerunBranches() {
	if !e.cfg.Again.Interrupted {
		return
	}
	e.mem.Branches = slices.DeleteFunc(slices.Clone(e.mem.Branches), func(b *BranchMemory) bool {
		return b.End != nil && b.End.Value("verdict") == ItemInterrupted
	})
}

func (f *fork) most() int {
	if n := f.st.Branches.Most; n > 0 && n < len(f.st.Branches.List) {
		return n
	}
	return len(f.st.Branches.List)
}

// run returns when no branch runs any more and none may begin.
func (f *fork) run() {
	e := f.e
	for {
		f.begin()
		if len(f.live) == 0 {
			return
		}
		e.rest(func() bool { return len(f.results) > 0 || !f.late && f.timeUp() }, f.left)
		switch done := f.ended(); {
		case done != nil:
			f.end(done)
		case !f.late && f.timeUp():
			f.late = true
			f.stopAll()
		}
	}
}

// startVisit records when the visit began. A resumed run keeps that; if a former version began it, the branches
// at work say how long it lasts already.
func (f *fork) startVisit() {
	m := f.e.mem
	if f.st.Timeout <= 0 || m.VisitBegan > 0 {
		return
	}
	var used time.Duration
	for _, b := range m.Branches {
		if b.Child != nil {
			used = max(used, b.Child.Memory.Elapsed)
		}
	}
	m.VisitBegan = max((f.e.elapsed() - used).Truncate(time.Millisecond), time.Millisecond)
}

// timeLeft returns how much of the time of the state is left.
func (f *fork) timeLeft() time.Duration {
	return f.st.Timeout - (f.e.elapsed() - f.e.mem.VisitBegan)
}

func (f *fork) timeUp() bool { return f.st.Timeout > 0 && f.timeLeft() <= 0 }

// left is in how long the time of the state is up, while its clock is running.
func (f *fork) left() (time.Duration, bool) {
	return f.timeLeft(), f.st.Timeout > 0 && !f.late && !f.e.standsStill()
}

// mayBegin reports whether another branch may begin now.
func (f *fork) mayBegin() bool {
	e := f.e
	return len(f.live) < f.most() && e.machine.broken == nil && !e.ending() && !f.lost && !f.won && !f.timeUp() &&
		!f.hands && f.why == nil && !e.over() && !e.isHeld() && !e.drained() &&
		e.mem.PendingRequest == "" && e.affordable() == nil
}

// begin begins or continues branches, in order.
func (f *fork) begin() {
	if len(f.live) == 0 && f.timeUp() {
		f.endOpen()
		return
	}
	for i, b := range f.st.Branches.List {
		if !f.mayBegin() {
			return
		}
		m := f.e.mem.branch(b.Name)
		if f.tried[b.Name] || m != nil && m.End != nil {
			continue
		}
		f.tried[b.Name] = true
		if m != nil && !f.e.continues(f.st, m.Child.Memory.Outcome) { // the process died before it was taken in
			f.follow(b, m, f.endOf(m))
			continue
		}
		if err := f.start(i, b, m); err != nil {
			f.finish(b, nil, "error", err.Error())
		}
	}
}

// endOpen ends the branches of a run that was resumed when the time of the state was up.
func (f *fork) endOpen() {
	if f.e.machine.broken != nil || f.e.ending() {
		return
	}
	f.late = true
	for _, b := range f.st.Branches.List {
		switch m := f.e.mem.branch(b.Name); {
		case m == nil || m.End != nil:
		case unfinished(m.Child.Memory.Outcome):
			f.finish(b, m, "error", errLate)
		default:
			f.settle(b, m)
		}
	}
}

// start begins a branch. The error is that it cannot begin.
func (f *fork) start(i int, b *Branch, m *BranchMemory) error {
	e := f.e
	begins := m == nil
	m, loop, err := e.admit(b.State, b.Name, e.scope(nil), m)
	if err != nil {
		return err
	}
	if begins && f.st.Branches.HasTrees() {
		m.Child.Branch = e.treeBranch(b.Name)
	}
	if m.Child.Memory.Attempt > 0 && !e.cfg.Again.Interrupted {
		if name, err := m.Child.Memory.Unrepeatable(loop, e.cfg.Library); err == nil && name != "" {
			f.finish(b, m, ItemInterrupted, errCutShort.Error())
			return nil
		}
	}
	e.emit(EventBranchStart, Field{"branch", b.Name})
	if !e.record(true) {
		return nil
	}
	if err := f.tree(m.Child); err != nil {
		if errors.Is(err, errHalted) {
			return nil
		}
		f.finish(b, m, "error", err.Error())
		return nil
	}
	f.launch(m, loop, b.State, i+1)
	return nil
}

// end notes that a branch does not run any more.
func (f *fork) end(r *member) {
	came := f.came(r)
	f.follow(f.st.Branches.Named(r.memory.Name), r.memory, came)
}

// follow does what the end of a branch leads to.
func (f *fork) follow(b *Branch, m *BranchMemory, came int) {
	o := m.Child.Memory.Outcome
	switch {
	case came == memberFatal:
		f.stopAll()
	case came == memberHandsOver:
	case came == memberRefused:
		if join := f.st.Branches.Join; join == JoinAll && !f.st.Branches.Continue {
			f.stopAll() // they continue when the run does
		}
	case f.refused != nil && came == memberCut:
	case f.why != nil && !f.e.ending() && (o.TerminatedBy == EndInterrupted || o.TerminatedBy == EndUserStopped):
		verdict, text := BranchStopped, ""
		if f.late {
			verdict, text = "error", errLate
		}
		f.finish(b, m, verdict, text)
	case came == memberOver:
		f.settle(b, m)
	}
}

// settle remembers the result of a branch that ended by itself.
func (f *fork) settle(b *Branch, m *BranchMemory) {
	o := m.Child.Memory.Outcome
	f.finish(b, m, memberVerdict(b.State, o), o.Error)
}

// finish remembers the result of a branch.
func (f *fork) finish(b *Branch, m *BranchMemory, verdict, text string) {
	e := f.e
	if m == nil {
		m = &BranchMemory{Name: b.Name}
		e.mem.Branches = append(slices.Clip(e.mem.Branches), m)
	}
	rec := value.NewMap()
	if m.Child != nil {
		rec = memberRecord(b.State, m.Child.Memory)
		f.leavesTree(rec, m.Child)
	} else {
		rec.Set("output", "")
	}
	rec.Set("verdict", verdict)
	if text != "" {
		rec.Set("error", text)
	}
	// A list that was recorded is not changed: another one takes its place.
	list := slices.Clone(e.mem.Branches)
	list[slices.Index(list, m)] = &BranchMemory{Name: b.Name, End: rec}
	e.mem.Branches = list
	f.count(rec)
	fields := []Field{{"branch", b.Name}, {"verdict", verdict}}
	if code := rec.Value("exit_code"); code != nil {
		fields = append(fields, Field{"exit_code", code})
	}
	if text != "" {
		fields = append(fields, Field{"error", value.Truncate(text, 500)})
	}
	e.emit(EventBranchEnd,
		append(fields, Field{"done", int64(f.done)}, Field{"branches", int64(len(f.st.Branches.List))})...)
	if e.record(true) {
		e.settle() // a list inside a branch can be done again from here
	}
	if f.lost || f.won {
		f.stopAll()
	}
}

// count counts the verdict of a branch.
func (f *fork) count(end *value.Map) {
	f.done++
	verdict := end.Value("verdict")
	switch join := f.st.Branches.Join; {
	case verdict == "yes":
		f.won = f.won || join == JoinAny
	case verdict != BranchStopped && join == JoinAll && !f.st.Branches.Continue:
		f.lost = true
	}
}

// stopAll ends the branches that run, as a stop of the run would.
func (f *fork) stopAll() {
	f.why = errBranch
	f.cancelAll(f.why)
}
