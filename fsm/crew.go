package fsm

import (
	"slices"
	"strconv"
	"time"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// A crew is what a state runs side by side: the branches of parallel, or the items of for_each that have a
// memory of their own. Each member is an executor that is a task of its own.
type crew struct {
	e       *Executor
	st      *State
	live    map[string]*member
	results []*member // that have ended, and were not taken yet
	hands   bool      // a member hands over
	cut     bool      // a member ended that continues when the run does
	handoff string    // payload
	// of the first member whose host does not answer, permanently (D29) or for its rate limit; nil = none had
	// one
	refused *Outcome

	most    int  // items at work at once, where they share slots
	busy    int  // slots that are taken
	wanting int  // items that want theirs back
	freed   bool // an item gave its slot back
}

// A member is one that runs.
type member struct {
	memory *BranchMemory
	x      *Executor
	life   *life
	err    error
}

func newCrew(e *Executor, st *State) *crew {
	return &crew{e: e, st: st, live: map[string]*member{}}
}

// assemble lets members run. They cannot any more after the function that it returns was called.
func (c *crew) assemble() (dismiss func()) {
	e := c.e
	e.crew = c
	e.machine.crews++
	return func() {
		e.crew = nil
		e.machine.crews--
	}
}

// launch begins a member. n, and the try of an item, distinguish its processes from those of the others.
func (c *crew) launch(m *BranchMemory, loop *Loop, st *State, n int) *member {
	e := c.e
	m.Child.Timeout = e.memberTime(m.Child, st, loop)
	x := e.childOf(m.Child, loop, st)
	x.branch, x.inline = m.Name, st.Loop == ""
	x.beside = m.Child.Worktree == "" && (e.beside || c.st.Each == nil || c.st.Each.judgesItems(c.st))
	x.keep = e.keep.inside(c.st.Capture + ".")
	if !x.inline {
		x.keep = x.keep.inside(m.Name + ".")
	}
	x.outer += branchSign + strconv.Itoa(n)
	if _, try := itemTry(m.Name); try > 1 {
		x.outer += "." + strconv.Itoa(try)
	}
	x.life = &life{above: e.life}
	r := &member{memory: m, x: x, life: x.life}
	if st.Loop != "" && st.Timeout > 0 {
		x.deadline = &deadline{used: st.Timeout, why: &Stop{}}
	}
	c.live[m.Name] = r
	if c.most > 0 {
		x.slot = &slot{crew: c, held: true}
		c.busy++
	}
	e.setClocks()
	e.machine.begin(x, func() {
		_, r.err = x.loop()
		c.results = append(c.results, r)
	})
	return r
}

// ended returns a member that has ended; nil = none has that was not returned.
func (c *crew) ended() *member {
	if len(c.results) == 0 {
		return nil
	}
	r := c.results[0]
	c.results = c.results[1:]
	return r
}

// cancelAll ends the members that run, as a stop of the run would.
func (c *crew) cancelAll(why *Stop) {
	for _, r := range c.live {
		r.life.end(why)
	}
}

// What a member comes to.
const (
	memberOver      = iota // it has ended, by itself
	memberFatal            // and with it the run
	memberHandsOver        // the run hands over
	memberCut              // it continues when the run does
	memberRefused          // so it does, once its host answers
)

// came notes that a member does not run any more, and returns its result.
func (c *crew) came(r *member) int {
	e := c.e
	delete(c.live, r.memory.Name)
	c.e.setClocks()
	if r.x.slot != nil {
		r.x.slot.release()
	}
	if r.err != nil {
		if e.machine.broken == nil {
			e.machine.broken = r.err
		}
		return memberFatal
	}
	return c.endOf(r.memory)
}

// endOf returns the result of a member by what is on record of its end, which it notes in the memory of the member.
func (c *crew) endOf(m *BranchMemory) int {
	result := c.resultOf(m)
	c.e.noteInside(m.Name, m.Child)
	return result
}

func (c *crew) resultOf(m *BranchMemory) int {
	e, o := c.e, m.Child.Memory.Outcome
	switch {
	case e.mem.PendingRequest == "error": // what was fatal to a member is fatal to the run
		return memberFatal
	case o.TerminatedBy == EndHandoff:
		c.hands, c.handoff = true, o.Continuation
		return memberHandsOver
	case o.TerminatedBy == EndBudget && e.affordable() == nil: // its own is used up
		return memberOver
	case o.TerminatedBy == EndSuspended, o.TerminatedBy == EndError &&
		(o.Limited || o.Refused && !e.cfg.PermanentVerdicts):
		if c.refused == nil {
			c.refused = o
		}
		return memberRefused
	case unfinished(o) && !o.Refused:
		c.cut = true
		return memberCut
	case o.TerminatedBy == EndTimeout && e.over(): // it is our time that was up
		cut := *o
		cut.TerminatedBy, m.Child.Memory.Outcome = EndInterrupted, &cut
		c.cut = true
		return memberCut
	}
	return memberOver
}

// goesOn reports whether a member that was cut short continues now: its time was up, and the run has more of it
// since then.
func (c *crew) goesOn() bool {
	return c.cut && !c.e.draining() && !c.e.root().stopping
}

// memberTime is how long a member may take in all: what it took and the rest of our time, and a loop not
// more than its own limit and that of the state; 0 = as long as it likes.
func (e *Executor) memberTime(c *Child, st *State, loop *Loop) time.Duration {
	ours := time.Duration(0)
	if all := e.cfg.Loop.Timeout; all > 0 {
		ours = c.Memory.Elapsed + max(all-e.elapsed(), time.Millisecond)
	}
	if st.Loop == "" {
		return ours
	}
	return tightest(loop.Timeout, st.Timeout, ours)
}

// memberVerdict is the verdict of a branch or an item that ended by itself.
func memberVerdict(st *State, o *Outcome) string {
	verdict, _ := outcomeKey(o)
	switch {
	case verdict == "timeout":
		return "error"
	case st.Loop == "" && o.TerminatedBy == EndTerminal:
		return o.FinalState
	}
	return verdict
}

// memberRecord is what a branch or an item left, for the capture of the state. st is what it does.
func memberRecord(st *State, m *Snapshot) *value.Map {
	if own, ok := m.Captured.Value(st.Name).(*value.Map); ok && st.Loop == "" {
		return own.Clone()
	}
	if st.Loop == "" {
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

// admit returns the memory of a member that does what a state says, and its loop. It makes the memory of one
// that begins, m being nil; the templates of what that runs see the scope.
func (e *Executor) admit(st *State, name string, scope *expr.Scope, m *BranchMemory) (*BranchMemory, *Loop, error) {
	var loop *Loop
	var err error
	switch {
	case st.Loop == "":
		loop = inlineLoop(st, e.cfg.Loop)
	case m != nil:
		loop, err = e.childLoop(m.Child.Name)
	}
	if m != nil || err != nil {
		return m, loop, err
	}
	m = &BranchMemory{Name: name}
	if loop == nil {
		m.Child, loop, err = e.descend(st, scope)
	} else {
		m.Child = e.inlineChild(name, loop)
	}
	if err != nil {
		return nil, nil, err
	}
	e.mem.Branches = append(slices.Clip(e.mem.Branches), m)
	return m, loop, nil
}

// inlineChild is the memory of a member with an action, which begins.
func (e *Executor) inlineChild(name string, loop *Loop) *Child {
	return &Child{Name: name, File: loop.File, SHA256: loop.SHA256, Memory: &Snapshot{
		Loop: loop.Name, Phase: PhasePending, Current: loop.Initial, StartedAt: e.now(), Context: e.mem.Context,
		Captured:   value.NewMap(),
		PrevResult: e.mem.PrevResult, Event: e.mem.Event,
	}}
}

// parkedBranch reports whether a branch or an item waits, and nothing carries it.
func (m *Snapshot) parkedBranch() bool {
	for _, b := range m.Branches {
		if b.Child != nil && b.Child.Memory.Outcome != nil && b.Child.Memory.Outcome.TerminatedBy == EndParked {
			return true
		}
	}
	return false
}

// branchPath names the branches and items that this executor is in, outermost first; "" = it is in none.
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

// inlined adds to the fields of an event of a loop that it is the one state of a branch or an item with an action.
func (e *Executor) inlined(fields []Field) []Field {
	if e.inline {
		fields = append(fields, Field{"inline", true})
	}
	return fields
}

// captured are the captures of the loop around a branch or an item with an action, and its own.
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

// A slot is one of the places for items that are at work at once. It is given back while the item waits for
// time, an event or a person.
type slot struct {
	crew *crew
	held bool
}

func (s *slot) release() {
	if !s.held {
		return
	}
	s.held = false
	s.crew.busy--
	s.crew.freed = true
}

// slotAround is the slot that this executor works in, nil if there is none.
func (e *Executor) slotAround() *slot {
	for x := e; x != nil; x = x.parent {
		if x.slot != nil {
			return x.slot
		}
	}
	return nil
}

// rests gives the slot back, because a wait begins.
func (e *Executor) rests() {
	if s := e.slotAround(); s != nil {
		s.release()
	}
}

// regain takes a slot again after a wait, as soon as one is free, and reports whether it did. Items that have
// not begun come behind.
func (e *Executor) regain() bool {
	s := e.slotAround()
	if s == nil || s.held {
		return false
	}
	c := s.crew
	c.wanting++
	if c.busy >= c.most {
		defer e.stopClock()() // it is not at work: whether the time of the run continues is up to those that are
		e.rest(func() bool { return c.busy < c.most || e.ending() || c.e.machine.broken != nil }, nil)
	}
	c.wanting--
	c.busy++
	s.held = true
	return true
}
