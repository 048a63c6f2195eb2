package inspect

import (
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/persistence"
)

// A Status is what is known about where a run is, from its record, its memory and its newest events. It never
// needs all of its events.
type Status struct {
	Run      persistence.Run
	Memory   *fsm.Snapshot       // nil = it was not asked for, or cannot be read
	Wait     *fsm.Wait           // nil = it waits for nothing
	Asks     []*fsm.OpenQuestion // that have no answer on record
	Answered bool                // what it asked was answered since no process carries it
	Answers  []GivenAnswer       // to its questions, in their order
	PausedAt time.Time           // it was asked to pause; zero = it was not
	Glance   Glance
	Rules    Rulebook // nil = they were not asked for
	Loops    LoopsByMemory
	Limits   []Limit
	Resume   string // the command that continues with the run; "" = it was not asked for
	Unread   error  // why its journal cannot be read; nil = it can
	Now      time.Time
	Stderr   time.Time // when an action that runs wrote to standard error last; zero = not known
	Alive    bool      // a process runs it
	Git      string    // what git does for the run beside its actions, as "merging branch a"; "" = nothing
	GitSince time.Time // of Git
}

// GitText says what git does for the run, "" if nothing.
func (v *Status) GitText() string {
	if v.Git == "" {
		return ""
	}
	return v.Git + "  (for " + humanize.Duration(max(time.Millisecond, v.Now.Sub(v.GitSince))) + ")"
}

// LeftFiles says which files of the run do not travel with it, "" if all do.
func (v *Status) LeftFiles() string {
	if v.Glance.Files == nil {
		return ""
	}
	return LeftFiles(*v.Glance.Files)
}

// Waits reports whether a run is silent because it is to wait.
func (v *Status) Waits() bool { return v.Alive && (v.Wait != nil || v.Paused()) }

// Paused reports whether the run is paused, also where its process has ended since.
func (v *Status) Paused() bool {
	return v.Wait != nil && v.Wait.Why == fsm.WaitPaused || !v.PausedAt.IsZero() && !v.Alive
}

// Heard is when the run last printed or did something.
func (v *Status) Heard() time.Time {
	at := v.Run.UpdatedAt
	if e := v.Glance.Newest; e != nil && e.Time.After(at) {
		at = e.Time
	}
	if v.Alive && v.Stderr.After(at) {
		at = v.Stderr
	}
	return at
}

// Idle is how long a running run has been silent. One that was resumed is not silent for longer than its process has
// been there.
func (v *Status) Idle() time.Duration {
	at := v.Heard()
	if at.IsZero() {
		return 0
	}
	if v.Alive && v.Run.Owner.Start > at.UnixMilli() {
		at = time.UnixMilli(v.Run.Owner.Start)
	}
	return max(0, v.Now.Sub(at))
}

// Acting is how long the action in flight has run; 0 = there is none, or no process carries it on.
func (v *Status) Acting() time.Duration {
	e := v.Glance.Acting
	if e == nil || e.Time.IsZero() || v.Wait != nil || !v.Alive {
		return 0
	}
	return max(time.Millisecond, v.Now.Sub(e.Time))
}

// Elapsed is how long the run has run. While it is paused its time stops.
func (v *Status) Elapsed() time.Duration {
	if v.Paused() && v.Alive {
		return v.Run.Elapsed
	}
	return Elapsed(v.Run)
}

// Measure finds out which limits the run is near to.
func (v *Status) Measure() {
	if v.Memory == nil {
		return
	}
	s := Position{Memory: v.Memory, Loops: v.Loops}
	if v.Alive && !v.Paused() {
		s.Acting, s.Silent = v.Acting(), v.Idle()
		if !v.Run.UpdatedAt.IsZero() {
			s.Since = max(0, v.Now.Sub(v.Run.UpdatedAt))
		}
	}
	v.Limits = s.Limits()
}

// A Level is one loop of where a run is.
type Level struct {
	Loop, State string
	Step, Most  int // most: 0 = not known
}

// Levels are where the run is: its state and, where that runs a sub-loop, the states in there. Where branches
// or items run, they lead on only if it is a single one, which runs a loop.
func (v *Status) Levels() []Level {
	if v.Memory == nil {
		return []Level{{v.Run.Loop, v.Run.State, v.Run.Step, v.Run.MaxSteps}}
	}
	var out []Level
	for m := v.Memory; m != nil; {
		l := Level{Loop: m.Loop, State: m.Current, Step: m.Step}
		if loop := v.Loops[m]; loop != nil {
			l.Most = loop.MaxSteps
		}
		out = append(out, l)
		m = single(m)
	}
	out[0].Loop, out[0].Step, out[0].Most = v.Run.Loop, v.Run.Step, v.Run.MaxSteps
	return out
}

// single is the memory of the one loop that a state runs, nil if it runs none, or several.
func single(m *fsm.Snapshot) *fsm.Snapshot {
	var only *fsm.Snapshot
	n := 0
	for name, inner := range entered(m) {
		if n++; !inner.Inline(name, m) {
			only = inner.Memory
		}
	}
	if n > 1 {
		return nil
	}
	return only
}

// VerdictText returns the visit of the newest verdict, nil where that is not known, and the sentences about it.
func (v *Status) VerdictText() (*Visit, []Sentence) {
	if j := v.Glance.Judged(); j != nil {
		return j, Verdict(j, v.LoopOf(j))
	}
	if v.Memory == nil || v.Memory.LastResult == nil {
		return nil, nil
	}
	// Too much was printed since, or the run has no events: what the memory says must do.
	e := fsm.Event{
		Kind:   fsm.EventEvaluate,
		Fields: []fsm.Field{{Key: "verdict", Value: ValueOf(v.Memory.LastResult, "verdict")}},
	}
	if d, ok := ValueOf(v.Memory.LastResult, "details").(*value.Map); ok {
		for _, key := range d.Keys() {
			e.Fields = append(e.Fields, fsm.Field{Key: key, Value: ValueOf(d, key)})
		}
	}
	alone := Alone(e)
	alone.State = v.judgedState()
	if alone.State == "" {
		return nil, Verdict(alone, nil)
	}
	return alone, Verdict(alone, v.Rules.Main())
}

// judgedState is the state that the verdict in the memory is of: the one that acted last, if that is one whose
// result is judged. It is "" where that is not known.
func (v *Status) judgedState() string {
	if v.Rules == nil || v.Rules.Main() == nil {
		return ""
	}
	name, _ := ValueOf(v.Memory.PrevResult, "state").(string)
	if s := v.Rules.Main().States[name]; s == nil || s.Next != "" || s.Loop != "" {
		return ""
	}
	return name
}

// LoopOf returns the loop that a visit of the run belongs to, nil where it is not known.
func (v *Status) LoopOf(visit *Visit) *fsm.Loop {
	if v.Rules == nil {
		return nil
	}
	return v.Rules.Of(visit)
}

// Ended is the event with which the run ended; nil = it did not, or not so.
func (v *Status) Ended() *fsm.Event {
	if e := v.Glance.Newest; e != nil && e.Kind == fsm.EventLoopComplete && e.Depth == 0 && !v.Alive {
		return e
	}
	return nil
}

// Why explains why the run is not running; "" where it is, or that is not known.
func (v *Status) Why() string {
	if e := v.Ended(); e != nil {
		var l *fsm.Loop
		if v.Rules != nil {
			l = v.Rules.Main()
		}
		return Ending(Honest(*e, v.Run), l).Text
	}
	if v.Alive || v.Run.Status != persistence.Interrupted || v.Run.Ended != "" && v.Run.Why == "" {
		return ""
	}
	return "It was " + Reason(v.Run) + "."
}

// ValueOf returns the value of a key, nil where there is none.
func ValueOf(m *value.Map, key string) any {
	v, _ := m.Get(key)
	return v
}

// StatusText is the status of the run for people: a run that waits because it was asked to pause is paused.
func (v *Status) StatusText() string {
	if v.Alive && v.Paused() {
		return Paused
	}
	return Outcome(v.Run)
}
