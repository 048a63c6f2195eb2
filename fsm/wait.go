package fsm

import (
	"iter"
	"slices"
	"strconv"
	"time"
)

// The reasons to wait.
const (
	WaitRateLimit = "rate_limit" // the host refused: it is asked again afterwards
	WaitAPIError  = "api_error"  // the host's API failed: it is asked again afterwards
	WaitInfra     = "infra"      // the host was ended from outside: it is asked again afterwards
	WaitCircuit   = "circuit"    // another run was refused, so this one does not ask yet
	WaitSpend     = "spend"      // runs together spent as much as they may, so that this one asks no host yet
	WaitQuota     = "quota"      // an agent reported that what may be used of its account is used
	WaitJudge     = "judge"      // the host of a judge refused: it is asked again afterwards
	WaitMemory    = "host_guard" // the machine is short of memory
	WaitRetry     = "retry"      // a try of the action failed: it is done again afterwards, in the same step
	WaitBackoff   = "backoff"    // the loop pauses between states
	WaitState     = "wait"       // the state waits for what its wait key says; see Awaiting
	WaitPaused    = "paused"     // a user paused the run: until when is not known
)

// The tiers of a rate limit.
const (
	tierShort = "short_wait"
	tierLong  = "long_wait"
	tierReset = "reset_wait" // the host said when
)

// A Wait is why a run pauses, and until when. It never changes after it was recorded.
type Wait struct {
	Why   string // see WaitRateLimit
	Tier  string // of a rate limit: short_wait, long_wait, or reset_wait where the host said how long; else ""
	State string
	Host  string // of WaitCircuit: which refused; of WaitQuota: whose quota it is; "" = it is not known
	Since time.Time
	Until time.Time // zero for WaitPaused, and for a WaitState without an end

	What string // is waited for; of WaitState, WaitSpend and WaitQuota
	By   string // the user who paused the run; "" = it is not known

	Paused time.Time // a user paused the run in this wait, which continues; zero = no one did
	// of WaitCircuit, WaitSpend and WaitQuota: the next try of the action follows, whose own wait is over
	Retry bool

	// What follows is of WaitState, whose Wait is made of an Awaiting where it is asked for.
	Event    string // the name of the signal that is; "" = none is
	Choices  string // what can be answered, where a person is asked
	Question string // the address of that question
	Seen     string // what the last look came to
	Looks    int    // that found nothing
}

// retries reports whether the action whose result is on record is done again after the wait.
func (w *Wait) retries() bool {
	return w.Why == WaitRateLimit || w.Why == WaitAPIError || w.Why == WaitInfra || w.Why == WaitRetry
}

// shown returns the wait as users see it: in a pause, it is the pause that ends by what they do.
func (w *Wait) shown() *Wait {
	if w.Paused.IsZero() {
		return w
	}
	return &Wait{Why: WaitPaused, State: w.State, Since: w.Paused, By: w.By}
}

// unpaused returns the wait without the pause.
func (w *Wait) unpaused() *Wait {
	if w.Paused.IsZero() {
		return w
	}
	free := *w
	free.Paused, free.By = time.Time{}, ""
	return &free
}

// An OpenWait is one that a run is in, and where.
type OpenWait struct {
	Address string // the steps that lead to the state, as that of an OpenQuestion
	Path    string // the branches and items that it is in, outermost first, as in events; "" = it is in none
	*Wait
}

// Waiting returns what the run waits for, in whatever sub-loop, or, where it was stopped in a wait, what it
// will wait for when it is resumed; nil = nothing. It is the first of Waits.
func (m *Snapshot) Waiting() *Wait {
	for w := range m.waits("", "") {
		return w.Wait
	}
	return nil
}

// Waits are all that the run waits for, in whatever sub-loops, branches and items: several of these may wait at once.
func (m *Snapshot) Waits() []OpenWait { return slices.Collect(m.waits("", "")) }

// waits yields the waits of a loop and of those inside it. address and path lead to the loop.
func (m *Snapshot) waits(address, path string) iter.Seq[OpenWait] {
	return func(yield func(OpenWait) bool) { m.eachWait(address, path, yield) }
}

// eachWait reports whether more is wanted.
func (m *Snapshot) eachWait(address, path string, yield func(OpenWait) bool) bool {
	if o := m.Outcome; o != nil && o.TerminatedBy != EndInterrupted && o.TerminatedBy != EndUserStopped &&
		o.TerminatedBy != EndTimeout && o.TerminatedBy != EndParked {
		return true
	}
	address += "/" + strconv.Itoa(m.Step)
	if m.Wait != nil {
		return yield(OpenWait{address, path, m.Wait.shown()})
	}
	if m.Awaiting != nil {
		return yield(OpenWait{address, path, m.Awaiting.wait(address)})
	}
	for name, c := range m.Inside() {
		at, inside := within(address, path, name)
		if !c.Memory.eachWait(at, inside, yield) {
			return false
		}
	}
	return true
}

// wall is the time on the clock on the wall, which is what is recorded.
func (e *Executor) wall() time.Time { return e.now().UTC().Truncate(time.Microsecond) }

// now is the time of the step that the machine makes.
func (e *Executor) now() time.Time { return e.machine.now }

// plan makes the Wait that begins now.
func (e *Executor) plan(why, tier, state string, d time.Duration) {
	now, around := e.wall(), e.mem.Wait
	e.mem.Wait = &Wait{
		Why: why, Tier: tier, State: state, Since: now, Until: now.Add(d.Round(time.Millisecond)),
		Retry: around != nil && (around.Why == WaitRetry || around.Retry),
	}
}

// pause waits between two actions. The state that waits is durable before the wait begins.
func (e *Executor) pause(why string, d time.Duration) {
	if d <= 0 {
		return
	}
	e.plan(why, "", e.mem.Current, d)
	e.sleep()
	e.mem.Wait = nil
}

// held waits while the run is held, before a state is entered that is not its end, and in a wait. The clock of
// the run is stopped.
func (e *Executor) held() result {
	if e.mayBeHeld() && e.isHeld() {
		return e.awaitRelease()
	}
	return pass
}

// mayBeHeld reports whether a pause holds here: not at the end of the loop.
func (e *Executor) mayBeHeld() bool {
	st := e.cfg.Loop.States[e.mem.Current]
	return st != nil && (!st.Terminal || e.cfg.Loop.Maintain)
}

// awaitRelease waits until the run may continue. A wait that the run is in stays on record.
func (e *Executor) awaitRelease() result {
	m := e.mem
	begun, around := e.now(), m.Wait
	w := Wait{Why: WaitPaused, State: m.Current, Since: e.wall()}
	if around != nil {
		w = *around
		w.Paused = e.wall()
	}
	note := []Field{{"state", m.Current}, {"message", "paused"}, {"wait", WaitPaused}}
	if e.cfg.HeldBy != nil {
		w.By = e.cfg.HeldBy()
	}
	if w.By != "" {
		note = append(note, Field{"by", w.By})
	}
	e.emit(EventNote, note...)
	if m.Wait = &w; !e.record(true) {
		return ended
	}
	start := e.stopClock()
	e.rest(func() bool { return !e.isHeld() || e.ending() || e.draining() }, nil)
	start()
	m.Wait = around
	paused := e.now().Sub(begun)
	if e.ending() || e.draining() {
		e.rests()    // what a user holds is not at work
		return again // to be stopped
	}
	e.emit(EventNote, Field{"state", m.Current}, Field{"message", "the run continues"},
		Field{"paused_seconds", seconds(paused)})
	return pass
}

// halts reports whether nothing more may be done here: the run is to end, or cannot be recorded.
func (e *Executor) halts() bool {
	return e.machine.broken != nil || e.ending() || e.drained()
}

// waitEvent is how often a long wait is reported.
const waitEvent = time.Minute

// sleep waits for what the memory says, which is durable before. It returns early when the run is to end, when
// a user wakes the run, and when the time of the loop, or that of a budget, is up.
func (e *Executor) sleep() { e.sleepUntil(e.timeUp, nil) }

// sleepUntil is sleep that also returns when over, which is asked every few seconds, reports that there is
// nothing to wait for any more. up returns in how long the time is up, if it is limited; nil = it is not. A
// pause holds in the wait, whose end is not moved by it, and an extension counts at once.
func (e *Executor) sleepUntil(up func() (time.Duration, bool), over func() bool) {
	w := *e.mem.Wait
	e.woken = false
	defer e.task.mayWake(w.Since)()
	if !e.record(true) {
		return
	}
	look := waitEvent
	if over != nil {
		look = circuitLook
	}
	// The clock on the wall decides, because it runs while the machine sleeps; but setting it back does not make the
	// wait longer than it was meant to be.
	begun, most := e.now(), min(w.Until.Sub(e.wall()), w.Until.Sub(w.Since))
	left := func() time.Duration { return min(w.Until.Sub(e.wall()), most-e.now().Sub(begun)) }
	for told := begun; !e.halts(); {
		news := e.machine.news // before the looks whose answers may change
		e.raiseLimits()
		if e.held() != pass {
			return
		}
		rest := left()
		if rest <= 0 {
			return
		}
		nap := min(rest, look)
		if up != nil && !e.mem.Flushing {
			end, limited := up()
			if limited && end <= 0 {
				return
			}
			if limited {
				nap = min(nap, end)
			}
		}
		if len(e.batch.Events) > 0 { // after a pause or an extension
			e.announceWait(StillWaits)
			if !e.record(true) {
				return
			}
		}
		e.nap(nap, news)
		if e.woken {
			e.emit(EventNote, Field{"state", w.State}, Field{"message", WaitEnded})
			return
		}
		if over != nil && !e.ending() && over() {
			return
		}
		if rest > look && !e.ending() && e.now().Sub(told) >= waitEvent {
			told = e.now()
			e.stillWaiting(w)
		}
	}
}

// nap waits for a time. It returns early when the run is to end, when there is other news than those seen, and
// when a user ends the wait, which sets woken. It reports whether something is asked of the run.
func (e *Executor) nap(d time.Duration, seen int) (news bool) {
	m, t, begun := e.machine, e.task, e.now()
	left := func() (time.Duration, bool) { return d - e.now().Sub(begun), true }
	e.rest(func() bool {
		rest, _ := left()
		news = m.news != seen || e.drained()
		return rest <= 0 || e.ending() || news || t.woken
	}, left)
	e.woken = t.woken && !news && !e.ending()
	return news
}

// stillWaiting says so in the history of a long wait for a rate limit.
func (e *Executor) stillWaiting(w Wait) {
	if w.Why != WaitCircuit && w.Tier != tierLong && w.Tier != tierReset {
		return
	}
	st := e.cfg.Loop.States[w.State]
	so := e.wall().Sub(w.Since)
	tier := w.Tier
	if tier == "" {
		tier = w.Why
	}
	e.emit(EventRateLimitWaiting, Field{"state", w.State}, Field{"elapsed_seconds", seconds(so)},
		Field{"next_attempt_at", epoch(w.Until)},
		Field{"total_waited_seconds", seconds(e.mem.RateLimits[w.State].Waited + so)},
		Field{"budget_seconds", seconds(st.RateLimitMaxWait)}, Field{"tier", tier})
	e.record(false)
}

// What the note of a wait says that a user ended (loops retry-now), and that of one in which something is
// looked at at once.
const (
	WaitEnded = "the wait was ended by loops retry-now"
	LookAsked = "loops retry-now asked for a look"
)

// StillWaits is what the note of a resumed run says that continues the wait in which it was stopped.
const StillWaits = "the run still waits"

// announceWait says in the history why the run is about to be silent.
func (e *Executor) announceWait(text string) {
	w := e.mem.Wait
	fields := []Field{{"state", w.State}, {"message", text}, {"wait", w.Why}}
	if w.Tier != "" {
		fields = append(fields, Field{"tier", w.Tier})
	}
	if w.Host != "" {
		fields = append(fields, Field{"host", w.Host})
	}
	e.emit(EventNote,
		append(fields, Field{"seconds", seconds(w.Until.Sub(w.Since))}, Field{"until", FormatTime(w.Until)})...)
}

func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

func epoch(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
