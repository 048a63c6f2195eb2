package fsm

import (
	"time"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// An Await is what a state waits for. Exactly one of For, At, Until, File, URL, Run, Event and Ask is set.
type Await struct {
	For   time.Duration
	At    string // template; a time of day in the time zone of the machine, the next one, or a date with a time
	Until string // template; a bash script whose exit code 0 means that it came
	File  string // template; a path that comes to be
	URL   string // template; an address that answers
	Run   string // template; a run that ends
	Event string // template; the name of a signal that is sent to the run

	Ask *Ask // a person's answer

	Status      string        // of URL: a number, "" = any from 200 to 299; of Run: completed, failed or ended
	Every, Most time.Duration // between two looks: the first, and the longest
	Backoff     float64       // by which that grows with each look; 1 = it does not
}

// The kinds of waits, which are the keys that name them.
const (
	AwaitFor   = "for"
	AwaitAt    = "at"
	AwaitUntil = "until"
	AwaitFile  = "file"
	AwaitURL   = "url"
	AwaitRun   = "run"
	AwaitEvent = "event"
)

// Kind returns which of them is set.
func (a *Await) Kind() string {
	kind, _ := a.kind()
	return kind
}

// kind returns which of them is set, and its text.
func (a *Await) kind() (kind, text string) {
	switch {
	case a.At != "":
		return AwaitAt, a.At
	case a.Until != "":
		return AwaitUntil, a.Until
	case a.File != "":
		return AwaitFile, a.File
	case a.URL != "":
		return AwaitURL, a.URL
	case a.Run != "":
		return AwaitRun, a.Run
	case a.Event != "":
		return AwaitEvent, a.Event
	case a.Ask != nil:
		return AwaitAsk, a.Ask.Question
	}
	return AwaitFor, ""
}

// pause is the time between the nth look, from 1, and the one after it. A wait for an event is notified, and looks just
// in case.
func (a *Await) pause(n int) time.Duration {
	if a.Event != "" || a.Ask != nil {
		return waitEvent
	}
	d := float64(a.Every)
	for ; n > 1 && a.Backoff > 1 && (a.Most == 0 || d < float64(a.Most)) && d < float64(24*time.Hour); n-- {
		d *= a.Backoff
	}
	if a.Most > 0 {
		d = min(d, float64(a.Most))
	}
	return time.Duration(d)
}

// The verdicts of a state that waits.
const (
	AwaitCame      = "yes"
	AwaitTimeout   = "timeout"
	AwaitOtherwise = "no" // the run that is waited for ended otherwise
)

// An Awaiting is what the machine remembers of the wait that its state is in. It never changes after it was recorded.
type Awaiting struct {
	State, Kind string
	What        string // is waited for: text of the wait with its templates expanded
	Status      string // see Await
	Form        string // of AwaitAsk: what can be answered, and what is shown with the question, as JSON
	// of AwaitAsk: the place among all questions of the run, from 1; 0 = a former version asked it
	Number     int
	Since      time.Time // it began
	Until      time.Time // of AwaitFor and AwaitAt: when it comes
	Deadline   time.Time // when it times out; zero = never
	Next       time.Time // look, or end of the wait
	Looks      int       // that found nothing
	Looking    bool      // the script of AwaitUntil was started
	Seen       string    // what the last look came to, in a line
	Reminders  int       // of AwaitAsk: how many were recorded
	RemindAt   time.Time // of AwaitAsk: when the next one is due; zero = never
	EscalateAt time.Time // of AwaitAsk: when it is escalated; zero = never, or it was
	Heard      uint64    // of AwaitAsk with a quorum: number of the last answer that is in the history
}

// Quorum returns how many equal answers decide the question that is waited for, 1 where none is.
func (w *Awaiting) Quorum() int {
	if w == nil || w.Kind != AwaitAsk {
		return 1
	}
	return max(1, w.ask().Quorum)
}

// A sight is what one look came to.
type sight struct {
	verdict string     // "" = it has not come yet
	seen    string     // in a line
	told    bool       // the history has that already
	result  Result     // for a capture
	record  *value.Map // the same, where it is whole; nil = it is made of the result
	take    func()     // notes that what was seen is used up; nil = nothing is
}

// await waits for what the state waits for, and follows the verdict. The wait is in the memory and durable
// before it begins: a resumed run waits the rest, and looks when it would have looked. What ends the run
// meanwhile leaves the wait on record.
func (e *Executor) await(st *State) decision {
	m := e.mem
	if v, decided := e.given(st, "wait"); decided {
		s := sight{verdict: v.Name}
		if st.Await.Ask != nil && !e.cfg.MadeUp && v.Details.Len() > 0 {
			s.record = v.Details // the fields of the answer
		}
		return e.awaited(st, s, &Awaiting{})
	}
	kind, _ := st.Await.kind()
	going := m.Awaiting != nil && m.Awaiting.State == st.Name && m.Awaiting.Kind == kind
	if !going {
		if err := e.planAwait(st); err != nil {
			return e.exception(st, err)
		}
	}
	if going {
		m.Awaiting = m.Awaiting.caughtUp(e.wall(), st.Await)
	}
	if going && e.cfg.Park && kind != AwaitFor && kind != AwaitAt {
		e.woken = true // the one look for which the run was resumed
	}
	watch := awaiter{e: e, st: st, due: !e.wall().Before(m.Awaiting.Next), again: going}
	for {
		news := e.machine.news // before the looks whose answers may change
		if watch.due || e.woken || kind == AwaitEvent || kind == AwaitAsk {
			s, err := watch.look()
			if err != nil {
				return e.exception(st, err)
			}
			if s.verdict != "" {
				if e.regain() && s.take != nil {
					continue // it may have waited for that, and another one may have taken what was seen
				}
				if s.take != nil {
					s.take()
				}
				return e.awaited(st, s, m.Awaiting)
			}
		}
		if e.ending() || e.drained() || e.loopTimeout() != pass {
			return decision{halted: true}
		}
		if over := e.usedUp(needTime); over != nil {
			return e.overspent(st, over)
		}
		if e.held() != pass {
			return decision{halted: true}
		}
		if e.cfg.Park && !e.ending() && e.machine.broken == nil {
			watch.announce()
			return decision{halted: true, parked: true}
		}
		e.rests()
		watch.rest(news)
		if e.machine.broken != nil || e.ending() {
			return decision{halted: true}
		}
	}
}

// planAwait begins the wait of a state that was entered.
func (e *Executor) planAwait(st *State) error {
	a := st.Await
	kind, text := a.kind()
	text, err := expr.Expand(text, e.scope(nil))
	if err != nil {
		return err
	}
	now := e.wall()
	w := &Awaiting{State: st.Name, Kind: kind, What: text, Status: a.Status, Since: now, Next: now}
	switch kind {
	case AwaitAsk:
		if err := e.freeze(a.Ask, w); err != nil {
			return err
		}
		root := e.root()
		root.mem.Asked++
		w.Number = root.mem.Asked
	case AwaitFor:
		w.Until = now.Add(a.For)
		w.Next = w.Until
	case AwaitAt:
		if w.Until, err = NextTime(text, e.now()); err != nil {
			return err
		}
		w.Next = w.Until
	}
	if st.Timeout > 0 {
		w.Deadline = now.Add(st.Timeout)
		w.Next = earlier(w.Next, w.Deadline)
	}
	e.mem.Awaiting, e.woken = w, false
	return nil
}

// caughtUp returns the wait as a resumed run continues it. If the clock is behind what it was when the wait
// began, all of the wait remains, and no more; nor does the next look come later than one pause from now.
func (w *Awaiting) caughtUp(now time.Time, a *Await) *Awaiting {
	late := *w
	if behind := w.Since.Sub(now); behind > 0 {
		late.Since, late.Next = now, w.Next.Add(-behind)
		if !w.Deadline.IsZero() {
			late.Deadline = w.Deadline.Add(-behind)
		}
		if w.Kind == AwaitFor {
			late.Until = w.Until.Add(-behind)
		}
		late.RemindAt, late.EscalateAt = sooner(w.RemindAt, behind), sooner(w.EscalateAt, behind)
	}
	switch w.Kind {
	case AwaitFor:
		late.Until = earlier(late.Until, now.Add(a.For))
		late.Next = late.Until
	case AwaitAt:
		if next, err := NextTime(w.What, now.Local()); err == nil && late.Until.After(now) {
			late.Until = earlier(late.Until, next)
		}
		late.Next = late.Until
	default:
		late.Next = earlier(late.Next, now.Add(a.pause(max(1, w.Looks))))
	}
	if !late.Deadline.IsZero() {
		late.Next = earlier(late.Next, late.Deadline)
	}
	if late == *w {
		return w
	}
	return &late
}

// awaited leaves a state whose wait is over.
func (e *Executor) awaited(st *State, s sight, w *Awaiting) decision {
	res := s.result
	if s.verdict != AwaitCame && s.record == nil && res.ExitCode == 0 {
		res.ExitCode = 1
	}
	details := value.NewMap()
	if !w.Since.IsZero() {
		res.Duration = max(0, e.wall().Sub(w.Since))
		details.Set("waited_seconds", seconds(res.Duration))
		if w.Kind == AwaitUntil || w.Looks > 0 {
			details.Set("checks", int64(w.Looks+1))
		}
		if s.seen != "" {
			details.Set("seen", s.seen)
		}
	}
	if err := e.capture(st, res); err != nil {
		return e.exception(st, err)
	}
	m := e.mem
	m.PrevResult = prevResult(st, &res)
	if err := e.assign(st, m.PrevResult); err != nil {
		return e.exception(st, err)
	}
	if s.record != nil && st.Capture != "" {
		m.setCapture(st.Capture, s.record)
	}
	if rec, ok := m.Captured.Value(st.Capture).(*value.Map); ok && st.Capture != "" {
		with := rec.Clone()
		with.Set("verdict", s.verdict)
		if a := st.Await.Ask; a != nil && a.Approval {
			for _, f := range a.Fields {
				if _, given := with.Get(f.Name); !given {
					with.Set(f.Name, "")
				}
			}
		}
		m.setCapture(st.Capture, with)
	}
	fields := []Field{{"type", "wait"}, {"verdict", s.verdict}}
	for _, k := range details.Keys() {
		fields = append(fields, Field{k, details.Value(k)})
	}
	e.emit(EventEvaluate, fields...)
	m.LastResult = value.NewMap("verdict", s.verdict, "details", details)
	scope := e.scope(value.NewMap("verdict", s.verdict, "details", details))
	var target string
	var err error
	if st.Next != "" {
		target, err = e.target(e.onward(st, s.verdict), scope)
	} else {
		target, err = e.route(st, Followed(st, s.verdict), scope)
	}
	if err != nil {
		return e.exception(st, err)
	}
	return decision{target: target}
}

// Followed is the verdict whose key a state follows: a wait that timed out goes where one that found nothing
// does, unless the state has a key for it.
func Followed(st *State, verdict string) string {
	if st.Each != nil || st.Branches != nil {
		return followedItems(st, verdict)
	}
	if st.Await == nil || verdict != AwaitTimeout && verdict != AwaitWithdrawn {
		return verdict
	}
	if verdict == AwaitWithdrawn && !declaresVerdict(st, verdict) {
		verdict = AwaitTimeout
	}
	if st.Route != nil {
		if _, ok := st.Route.Table.Get(verdict); !ok && st.Route.Cases == nil && st.Route.Default == "" {
			return AwaitOtherwise
		}
		return verdict
	}
	if st.On[verdict] == "" {
		return AwaitOtherwise
	}
	return verdict
}

// forgetWait drops the wait of a state that no longer waits, because the definition of the run was changed.
func (e *Executor) forgetWait() {
	if st := e.cfg.Loop.States[e.mem.Current]; st == nil || st.Await == nil {
		e.mem.Awaiting = nil
	}
}

// declaresVerdict reports whether a state has a key for a verdict.
func declaresVerdict(st *State, verdict string) bool {
	if st.Route != nil {
		_, ok := st.Route.Table.Get(verdict)
		return ok || st.Route.Cases != nil
	}
	return st.On[verdict] != ""
}

func earlier(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}
