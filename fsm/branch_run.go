package fsm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"loops/fsm/value"
)

// A fork runs the branches of one visit. Each is an executor with a goroutine of its own, but only the one that has the baton
// touches what the machine remembers: it is put down while an action runs and while a branch waits, and nowhere else.
type fork struct {
	e       *Executor
	st      *State
	live    map[string]*branchRun
	tried   map[string]bool // branches that ran in this process
	results chan *branchRun
	held    int // live branches that a pause holds
	since   time.Time
	ended   int
	lost    bool   // a branch failed, and the others are to end
	won     bool   // a branch said yes, and the others are to end
	why     *Stop  // the cause that ends them
	late    bool   // the time of the state is up
	handoff string // payload
	hands   bool   // a branch hands over
}

// A branchRun is a branch that runs.
type branchRun struct {
	branch *Branch
	memory *BranchMemory
	x      *Executor
	cancel context.CancelCauseFunc
	err    error
}

// errBranch is the cause by which a branch is ended because of another one.
var errBranch = &Stop{}

// branches begins what lacks a beginning, continues what lacks an end, and leaves the state by what came of it all.
func (e *Executor) branches(ctx context.Context, st *State) decision {
	m := e.mem
	if e.cfg.Verdict != nil {
		if v, decided := e.cfg.Verdict(e.cfg.Loop, st, &Evaluate{Type: "parallel"}, Evidence{Scope: e.scope(nil), Files: e.cfg.Files}); decided {
			return e.joined(st, v.Name, v.Details)
		}
	}
	if e.depth >= MaxDepth {
		return e.exception(st, fmt.Errorf("parallel: states nest more than %d deep", MaxDepth))
	}
	f := &fork{e: e, st: st, live: map[string]*branchRun{}, tried: map[string]bool{}, results: make(chan *branchRun, len(st.Branches.List))}
	m.Attempt++
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
	if !e.record(ctx, true) {
		return decision{halted: true}
	}
	if e.baton == nil {
		e.baton = &sync.Mutex{}
		e.baton.Lock()
		defer func() { e.baton.Unlock(); e.baton = nil }()
	}
	e.fork = f
	f.run(ctx)
	e.fork = nil
	return f.leave(ctx)
}

func (f *fork) most() int {
	if n := f.st.Branches.Most; n > 0 && n < len(f.st.Branches.List) {
		return n
	}
	return len(f.st.Branches.List)
}

// run returns when no branch runs any more and none may begin.
func (f *fork) run(ctx context.Context) {
	e := f.e
	timer, stop := f.timer()
	defer stop()
	for {
		f.begin(ctx)
		if len(f.live) == 0 {
			return
		}
		var done *branchRun
		e.away(ctx, func() {
			select {
			case done = <-f.results:
			case <-timer:
			}
		})
		if done == nil {
			timer, f.late = nil, true
			f.stopAll()
			continue
		}
		f.end(ctx, done)
	}
}

// timer fires when the time of the state is up. What earlier processes took counts.
func (f *fork) timer() (<-chan time.Time, func()) {
	if f.st.Timeout <= 0 {
		return nil, func() {}
	}
	var used time.Duration
	for _, b := range f.e.mem.Branches {
		if b.Child != nil {
			used = max(used, b.Child.Memory.Elapsed)
		}
	}
	t := time.NewTimer(max(0, f.st.Timeout-used))
	return t.C, func() { t.Stop() }
}

// mayBegin reports whether another branch may begin now.
func (f *fork) mayBegin(ctx context.Context) bool {
	e := f.e
	return len(f.live) < f.most() && e.broken == nil && ctx.Err() == nil && !f.lost && !f.won && !f.late && !f.hands && !e.over() && !e.isHeld() && !e.drained() &&
		e.mem.PendingRequest == "" && e.affordable() == nil
}

// begin begins or continues branches, in order.
func (f *fork) begin(ctx context.Context) {
	for i, b := range f.st.Branches.List {
		if !f.mayBegin(ctx) {
			return
		}
		m := f.e.mem.branch(b.Name)
		if f.tried[b.Name] || m != nil && m.End != nil {
			continue
		}
		f.tried[b.Name] = true
		if m != nil && !unfinished(m.Child.Memory.Outcome) { // the process died before it was taken in
			f.settle(ctx, b, m)
			continue
		}
		if err := f.start(ctx, i, b, m); err != nil {
			f.finish(ctx, b, nil, "error", err.Error())
		}
	}
}

// unfinished reports whether a sub-loop that ended so continues when it is entered again.
func unfinished(o *Outcome) bool {
	return o == nil || paused(o) || o.TerminatedBy == EndBudget || o.Refused
}

// start runs a branch on a goroutine of its own. The error is that it cannot begin.
func (f *fork) start(ctx context.Context, i int, b *Branch, m *BranchMemory) error {
	e := f.e
	m, loop, err := f.remember(b, m)
	if err != nil {
		return err
	}
	if m.Child.Memory.Attempt > 0 {
		if name, err := m.Child.Memory.Unrepeatable(loop, e.cfg.Library); err == nil && name != "" {
			f.finish(ctx, b, m, ItemInterrupted, "it was cut short, and idempotent: false does not let it be done again")
			return nil
		}
	}
	x := e.childOf(m.Child, loop, b.State)
	x.baton, x.branch, x.inline = e.baton, b.Name, b.State.Loop == ""
	x.outer += branchSign + strconv.Itoa(i+1)
	e.emit(EventBranchStart, Field{"branch", b.Name})
	if !e.record(ctx, true) {
		return nil
	}
	own, cancel := context.WithCancelCause(ctx)
	r := &branchRun{branch: b, memory: m, x: x, cancel: cancel}
	f.live[b.Name] = r
	go func() {
		x.baton.Lock()
		_, r.err = x.Run(own)
		x.baton.Unlock()
		f.results <- r
	}()
	return nil
}

// remember returns the memory of a branch and its loop. It makes the memory of one that begins.
func (f *fork) remember(b *Branch, m *BranchMemory) (*BranchMemory, *Loop, error) {
	e := f.e
	var loop *Loop
	var err error
	switch {
	case b.State.Loop == "":
		loop = b.loopOf(e.cfg.Loop)
	case m != nil:
		loop, err = e.childLoop(m.Child.Name)
	}
	if m != nil || err != nil {
		return m, loop, err
	}
	m = &BranchMemory{Name: b.Name}
	if loop == nil {
		m.Child, loop, err = e.descend(b.State)
	} else {
		m.Child = &Child{Name: b.Name, File: loop.File, SHA256: loop.SHA256, Timeout: e.left(), Memory: &Snapshot{
			Loop: loop.Name, Phase: PhasePending, Current: loop.Initial, StartedAt: time.Now(), Context: e.mem.Context, Captured: value.NewMap(),
			PrevResult: e.mem.PrevResult, Event: e.mem.Event,
		}}
	}
	if err != nil {
		return nil, nil, err
	}
	e.mem.Branches = append(slices.Clip(e.mem.Branches), m)
	return m, loop, nil
}

// end takes in that a branch does not run any more.
func (f *fork) end(ctx context.Context, r *branchRun) {
	e := f.e
	r.cancel(nil)
	delete(f.live, r.branch.Name)
	f.pauses(0)
	if r.err != nil {
		if e.broken == nil {
			e.broken = r.err
		}
		f.stopAll()
		return
	}
	o := r.memory.Child.Memory.Outcome
	switch {
	case e.mem.PendingRequest == "error": // what was fatal to a branch is fatal to the run
		f.stopAll()
	case o.TerminatedBy == EndHandoff:
		f.hands, f.handoff = true, o.Continuation
	case f.why != nil && ctx.Err() == nil && (o.TerminatedBy == EndInterrupted || o.TerminatedBy == EndUserStopped):
		verdict, text := BranchStopped, ""
		if f.late {
			verdict, text = "error", "the time of the state was up"
		}
		f.finish(ctx, r.branch, r.memory, verdict, text)
	case o.TerminatedBy == EndBudget && e.affordable() == nil: // its own is used up
		f.finish(ctx, r.branch, r.memory, "no", o.Error)
	case unfinished(o) && !o.Refused:
	default:
		f.settle(ctx, r.branch, r.memory)
	}
}

// settle remembers what came of a branch that ended by itself.
func (f *fork) settle(ctx context.Context, b *Branch, m *BranchMemory) {
	o := m.Child.Memory.Outcome
	verdict, _ := outcomeKey(o)
	switch {
	case verdict == "timeout":
		verdict = "error"
	case b.State.Loop == "" && o.TerminatedBy == EndTerminal:
		verdict = o.FinalState
	}
	f.finish(ctx, b, m, verdict, o.Error)
}

// finish remembers what came of a branch.
func (f *fork) finish(ctx context.Context, b *Branch, m *BranchMemory, verdict, text string) {
	e := f.e
	if m == nil {
		m = &BranchMemory{Name: b.Name}
		e.mem.Branches = append(slices.Clip(e.mem.Branches), m)
	}
	rec := value.NewMap()
	if m.Child != nil {
		rec = branchRecord(b, m.Child.Memory)
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
	e.emit(EventBranchEnd, append(fields, Field{"done", int64(f.ended)}, Field{"branches", int64(len(f.st.Branches.List))})...)
	e.record(ctx, true)
	if f.lost || f.won {
		f.stopAll()
	}
}

// count takes in the verdict of a branch.
func (f *fork) count(end *value.Map) {
	f.ended++
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
	for _, r := range f.live {
		r.cancel(f.why)
	}
}
