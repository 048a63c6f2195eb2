package fsm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// MaxDepth is how deep sub-loops may nest (D10).
const MaxDepth = 32

// maxChildLog is how much of a sub-loop's events its state can capture, in bytes.
const maxChildLog = 1 << 20

// subloop runs another loop as this state, or continues the one that the memory holds, and routes its outcome.
//
// The sub-loop is an executor of its own whose memory is part of ours: whatever it records is recorded with us, so
// that a resumed run continues inside it.
func (e *Executor) subloop(st *State) decision {
	m := e.mem
	if v, decided := e.given(st, "loop"); decided {
		return e.routeOutcome(st, v.Name, v.Name == "yes")
	}
	var loop *Loop
	var err error
	if m.Child == nil {
		if m.Child, loop, err = e.descend(st, e.scope(nil)); err != nil {
			return e.exception(st, err)
		}
	}
	if e.continues(st, m.Child.Memory.Outcome) {
		if loop == nil {
			if loop, err = e.childLoop(m.Child.Name); err != nil {
				return e.exception(st, err)
			}
			if e.root().forked != nil && m.Child.Memory.Elapsed == 0 { // its time begins with that of the fork
				m.Child.Timeout = e.clamp(st, loop)
			}
		}
		if refused, err := e.attach(st, m.Child); err != nil {
			return e.exception(st, err)
		} else if refused != "" {
			m.Child = nil
			return e.routeOutcome(st, "error", false)
		}
		e.below = e.child(loop, st)
		_, err := e.below.loop()
		e.below = nil
		if err != nil {
			if e.machine.broken == nil {
				e.machine.broken = err
			}
			return decision{halted: true}
		}
	}
	e.noteInside("", m.Child)
	o := m.Child.Memory.Outcome
	switch {
	case m.PendingRequest == "error": // what was fatal to the sub-loop is fatal to us
		return decision{}
	case o.TerminatedBy == EndHandoff:
		m.PendingRequest, m.PendingPayload = "handoff", o.Continuation
		return decision{}
	case paused(o):
		return decision{halted: true, parked: o.TerminatedBy == EndParked && !e.ending()}
	case o.Retriable() && !e.takesUnanswered(st, o):
		return unansweredInside("sub-loop "+m.Child.Name+": ", o)
	case o.TerminatedBy == EndBudget:
		if err := e.affordable(); err != nil {
			return e.exception(st, err) // ours, or one around us; otherwise it was the sub-loop's own
		}
	}
	if !e.detach(st, m.Child) {
		return decision{halted: true} // the outcome is on record and is routed when the run is resumed
	}
	e.captureChild(st, o)
	m.Child = nil
	if o.Limited && st.OnRateLimitExhausted != "" {
		return e.limitsInside(st)
	}
	if o.TerminatedBy == EndSuspended && st.OnSuspended != "" {
		return e.leadsSuspended(st, st.OnSuspended, o.Error, e.scope(nil))
	}
	key, good := outcomeKey(o)
	return e.routeOutcome(st, key, good)
}

// given returns the verdict that [World.Verdict] gives a state which is judged by what it waits for or runs, "wait",
// "for_each", "parallel" or "loop". It reports false where that decides nothing.
func (e *Executor) given(st *State, what string) (Verdict, bool) {
	if e.cfg.Verdict == nil || !e.record(false) || !e.settle() {
		return Verdict{}, false
	}
	return e.cfg.Verdict(e.cfg.Loop, st, &Evaluate{Type: what},
		Evidence{Scope: e.scope(nil), Files: e.cfg.Files, At: e.visitAddress()})
}

// paused reports whether a sub-loop ended so that it continues when the run is resumed.
func paused(o *Outcome) bool {
	switch o.TerminatedBy {
	case EndInterrupted, EndUserStopped, EndHandoff, EndParked:
		return true
	}
	return false
}

// continues reports whether what a state runs, and what ended so, continues where it was. Otherwise its end is
// followed. If a budget or a refusal ended it, it continues only where this loop ended by that too, or where an
// agent is asked again: the process that died had only that end to follow, here or in a loop around this one.
func (e *Executor) continues(st *State, o *Outcome) bool {
	switch {
	case o == nil || paused(o):
		return true
	case !unfinished(o) || e.reopened:
		return unfinished(o)
	}
	if !o.Limited && o.TerminatedBy != EndSuspended || e.takesUnanswered(st, o) {
		return false
	}
	for x := e.parent; x != nil; x = x.parent {
		if st := x.cfg.Loop.States[x.mem.Current]; st != nil && x.takesUnanswered(st, o) {
			return false
		}
	}
	return true
}

// unfinished reports whether a sub-loop that ended so can continue when it is entered again.
func unfinished(o *Outcome) bool {
	return o == nil || paused(o) || o.TerminatedBy == EndBudget || o.Retriable()
}

// descend prepares a fresh sub-loop, whose templates see the scope. An error is an exception.
func (e *Executor) descend(st *State, scope *expr.Scope) (*Child, *Loop, error) {
	name, err := expr.Expand(st.Loop, scope)
	if err != nil {
		return nil, nil, err
	}
	if e.depth >= MaxDepth {
		return nil, nil, fmt.Errorf("sub-loop %s: loops nest more than %d deep; does one of them run itself?", name,
			MaxDepth)
	}
	branch, err := expr.Expand(st.Worktree, scope)
	if err != nil {
		return nil, nil, err
	}
	c := &Child{Name: name, Branch: strings.TrimSpace(branch)}
	loop, err := e.childLoop(name)
	if err != nil {
		return nil, nil, err
	}
	values, err := e.childContext(st, loop, scope)
	if err != nil {
		return nil, nil, fmt.Errorf("sub-loop %s: %w", name, err)
	}
	c.File, c.SHA256, c.Timeout = loop.File, loop.SHA256, e.clamp(st, loop)
	c.Memory = &Snapshot{
		Loop: loop.Name, Phase: PhasePending, Current: loop.Initial, StartedAt: e.now(), Context: values,
		Captured: value.NewMap(),
	}
	return c, loop, nil
}

// childLoop finds the definition of a sub-loop.
func (e *Executor) childLoop(name string) (*Loop, error) {
	if e.cfg.Library == nil {
		return nil, fmt.Errorf("sub-loop %s: no loops can be found here", name)
	}
	loop, err := e.cfg.Library.Loop(name, e.cfg.Loop)
	if err != nil {
		return nil, fmt.Errorf("sub-loop %s: %w", name, err)
	}
	return loop, nil
}

// clamp is the time a sub-loop may take: its own limit, that of the state, or the rest of ours.
func (e *Executor) clamp(st *State, loop *Loop) time.Duration {
	return tightest(loop.Timeout, st.Timeout, e.left())
}

// tightest is the least of some limits, of which 0 is none.
func tightest(limits ...time.Duration) (least time.Duration) {
	for _, limit := range limits {
		if limit > 0 && (least <= 0 || limit < least) {
			least = limit
		}
	}
	return least
}

// left is the rest of the loop's timeout, in whole seconds and a second at least; 0 = it has none.
func (e *Executor) left() time.Duration {
	if e.cfg.Loop.Timeout <= 0 {
		return 0
	}
	return max((e.cfg.Loop.Timeout - e.elapsed()).Truncate(time.Second), time.Second)
}

// child returns the executor of the sub-loop in the memory.
func (e *Executor) child(loop *Loop, st *State) *Executor {
	x := e.childOf(e.mem.Child, loop, st)
	x.keep = e.keep.inside(st.Name + ".")
	return x
}

// childOf returns the executor of a sub-loop or of a branch.
func (e *Executor) childOf(c *Child, loop *Loop, st *State) *Executor {
	own := *loop
	own.Timeout = c.Timeout
	cfg := e.cfg
	cfg.Loop, cfg.Observe, cfg.Prepare = &own, nil, nil
	if c.Worktree != "" {
		cfg.Files = filesIn{e.cfg.Files, c.Worktree}
	}
	x := &Executor{
		cfg: cfg, mem: c.Memory, parent: e, self: c, task: e.task, machine: e.machine, life: e.life,
		depth: e.depth + 1, outer: e.outer + AttemptMark(e.mem.Step, e.mem.Attempt), dir: e.dir,
		around: e.sandboxBelow(st), guarding: e.guardsBelow(st),
	}
	if c.Worktree != "" {
		x.dir = c.Worktree
	}
	x.beside = e.beside && c.Worktree == ""
	x.resumed = c.Memory.Step > 0 || c.Memory.Outcome != nil
	log := &childLog{on: st.Capture != "", child: c}
	for _, line := range c.Log {
		log.size += len(line)
	}
	x.log = log
	return x
}

// childContext is what a sub-loop starts with: "The context of a sub-loop" in docs/decisions.md. By D10,
// parameters always have their defaults and their types, and run_dir is always there.
func (e *Executor) childContext(st *State, loop *Loop, scope *expr.Scope) (*value.Map, error) {
	m, values := e.mem, value.NewMap()
	given := value.NewMap()
	switch {
	case st.With != nil:
		v, err := expr.ExpandValue(st.With, asData(scope))
		if err != nil {
			return nil, err
		}
		given, _ = v.(*value.Map)
	case st.Passthrough:
		values = m.Context.Clone()
		for _, k := range m.Captured.Keys() {
			v, err := scope.Whole(m.Captured.Value(k), "captured."+k)
			if err != nil {
				return nil, err
			}
			if rec, ok := v.(*value.Map); ok {
				if _, isAction := rec.Get("exit_code"); isAction {
					v, _ = rec.Get("output")
				}
			}
			values.Set(k, v)
		}
		for _, p := range loop.Parameters {
			if v, ok := values.Get(p.Name); ok {
				if _, own := loop.Context.Get(p.Name); !own {
					given.Set(p.Name, v)
				}
			}
		}
	}
	for _, k := range loop.Context.Keys() {
		v, _ := loop.Context.Get(k)
		values.Set(k, v)
	}
	bound, err := Bind(open(loop, given, st.With.Len() > 0), given)
	if err != nil {
		return nil, err
	}
	for _, k := range bound.Keys() {
		v, _ := bound.Get(k)
		values.Set(k, v)
	}
	e.inherit(values)
	return values, nil
}

// open are the parameters that want a value: those that are given one, and those that the sub-loop's own context
// does not set. Where the state binds parameters, defaults win over that context, as in the reference.
func open(loop *Loop, given *value.Map, binds bool) []Parameter {
	var list []Parameter
	for _, p := range loop.Parameters {
		_, isGiven := given.Get(p.Name)
		_, own := loop.Context.Get(p.Name)
		if isGiven || !own || binds && !p.Required {
			list = append(list, p)
		}
	}
	return list
}

// inherit sets what every run has where the sub-loop's context lacks it.
func (e *Executor) inherit(values *value.Map) {
	for _, k := range []string{
		"run_dir", "readiness_threshold", "outcome_threshold", "design_tokens_context",
		"design_guidance_context",
	} {
		if _, ok := values.Get(k); ok {
			continue
		}
		if v, ok := e.mem.Context.Get(k); ok {
			values.Set(k, v)
		}
	}
	if text, ok := values.Value("input").(string); ok {
		if _, ok := values.Get("input_hash"); !ok {
			sum := sha256.Sum256([]byte(text))
			values.Set("input_hash", hex.EncodeToString(sum[:])[:12])
		}
	}
}

// captureChild stores what a sub-loop left, under the name of its state and under that of its capture.
func (e *Executor) captureChild(st *State, o *Outcome) {
	m, c := e.mem, e.mem.Child
	verdict := "no"
	switch {
	case o.TerminatedBy == EndError, o.TerminatedBy == EndSuspended:
		verdict = "error"
	case o.TerminatedBy == EndTerminal && !o.Failure:
		verdict = "yes"
	}
	if st.Capture != "" {
		rec := value.NewMap("output", strings.Join(c.Log, "\n"), "exit_code", nil, "verdict", verdict)
		if n := len(c.Log); n > 0 && c.Log[n-1] == logTruncated {
			rec.Set("truncated", true)
		}
		m.setCapture(st.Capture, rec)
	}
	rec := value.NewMap()
	if captured := c.Memory.Captured; (st.Passthrough || st.With != nil) && captured.Len() > 0 {
		rec = captured.Clone()
	} else if own, ok := m.Captured.Value(st.Name).(*value.Map); ok && st.Capture == st.Name {
		rec = own.Clone()
	}
	rec.Set("terminated_by", o.TerminatedBy)
	if o.Failure {
		rec.Set("failure_terminal", true)
	}
	if st.Capture == st.Name {
		rec.Set("verdict", verdict)
	}
	if o.TerminatedBy == EndError || o.TerminatedBy == EndSuspended {
		rec.Set("error", o.Error)
	}
	m.setCapture(st.Name, rec)
}

// outcomeKey is the key that routes an outcome, and whether the sub-loop did what it was to do.
func outcomeKey(o *Outcome) (key string, good bool) {
	switch o.TerminatedBy {
	case EndTerminal:
		if !o.Failure {
			return "yes", true
		}
	case EndError, EndSuspended:
		return "error", false
	case EndTimeout, EndMaxSteps, EndMaxIterations:
		return "timeout", false
	}
	return "no", false
}

// routeOutcome follows the outcome of a sub-loop. Without a route of their own, errors and timeouts count as no; a
// next takes whatever nothing else takes.
func (e *Executor) routeOutcome(st *State, key string, good bool) decision {
	e.outcome = key
	if err := e.assign(st, e.mem.PrevResult); err != nil {
		return e.exception(st, err)
	}
	slot, scope := outcomeSlot(st, key, good), e.scope(nil)
	if st.Route != nil && st.Route.Cases != nil && st.Next == "" && key != "error" {
		var err error
		scope.Result = value.NewMap("verdict", key, "details", value.NewMap())
		if slot, err = st.Route.choose(scope); err != nil {
			return e.exception(st, err)
		}
	}
	target, err := e.target(slot, scope)
	if err != nil {
		return e.exception(st, err)
	}
	if st.Next != "" && !good && st.On["error"] == "" {
		e.ignored(st, "verdict "+key)
	}
	return decision{target: target}
}

func outcomeSlot(st *State, key string, good bool) string {
	if st.Next != "" {
		if onError := st.On["error"]; !good && onError != "" {
			return onError
		}
		return st.Next
	}
	if st.Route == nil {
		if to := st.On[key]; to != "" || good {
			return to
		}
		return st.On["no"]
	}
	if to, ok := st.Route.Table.Value(key).(string); ok {
		return to
	}
	if good {
		return st.Route.Default
	}
	// D3; a timeout or an error that nothing else takes is a no.
	no, _ := st.Route.Table.Value("no").(string)
	slots := []string{st.Route.Default, no, st.Route.Error}
	if key == "error" {
		slots = []string{st.Route.Error, st.Route.Default, no}
	}
	for _, to := range slots {
		if to != "" {
			return to
		}
	}
	return ""
}
