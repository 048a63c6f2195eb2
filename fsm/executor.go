package fsm

import (
	"context"
	"fmt"
	"iter"
	"time"

	"loops/fsm/value"
)

// A Config is what a machine needs to run.
type Config struct {
	Loop     *Loop
	Runner   Runner
	Recorder Recorder
	Files    Files
	// Run is what templates see of the run: ${run.id}, ${run.attempt} and ${run.scheduled_at}.
	Run RunName
	// Dir is the absolute directory that actions run in; work trees of sub-loops are made below it.
	Dir string
	// Library finds sub-loops; nil means that there are none.
	Library Library
	// MemoryUsed returns how much of the machine's memory is in use, in percent, for host_guard. Nil, or false: unknown.
	MemoryUsed func() (float64, bool)
	Circuit    Circuit // shares rate limits among runs; nil = there is none
	Purse      Purse   // limits what this run and others spend together; nil = nothing does
	// PermanentVerdicts has permanent failures of prompts, judges, tools and requests be verdicts, as they were before D29.
	PermanentVerdicts bool
	// Park has the run released where a state waits (see [EndParked]) instead of carrying it until that is over. What came
	// already is not waited for.
	Park bool
	Wake <-chan struct{} // ends the wait the run is in, if it is in one; nil: nothing does
	// Held returns nil while the run may continue, else a channel that is closed when it may; asked before each state. Nil: it always may.
	Held   func() <-chan struct{}
	HeldBy func() string // names the user who holds the run, "" where that is not known; nil: it never is
	// Drain is closed when the run is to end, as one that a user stops, where nothing of it is at work: no item of a list begins any more,
	// no branch and no state, and what runs ends by itself. Nil: it never is.
	Drain <-chan struct{}
	// Changed returns a channel that is closed when Held may return something else, or a signal came. Nil: a wait looks once a minute.
	Changed func() <-chan struct{}
	Again   ItemsAgain // items of the list, and branches, that a resumed run is in that are done again
	Watcher Watcher    // looks at URLs and other runs for states that wait; nil = it cannot be done
	Inbox   Inbox      // holds the signals that were sent to the run; nil = none can be
	// Raise returns the first Raise that was asked for behind number after, its number and who asked; false if there is none. It is called
	// before limits are looked at, and a run that is resumed is given none again. Nil: the limits stay as they are.
	Raise func(after uint64) (n uint64, by Raise, who string, ok bool)
	// Prepare, if not nil, is called once, after it is durable that the run began or was resumed, and before anything else is done: it
	// makes what the actions need. What it returns is recorded. Its error ends Run as a failed Record does, unless ctx has ended.
	// It has to be repeatable: it is called again when the run is resumed.
	Prepare func(ctx context.Context) (Event, error)
	Facts   Facts                 // returns what is recorded of the files that the run works on; nil = nothing is
	Gone    func(dir string) bool // reports whether the folder is gone that actions run in, "" = that of the run; nil = it never is
	Keep    Keep                  // keeps what actions did to files where a later owner of the run finds it; nil = nothing does
	// Spawn starts an agent that is asked to resume the run, and returns the pid of its process: it is how a loop with on_handoff:
	// spawn hands over. host is the agent host that the loop names, "" = none; permissions are those of the loop; continuation is
	// the text of the handoff. The agent does not begin before the run was released. Nil: none can be started.
	Spawn func(ctx context.Context, host, permissions, continuation string) (pid int, err error)
	// History yields the events that were recorded of the run behind the one with a number, in order: those of all segments, and those
	// that Record has taken. Nil: a resumed run begins a list of items again.
	History func(ctx context.Context, after uint64) iter.Seq2[Event, error]
	// EndsEvery is how many items of a list end before the memory takes them in: what a resumed run reads of its history is no longer
	// than that. 0 means 250.
	EndsEvery int
	// Random returns a number from 0 up to 1, by which retries are spread; nil means math/rand.
	Random func() float64
	// Getenv looks up ${env.*}; nil means that nothing is set.
	Getenv func(name string) (string, bool)
	// Verdict, if not nil, is asked before an evaluator looks at its evidence. Where it reports true, its verdict is final.
	Verdict func(l *Loop, st *State, cfg *Evaluate, ev Evidence) (Verdict, bool)
	// Observe, if not nil, is called with every event after it was recorded, in order, never concurrently.
	Observe func(Event)
	// Merge, if not nil, makes the merge that a run asks for when it completes, before its end is recorded, and returns what became of it
	// and, unless it was made, why. It has to be repeatable: a run whose process died meanwhile calls it again when it is resumed.
	Merge func(ctx context.Context) (how, why string)
	// Why, if not nil, says why the run itself ends so, for its record. pending are events that Observe has not received.
	Why func(o Outcome, pending []Event) string
	// Verify checks the invariants of the memory before each Record; a broken one stops the run with an error.
	Verify bool
}

// A RunName names a run, and how often it was started: 1, and one more each time that it was resumed.
type RunName struct {
	ID          string
	Attempt     int
	ScheduledAt string // the time of its schedule that it was started for, RFC 3339 in the zone of the schedule; "" = no schedule started it
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
	forked  []Field                 // of the loop_start of a fork; nil = it is not a fork
	taken   iter.Seq2[Event, error] // results that a fork takes over; nil = none

	clock    clock // used time, all segments
	stopped  bool  // its wait stops the clock
	batch    Batch // events not recorded yet
	keep     keptFiles
	startAt  string // of the run, as templates see it
	untold   []any  // questions to judges that no event reports
	broken   error  // the first failed Record; nothing is done after it
	shortage error  // the first [ErrScarce], of the run itself; nothing begins after it
	recorded uint64 // number of the last event that Record took; of the run itself only
	stopping bool   // an action asked the run to stop; of the run itself only
	woken    bool   // a user ended a wait: the next prompt does not wait for others either

	parent   *Executor  // that runs this one as a sub-loop; nil in the run itself
	depth    int        // of parents
	baton    *baton     // of branches: only its holder uses what the machine remembers; nil = there are none
	crew     *crew      // what the state runs side by side now; nil = nothing
	branch   string     // that this one is, or the name of its item; "" = it is neither
	inline   bool       // the same, with an action: it sees what the loop around it remembers
	item     *itemPlace // that this one is done for; nil = for none
	slot     *slot      // that it has among the items at work; nil = it has none to share
	below    *Executor  // the sub-loop that runs in it
	self     *Child     // that it runs as; nil in the run itself
	deadline *deadline  // of a branch or an item with a loop whose state has a timeout; nil = none
	asking   int        // prompts and judges in flight, here and in what it runs
	outer    string     // marks of the states this runs inside
	dir      string     // where actions run, if not where those of the run do
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
	e.begin(ctx)
	e.prepare(ctx)
	for e.mem.Outcome == nil && e.broken == nil {
		e.turn(ctx)
	}
	if e.broken != nil {
		return Outcome{}, e.broken
	}
	return *e.mem.Outcome, nil
}

func (e *Executor) begin(ctx context.Context) {
	m := e.mem
	e.clock = clockAt(m.Elapsed)
	e.setDeadline()
	e.keep, e.startAt = keptFilesOf(e.cfg.Loop, e.keep), FormatTime(m.StartedAt)
	if e.forked != nil {
		e.emit(EventLoopStart, e.facts(ctx, e.forked, false)...)
		if e.takeOver(ctx) {
			e.record(ctx, true)
		}
		return
	}
	if !e.resumed {
		m.Wait = nil // the pause in which it was, before its first state, when the process before this one ended
		e.emit(EventLoopStart, e.facts(ctx, e.inlined([]Field{{"loop", m.Loop}}), false)...)
		return
	}
	before := m.Outcome
	e.uncap()
	e.budgetRaised()
	fields := []Field{{"loop", m.Loop}, {"from_state", m.Current}, {"iteration", int64(m.Step)}}
	if before != nil && before.TerminatedBy == EndHandoff || before == nil && m.Continuation != "" {
		fields = append(fields, Field{"from_handoff", true}, Field{"continuation_prompt", m.Continuation})
	}
	e.emit(EventLoopResume, e.facts(ctx, e.inlined(fields), false)...)
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
		e.finish(ctx, before.TerminatedBy, "") // the handler has had its turn, and led nowhere
		return
	}
	e.record(ctx, false)
}

// turn goes from one state to the next, or ends the run.
func (e *Executor) turn(ctx context.Context) {
	m := e.mem
	e.raiseLimits()
	switch m.Phase {
	case PhaseActing: // the action in flight when the last process died or was stopped
		if e.stopAsked(ctx) || e.held(ctx) != pass || e.loopTimeout(ctx) != pass {
			return
		}
		if m.Flushing = m.Flushing && m.Step > e.cfg.Loop.MaxSteps; m.Flushing {
			if e.stepCap(ctx) == pass {
				e.step(ctx)
			}
			return
		}
		st, ok := e.cfg.Loop.States[m.Current]
		if !ok {
			e.finish(ctx, EndError, unknownState(m.Current))
			return
		}
		interrupted := m.Attempt > 0 && acts(st)
		e.enter(false)
		if interrupted && st.OnInterrupted != "" {
			e.leave(ctx, st, e.interrupted(st))
			return
		}
		e.visitAndLeave(ctx, st)
	case PhaseActed:
		st, ok := e.cfg.Loop.States[m.Current]
		if !ok {
			e.finish(ctx, EndError, unknownState(m.Current))
			return
		}
		e.announce(false, true)
		e.leave(ctx, st, e.acted(ctx, st))
	default:
		for _, check := range checks {
			if check(e, ctx) != pass {
				return
			}
		}
		if !e.regain(ctx) { // after a wait that ended without a verdict: what was waited for meanwhile is checked again
			e.step(ctx)
		}
	}
}

// acted decides on the result on record, or waits the rest of what it led to.
func (e *Executor) acted(ctx context.Context, st *State) decision {
	m := e.mem
	switch {
	case m.Wait == nil, m.Wait.Why == WaitRetry && st.Retry == nil: // the definition was changed
		m.Wait = nil
		return e.again(ctx, st, e.judged(ctx, st, m.Result))
	case m.Wait.Why == WaitRetry:
		if wall().Before(m.Wait.Until) {
			e.announceWait(StillWaits)
		}
		return e.again(ctx, st, decision{retry: true})
	}
	e.announceWait(StillWaits)
	return e.waitToRetry(ctx, st)
}

// step enters the pending state.
func (e *Executor) step(ctx context.Context) {
	if !e.mem.StepsCapped && !e.mem.PassCapped { // the entry of a handler is none of the state that was capped
		e.mem.countEntry()
	}
	e.mem.Step++
	e.mem.Attempt, e.mem.Tries = 0, 0
	e.spendStep()
	e.enter(false)
	e.visitAndLeave(ctx, e.cfg.Loop.States[e.mem.Current])
}

func (e *Executor) visitAndLeave(ctx context.Context, st *State) {
	if e.pressure(ctx, st) {
		return
	}
	e.leave(ctx, st, e.visit(ctx, st))
}

func unknownState(name string) string { return fmt.Sprintf("there is no state %q in the loop", name) }

// enter announces the current state. Its step number was counted before.
func (e *Executor) enter(flushed bool) {
	m := e.mem
	resumed := m.Phase == PhaseActing
	m.Phase, m.JustRouted, m.Result = PhaseActing, false, nil
	e.announce(flushed, resumed)
}

func (e *Executor) announce(flushed, resumed bool) {
	fields := []Field{{"state", e.mem.Current}, {"iteration", int64(e.mem.Step)}, {"iteration_count", int64(e.mem.Passes)}}
	if flushed {
		fields = append(fields, Field{"flushed", true})
	}
	if resumed {
		fields = append(fields, Field{"resumed", true})
	}
	e.emit(EventStateEnter, fields...)
}

// leave applies the rules that stand between a decision and the next state, in the order of "A turn" in docs/decisions.md.
func (e *Executor) leave(ctx context.Context, st *State, d decision) {
	m := e.mem
	if e.broken != nil || m.Outcome != nil {
		return
	}
	if d.halted {
		e.finishHalted(ctx, d)
		return
	}
	if d.overrun != nil {
		e.finish(ctx, d.overrun.end(e), d.overrun.Error())
		return
	}
	e.tellRest(st)
	if d.unjudged && m.PendingRequest == "" {
		m.Answers = nil // the refusal is no answer: a resumed run asks again, and does not act again
		e.end(ctx, d.unanswered())
		return
	}
	m.Result, m.Answers, m.Asking, m.Awaiting = nil, nil, false, nil
	m.Phase = PhaseActing // whatever ends the run now ended it in this state
	request, payload := m.PendingRequest, m.PendingPayload
	if request != "stop" {
		m.PendingRequest, m.PendingPayload = "", ""
	}
	switch {
	case request == "error":
		if e.parent != nil {
			e.parent.mem.PendingRequest, e.parent.mem.PendingPayload = request, payload
		}
		e.finish(ctx, EndError, payload)
		return
	case d.fatal != "":
		e.end(ctx, Outcome{TerminatedBy: EndError, Error: d.fatal, Source: d.source})
		return
	case d.stall != "":
		e.finish(ctx, EndStall, d.stall)
		return
	case request == "handoff":
		e.handoff(ctx, payload)
		return
	}
	next := d.target
	if e.costCeiling(ctx) || e.memoryBudget(ctx, &next) {
		return
	}
	if next == "" && (d.limited || d.refused != "") {
		m.Attempt = 0 // the prompt was answered: it is not an interrupted one that is started again
		e.end(ctx, d.unanswered())
		return
	}
	if next == "" && d.died {
		e.finish(ctx, EndSystemSignal, "")
		return
	}
	if next == "" && e.cfg.Loop.Maintain {
		var err error
		if next, err = e.restart(st); err != nil {
			e.finish(ctx, EndError, err.Error())
			return
		}
	}
	if next == "" {
		switch {
		case e.stopAsked(ctx):
		case m.StepsCapped:
			e.finish(ctx, EndMaxSteps, "")
		case m.PassCapped:
			e.finish(ctx, EndMaxIterations, "")
		default:
			e.finish(ctx, EndError, "No valid transition")
		}
		return
	}
	e.emit(EventRoute, Field{"from", m.Current}, Field{"to", next})
	if e.cycle(ctx, next) {
		return
	}
	m.Previous, m.Current = m.Current, next
	m.Phase, m.JustRouted = PhasePending, true
	m.forgetInside() // also where this state could not continue its sub-loop
	if e.cfg.Loop.Backoff > 0 && m.PendingRequest == "" {
		e.pause(ctx, WaitBackoff, e.cfg.Loop.Backoff)
		return
	}
	// An action records before it starts, so this transition goes to the journal with it.
	if to := e.cfg.Loop.States[next]; to != nil && acts(to) && !to.Terminal && ctx.Err() == nil {
		return
	}
	e.record(ctx, false)
}
