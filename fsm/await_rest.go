package fsm

import (
	"cmp"
	"errors"
	"time"
)

// An awaiter carries out one wait.
type awaiter struct {
	e     *Executor
	st    *State
	due   bool      // it is time for the next look
	again bool      // the run was resumed in the wait
	asked bool      // a user asked for that look
	begun bool      // the wait was announced
	told  time.Time // when a look was last reported
	seen  string    // that was reported
	saved *Awaiting // is on record
}

// look looks whether it came. Without a verdict the next look is planned.
func (x *awaiter) look() (sight, error) {
	e, m := x.e, x.e.mem
	at, begun := m.Awaiting.Next, e.now()
	s, err := x.see()
	x.asked, e.woken = e.woken, false
	if err != nil || s.verdict != "" {
		return s, err
	}
	w := *m.Awaiting
	w.Looking = false
	// The clock on the wall may have been set back meanwhile: what was to be waited was waited.
	if !w.Deadline.IsZero() && (!e.wall().Before(w.Deadline) || !x.asked && x.due && at.Equal(w.Deadline)) {
		s.verdict = AwaitTimeout
		return s, nil
	}
	if !x.due && !x.asked {
		return s, nil // something else came
	}
	w.Looks++
	w.Seen = s.seen
	x.remind(&w)
	w.Next = e.wall().Add(x.st.Await.pause(w.Looks))
	for _, at := range []time.Time{w.Deadline, w.RemindAt, w.EscalateAt} {
		if !at.IsZero() {
			w.Next = earlier(w.Next, at)
		}
	}
	m.Awaiting = &w
	x.tell(&w, s, e.now().Sub(begun))
	return s, nil
}

// tell records in the history what a look found, where that is new, and now and then where it is not.
func (x *awaiter) tell(w *Awaiting, s sight, took time.Duration) {
	if s.told || w.Seen == x.seen && x.e.now().Sub(x.told) < waitEvent {
		return
	}
	x.announce()
	if w.Seen == "" {
		return
	}
	x.told, x.seen = x.e.now(), w.Seen
	if w.Kind == AwaitFile && w.Looks == 1 {
		return // that is why it waits
	}
	fields := []Field{{"state", w.State}, {"check", int64(w.Looks)}, {"seen", w.Seen}}
	if w.Kind == AwaitUntil {
		fields = append(fields, Field{"exit_code", int64(s.result.ExitCode)}, Field{"duration_ms", took.Milliseconds()})
	}
	x.e.emit(EventWaitCheck, append(fields, Field{"next_check", FormatTime(w.Next)})...)
}

// see looks once.
func (x *awaiter) see() (sight, error) {
	e, w := x.e, x.e.mem.Awaiting
	switch w.Kind {
	case AwaitUntil:
		return x.check()
	case AwaitFile:
		return e.seeFile(w.What)
	case AwaitURL:
		return x.outside(e.seeURL)
	case AwaitRun:
		return x.outside(e.seeRun)
	case AwaitEvent:
		return e.seeEvent(w)
	case AwaitAsk:
		return e.seeAnswer(x.st, w)
	}
	if e.woken || x.due && !w.Next.Before(w.Until) {
		return sight{verdict: AwaitCame, seen: "the time is over"}, nil
	}
	return sight{seen: "the time is not over"}, nil
}

// most returns how long a look may take: its own limit, or the rest of the wait or of the loop. A look has a
// second at least.
func (x *awaiter) most(limit time.Duration) time.Duration {
	left, limited := x.e.timeUp()
	if w := x.e.mem.Awaiting; !w.Deadline.IsZero() {
		if rest := w.Deadline.Sub(x.e.wall()); !limited || rest < left {
			left, limited = rest, true
		}
	}
	if limited {
		limit = max(min(limit, left), time.Second)
	}
	return limit
}

// outsideTime is how long a look outside of the run may take where the wait has no timeout.
const outsideTime = 30 * time.Second

// outside has a look done that waits for others. The wait is on record before the first one.
func (x *awaiter) outside(look func(*Awaiting, time.Duration) (sight, error)) (sight, error) {
	w := x.e.mem.Awaiting
	if !x.again && w.Looks == 0 && !x.e.record(false) {
		return sight{}, errHalted
	}
	s, err := look(w, x.most(outsideTime))
	if x.e.ending() {
		return sight{}, errHalted
	}
	return s, err
}

// check has the script of the wait done once. Its marker is on record before it is started.
func (x *awaiter) check() (sight, error) {
	e, m := x.e, x.e.mem
	x.announce()
	w := *m.Awaiting
	w.Looking = true
	m.Awaiting = &w
	m.Attempt++
	timeout := x.most(cmp.Or(e.cfg.Loop.DefaultTimeout, shellTimeout))
	if !e.record(true) {
		return sight{}, errHalted
	}
	res, err := e.attempt(Action{
		Kind: KindShell, Text: w.What, State: w.State, Step: m.Step, Attempt: m.Attempt,
		Keep: e.keep.has(x.st.Capture), Outer: e.outer, Dir: e.dir, Sandbox: e.sandbox(x.st),
		Vars: e.vars(), Timeout: timeout,
	}, func(string) {})
	e.tellRefused(w.State, res.Refused)
	if e.machine.broken != nil || e.ending() {
		return sight{}, errHalted
	}
	if errors.Is(err, ErrScarce) {
		unlooked := w // what was recorded is not changed
		unlooked.Looking = false
		m.Awaiting = &unlooked
	}
	if err != nil {
		return sight{}, err
	}
	s := sight{seen: checkText(res), result: res}
	if res.ExitCode == 0 && res.TimeoutKind == "" {
		s.verdict = AwaitCame
	}
	return s, nil
}

// announce says what the run waits for, once it is clear that it does.
func (x *awaiter) announce() {
	if x.begun {
		return
	}
	x.begun = true
	w := x.e.mem.Awaiting
	text := "the run waits for "
	if x.again {
		text = "the run still waits for "
	}
	if w.Kind == AwaitAsk && !x.again {
		x.e.tellQuestion(w)
	}
	wait := w.wait(x.e.visitAddress())
	fields := []Field{{"state", w.State}, {"message", text + wait.What}, {"wait", WaitState}}
	if wait.Question != "" {
		fields = append(append(fields, Field{"address", wait.Question}, Field{"choices", wait.Choices}),
			w.ask().whoField()...)
	}
	if !wait.Until.IsZero() {
		fields = append(fields, Field{"seconds", seconds(max(0, wait.Until.Sub(x.e.wall())))},
			Field{"until", FormatTime(wait.Until)})
	}
	x.e.emit(EventNote, fields...)
}

// rest sleeps until the next look. It returns early when the run is to end, when a user wants a look now, when
// the run may be about to be held, and when its time is up.
func (x *awaiter) rest(seen int) {
	e := x.e
	w := e.mem.Awaiting
	x.announce()
	x.due = false
	// there is nothing to look at: a user ends the wait of another branch
	if w.Kind != AwaitAsk && w.Kind != AwaitEvent {
		defer e.task.mayWake(w.Since)()
	}
	// A look that had no effect and found nothing new is not worth a record, unless a user waits for it.
	if news := len(e.batch.Events) > 0 || x.asked || w.Kind == AwaitUntil && x.saved != w; news || x.saved == nil {
		if !e.record(true) {
			return
		}
		x.saved, x.asked = w, false
	}
	// The clock on the wall decides, because it runs while the machine sleeps; but setting it back does not make the
	// wait longer than it was meant to be.
	begun, most := e.now(), w.Next.Sub(e.wall())
	for e.machine.broken == nil {
		left := min(w.Next.Sub(e.wall()), most-e.now().Sub(begun))
		if left <= 0 {
			x.due = true
			return
		}
		end, limited := e.timeUp()
		if limited && end <= 0 {
			return
		}
		nap := min(left, waitEvent)
		if limited {
			nap = min(nap, end)
		}
		news := e.nap(nap, seen)
		if e.woken {
			e.emit(EventNote, Field{"state", w.State}, Field{"message", LookAsked})
		}
		if e.ending() || e.woken || news {
			return
		}
	}
}
