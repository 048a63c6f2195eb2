package fsm

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"time"

	"loops/fsm/confine"
	"loops/fsm/value"
)

// A Config is what a run needs.
type Config struct {
	Loop *Loop
	// Run is what templates see of the run: ${run.id}, ${run.attempt} and ${run.scheduled_at}.
	Run RunName
	// Dir is the absolute directory that actions run in; work trees of sub-loops are made below it.
	Dir string
	// PermanentVerdicts has permanent failures of prompts, judges, tools and requests be verdicts, as they were
	// before D29.
	PermanentVerdicts bool
	World
	Journal
	Control
}

// A RunName names a run, and how often it was started: 1, and one more each time that it was resumed.
type RunName struct {
	ID      string
	Attempt int
	// the time of its schedule that it was started for, RFC 3339 in the zone of the schedule; "" = no schedule
	// started it
	ScheduledAt string
}

// An Executor runs one loop once: it decides, acts through its Runner, and has everything recorded before it
// continues. It is not safe for concurrent use.
//
// Invariant: nothing is done before the snapshot that leads to it is durable, and nothing is observed before
// it is recorded.
type Executor struct {
	cfg     Config
	mem     *Snapshot
	resumed bool
	// a budget or a refusal ended it in the process before: what it ran that ended so continues
	reopened bool
	forked   []Field                 // of the loop_start of a fork; nil = it is not a fork
	taken    iter.Seq2[Event, error] // results that a fork takes over; nil = none

	clock    clock // used time, all segments
	stopped  bool  // its wait stops the clock
	batch    Batch // events not recorded yet
	keep     keptFiles
	startAt  string // of the run, as templates see it
	untold   []any  // questions to judges that no event reports
	notLet   string // what was said last that a sandbox did not let an action reach
	asksAll  bool   // prompts begin although other runs note that they cannot succeed; of the run itself
	shortage error  // the first [ErrScarce], of the run itself; nothing begins after it
	stopping bool   // an action asked the run to stop; of the run itself only
	woken    bool   // a user ended a wait: the next prompt does not wait for others either

	parent   *Executor // that runs this one as a sub-loop; nil in the run itself
	depth    int       // of parents
	machine  *Machine
	task     *task      // that it is, or is a sub-loop of
	life     *life      // how long it may continue
	crew     *crew      // what the state runs side by side now; nil = nothing
	branch   string     // that this one is, or the name of its item; "" = it is neither
	inline   bool       // the same, with an action: it sees what the loop around it remembers
	item     *itemPlace // that this one is done for; nil = for none
	slot     *slot      // that it has among the items at work; nil = it has none to share
	below    *Executor  // the sub-loop that runs in it
	self     *Child     // that it runs as; nil in the run itself
	log      *childLog  // of its events; nil in the run itself
	deadline *deadline  // of a branch or an item with a loop whose state has a timeout; nil = none
	// LastResult before the visit, and a verdict that no evaluation gave, as of a sub-loop ("" = there is
	// none): what the visit came to is known by them
	lastBefore *value.Map
	outcome    string
	undone     bool              // a guard put back what the visit changed
	asking     int               // prompts and judges in flight, here and in what it runs
	outer      string            // marks of the states this runs inside
	dir        string            // where actions run, if not where those of the run do
	around     []*confine.Policy // the sandboxes of what this runs inside
	guarding   []*Guard          // the guards of what this runs inside
	beside     bool              // others change the same files meanwhile: the state that runs them all judges that
}

// Start prepares a new run with the given context values, which it takes over.
func Start(cfg Config, values *value.Map, at time.Time) *Executor {
	return &Executor{cfg: cfg, mem: &Snapshot{
		Loop: cfg.Loop.Name, Phase: PhasePending, Current: cfg.Loop.Initial, StartedAt: at,
		Context: values, Captured: value.NewMap(),
	}}
}

// Resume prepares to continue a run from its memory, which it takes over. The run continues exactly where it
// was: an action in flight is started again under the same step number, a recorded result is judged without
// acting again, a chosen state is entered (D13).
func Resume(cfg Config, mem *Snapshot) *Executor {
	if mem.Captured == nil {
		mem.Captured = value.NewMap()
	}
	return &Executor{cfg: cfg, mem: mem, resumed: true}
}

// Run runs until the loop ends, and returns how. An error means that the run could not be recorded any more
// (then it stopped at once) and that there is no outcome. When ctx is cancelled with a *Stop as its cause the
// run ends gracefully.
func (e *Executor) Run(ctx context.Context) (Outcome, error) {
	m := Load(e)
	if err := drive(ctx, m, &e.cfg); err != nil {
		return Outcome{}, err
	}
	return m.ended, nil
}

// loop runs until the loop ends, as a task or a part of one.
func (e *Executor) loop() (Outcome, error) {
	e.begin()
	e.prepare()
	e.recall()
	if e.resumed && e.parent == nil {
		e.keepInside(e.mem)
	}
	for e.mem.Outcome == nil && e.machine.broken == nil {
		e.keepLesson()
		e.turn()
		e.settle() // one transition is one record: a run can be forked at each
	}
	if e.machine.broken != nil {
		return Outcome{}, e.machine.broken
	}
	return *e.mem.Outcome, nil
}

func (e *Executor) begin() {
	m := e.mem
	e.clock = clock{used: m.Elapsed, since: e.now()}
	e.asksAll = e.resumed && !e.cfg.Park && e.parent == nil
	if e.asksAll || e.parent != nil && e.root().asksAll {
		maps.DeleteFunc(m.AgentsOut, func(_ string, until int) bool { return until == untilMended })
	}
	e.keep, e.startAt = keptFilesOf(e.cfg.Loop, e.keep), FormatTime(m.StartedAt)
	if e.forked != nil {
		e.emit(EventLoopStart, e.facts(e.forked, false)...)
		if e.takeOver() {
			e.record(true)
		}
		e.settle()
		return
	}
	if !e.resumed {
		m.Wait = nil // the pause in which it was, before its first state, when the process before this one ended
		e.emit(EventLoopStart, e.facts(e.inlined([]Field{{"loop", m.Loop}}), false)...)
		return
	}
	m.Lost, m.Outstanding = m.Lost.Plus(m.Outstanding), Unsure{}
	if m.Ending != nil && e.lifted(m.Ending) { // as if its end were on record
		m.Outcome, m.Ending = m.Ending, nil
	}
	before := m.Outcome
	e.reopened = before != nil && unfinished(before) && !paused(before)
	e.uncap()
	e.budgetRaised()
	fields := []Field{{"loop", m.Loop}, {"from_state", m.Current}, {"iteration", int64(m.Step)}}
	if before != nil && before.TerminatedBy == EndHandoff || before == nil && m.Continuation != "" {
		fields = append(fields, Field{"from_handoff", true}, Field{"continuation_prompt", m.Continuation})
	}
	e.emit(EventLoopResume, e.facts(e.inlined(fields), false)...)
	m.Outcome, m.Continuation = nil, ""
	if w := m.Wait; w != nil && w.Retry {
		m.Wait = &Wait{Why: WaitRetry, State: w.State, Since: w.Since, Until: w.Since}
	}
	if m.Wait != nil && !m.Wait.retries() {
		m.Wait = nil // what it waited for is looked at again
	}
	if m.Wait != nil {
		m.Wait = m.Wait.unpaused()
	}
	e.forgetWait()
	if m.endedInHandler(before) {
		e.finish(before.TerminatedBy, "") // the handler has had its turn, and led nowhere
		return
	}
	e.record(false)
	e.settle()
}

// turn goes from one state to the next, or ends the run.
func (e *Executor) turn() {
	m := e.mem
	if m.Ending != nil { // the process before died at the end of the run
		e.end(*m.Ending)
		return
	}
	e.raiseLimits()
	switch m.Phase {
	case PhaseActing: // the action in flight when the last process died or was stopped
		if e.stopAsked() || e.held() != pass || e.loopTimeout() != pass {
			return
		}
		if e.flushesAgain() {
			return
		}
		st, ok := e.cfg.Loop.States[m.Current]
		if !ok {
			e.finish(EndError, unknownState(m.Current))
			return
		}
		interrupted := m.Attempt > 0 && acts(st)
		e.enter(false)
		e.lostJudge()
		if m.Decided != nil {
			e.leave(st, e.decided())
			return
		}
		if m.Guard != nil && (interrupted && st.OnInterrupted != "" || m.Guard.Breach != nil) {
			if err := e.inspect(st); err != nil {
				e.leave(st, e.exception(st, err))
				return
			}
		}
		if interrupted && st.OnInterrupted != "" {
			e.leave(st, e.interrupted(st))
			return
		}
		e.visitAndLeave(st)
	case PhaseActed:
		st, ok := e.cfg.Loop.States[m.Current]
		if !ok {
			e.finish(EndError, unknownState(m.Current))
			return
		}
		if e.held() != pass { // nothing is in flight: a judge is asked once the run is unpaused
			e.stopAsked()
			return
		}
		if m.Flushing && e.loopTimeout() != pass || e.flushesAgain() {
			return
		}
		e.announce(false, true)
		e.lostJudge()
		e.leave(st, e.acted(st))
	default:
		for _, check := range checks {
			if check(e) != pass {
				return
			}
		}
		if !e.regain() { // after a wait that ended without a verdict: what was waited for meanwhile is checked again
			e.step()
		}
	}
}

// flushesAgain continues what the process before began: to let a state act one last time before the handler of
// a cap. It reports false where nothing is at a cap.
func (e *Executor) flushesAgain() bool {
	m := e.mem
	if m.Flushing = m.Flushing && m.Step > e.cfg.Loop.MaxSteps; !m.Flushing {
		return false
	}
	if e.stepCap() == pass {
		e.step()
	}
	return true
}

// acted decides on the result on record, or waits the rest of what it led to.
func (e *Executor) acted(st *State) decision {
	m := e.mem
	e.lastBefore, e.outcome = m.LastResult, ""
	unjudged := m.Guard != nil // by its guard: nothing that follows the action was done yet
	if err := e.inspect(st); err != nil {
		return e.exception(st, err)
	}
	if unjudged {
		return e.again(st, e.afterAction(st, *m.Result))
	}
	if m.Decided != nil {
		return e.decided()
	}
	if st.Next != "" && m.Wait == nil && m.Result != nil { // its verdict is not looked at
		return e.again(st, e.afterAction(st, *m.Result))
	}
	switch {
	case m.Wait == nil, m.Wait.Why == WaitRetry && st.Retry == nil: // the definition was changed
		m.Wait = nil
		return e.again(st, e.judged(st, m.Result))
	case m.Wait.Why == WaitRetry:
		e.followsTry(st)
		if e.wall().Before(m.Wait.Until) {
			e.announceWait(StillWaits)
		}
		return e.again(st, decision{retry: true})
	}
	e.announceWait(StillWaits)
	e.followsTry(st)
	return e.waitToRetry(st)
}

// followsTry notes that a try of the action of this visit was judged before, in another process: its verdict is
// on record.
func (e *Executor) followsTry(st *State) {
	if st.Next == "" {
		e.lastBefore = nil
	}
}

// decided returns what is on record of a visit in which only a judge was still asked what to remember.
func (e *Executor) decided() decision {
	if e.lastBefore, e.outcome = e.mem.LastResult, e.mem.Decided.Verdict; e.mem.Decided.Judged {
		e.lastBefore = nil
	}
	return decision{target: e.mem.Decided.To, asError: e.mem.Decided.AsError}
}

// step enters the pending state.
func (e *Executor) step() {
	if !e.mem.StepsCapped && !e.mem.PassCapped { // the entry of a handler is none of the state that was capped
		e.mem.countEntry()
	}
	e.mem.Step++
	e.mem.Attempt, e.mem.Tries = 0, 0
	if e.mem.Spared != e.mem.Current {
		e.mem.Handover = ""
	}
	e.spendStep()
	e.enter(false)
	e.visitAndLeave(e.cfg.Loop.States[e.mem.Current])
}

func (e *Executor) visitAndLeave(st *State) {
	if e.pressure(st) {
		return
	}
	e.leave(st, e.visit(st))
}

func unknownState(name string) string { return fmt.Sprintf("there is no state %q in the loop", name) }

// enter announces the current state. Its step number was counted before.
func (e *Executor) enter(flushed bool) {
	m := e.mem
	resumed := m.Phase == PhaseActing
	m.Phase, m.JustRouted, m.Result, e.undone = PhaseActing, false, nil, false
	e.announce(flushed, resumed)
}

func (e *Executor) announce(flushed, resumed bool) {
	fields := []Field{
		{"state", e.mem.Current},
		{"iteration", int64(e.mem.Step)},
		{"iteration_count", int64(e.mem.Passes)},
	}
	if flushed {
		fields = append(fields, Field{"flushed", true})
	}
	if resumed {
		fields = append(fields, Field{"resumed", true})
	}
	e.emit(EventStateEnter, fields...)
}

// leave applies the rules that stand between a decision and the next state, in the order of "A turn" in
// docs/decisions.md.
func (e *Executor) leave(st *State, d decision) {
	m := e.mem
	if e.machine.broken != nil || m.Outcome != nil {
		return
	}
	if d.halted {
		e.finishHalted(d)
		return
	}
	if d.overrun != nil {
		e.finish(d.overrun.end(e), d.overrun.Error())
		return
	}
	d = e.passesFirst(st, d)
	if d.halted {
		e.finishHalted(d)
		return
	}
	e.tellRest(st)
	if d.unjudged && m.PendingRequest == "" {
		m.Answers = nil // the refusal is no answer: a resumed run asks again, and does not act again
		e.end(d.unanswered())
		return
	}
	if d.fatal == "" && d.stall == "" && d.nothing == "" && d.refused == "" && !d.limited && !d.died && !d.waited &&
		m.PendingRequest != "error" && m.PendingRequest != "handoff" && !e.remember(st, d) {
		if m.Outcome == nil { // its time may have been up
			e.finishHalted(decision{halted: true})
		}
		return
	}
	m.Result, m.Answers, m.Asking, m.AskingMost, m.Awaiting, m.Decided = nil, nil, false, 0, nil, nil
	m.Phase = PhaseActing // whatever ends the run now ended it in this state
	if e.undone && !acts(st) {
		m.Phase = PhasePending // in another visit: what runs inside is not told apart within one
	}
	if d.refused == "" {
		m.Guard = nil // else the guard could not look, and does so when the run is resumed
	}
	request, payload := m.PendingRequest, m.PendingPayload
	if request != "stop" {
		m.PendingRequest, m.PendingPayload = "", ""
	}
	switch {
	case request == "error":
		if e.parent != nil {
			e.parent.mem.PendingRequest, e.parent.mem.PendingPayload = request, payload
		}
		e.finish(EndError, payload)
		return
	case d.fatal != "":
		e.end(Outcome{TerminatedBy: EndError, Error: d.fatal, Source: d.source})
		return
	case d.stall != "":
		e.finish(EndStall, d.stall)
		return
	case d.nothing != "":
		e.end(Outcome{TerminatedBy: EndTerminal, Message: d.nothing})
		return
	case request == "handoff":
		e.handoff(payload)
		return
	}
	next := d.target
	// the state is not left: it continues when the run is resumed
	unanswered := next == "" && (d.limited || d.refused != "")
	if e.costCeiling() || !unanswered && e.memoryBudget(&next) {
		return
	}
	if unanswered {
		m.Attempt = 0 // the prompt was answered: it is not an interrupted one that is started again
		e.end(d.unanswered())
		return
	}
	if next == "" && d.died {
		e.finish(EndSystemSignal, "")
		return
	}
	if next == "" && e.cfg.Loop.Maintain {
		var err error
		if next, err = e.restart(st); err != nil {
			e.finish(EndError, err.Error())
			return
		}
	}
	if next == "" {
		switch {
		case m.PendingRequest == "stop" && e.stopAsked(): // of another stop the run ends as it would without
		case m.StepsCapped:
			e.finish(EndMaxSteps, "")
		case m.PassCapped:
			e.finish(EndMaxIterations, "")
		default:
			e.finish(EndError, "No valid transition")
		}
		return
	}
	route := []Field{{"from", m.Current}, {"to", next}}
	if d.asError && next == d.target {
		route = append(route, Field{FieldAsError, true})
	}
	e.emit(EventRoute, route...)
	if e.cycle(next) {
		return
	}
	m.Previous, m.Current = m.Current, next
	m.Phase, m.JustRouted = PhasePending, true
	m.forgetInside() // also where this state could not continue its sub-loop
	if e.cfg.Loop.Backoff > 0 && m.PendingRequest == "" {
		e.pause(WaitBackoff, e.cfg.Loop.Backoff)
		return
	}
	// An action records before it starts, so this transition goes to the journal with it.
	if to := e.cfg.Loop.States[next]; to != nil && acts(to) && !to.Terminal && !e.ending() {
		return
	}
	e.record(false)
}
