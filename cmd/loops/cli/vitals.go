package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/persistence"
)

// vitals are what there is to know about how a run stands, from its record, its memory and its newest events: never from
// all that it did.
type vitals struct {
	run      persistence.Run
	memory   *fsm.Snapshot // nil = it was not asked for, or cannot be read
	wait     *fsm.Wait     // nil = it waits for nothing
	pausedAt time.Time     // it was asked to pause; zero = it was not
	glance   inspect.Glance
	rules    *rulebook // nil = they were not asked for
	loops    []*fsm.Loop
	limits   []inspect.Limit
	resume   string // the command that goes on with the run; "" = it was not asked for
	unread   error  // why its journal cannot be read; nil = it can
	now      time.Time
}

// waits says whether a run is silent because it is to wait.
func (v *vitals) waits() bool { return project.Alive(v.run) && (v.wait != nil || v.stands()) }

// stands says whether the run is paused: nobody knows until when.
func (v *vitals) stands() bool {
	return v.wait != nil && v.wait.Why == fsm.WaitPaused || !v.pausedAt.IsZero() && !project.Alive(v.run)
}

// heard is when the run said something last, or did something.
func (v *vitals) heard() time.Time {
	at := v.run.UpdatedAt
	if e := v.glance.Newest; e != nil && e.Time.After(at) {
		at = e.Time
	}
	return at
}

// idle is how long nothing was heard of a run that goes on.
func (v *vitals) idle() time.Duration {
	if v.heard().IsZero() {
		return 0
	}
	return max(0, v.now.Sub(v.heard()))
}

// acting is how long the action in flight has run; 0 = there is none, or nobody carries it on.
func (v *vitals) acting() time.Duration {
	e := v.glance.Acting
	if e == nil || e.Time.IsZero() || v.wait != nil || !project.Alive(v.run) {
		return 0
	}
	return max(time.Millisecond, v.now.Sub(e.Time))
}

// elapsed is how long the run has run. While it is paused its time stands still.
func (v *vitals) elapsed() time.Duration {
	if v.stands() && project.Alive(v.run) {
		return v.run.Elapsed
	}
	return elapsed(v.run)
}

// glimpse finds out what a list of runs shows: what a run that goes on waits for, and when it was heard of last.
func glimpse(ctx context.Context, f project.Finder, r persistence.Run) *vitals {
	v := &vitals{run: r, now: time.Now()}
	v.missed(f, r.Unread)
	if at, paused := f.Project.PausedSince(r.ID); paused && r.Resumable {
		v.pausedAt = at
	}
	if !project.Alive(r) {
		return v
	}
	if m := v.snapshot(ctx, f); m != nil {
		v.memory, v.wait = m, m.Waiting()
	}
	v.look(ctx, f, func(e fsm.Event) bool {
		v.glance.Add(e)
		return false
	})
	return v
}

// vitals finds out all that status shows.
func (a *app) vitals(ctx context.Context, f project.Finder, r persistence.Run) *vitals {
	v := &vitals{run: r, now: time.Now()}
	v.missed(f, r.Unread)
	if at, paused := f.Project.PausedSince(r.ID); paused && r.Resumable {
		v.pausedAt = at
	}
	if m := v.snapshot(ctx, f); m != nil {
		v.memory = m
		if r.Status == persistence.Running || !r.Archived || r.Resumable {
			v.wait = m.Waiting()
		}
	}
	v.look(ctx, f, v.glance.Add)
	v.rules = a.rulebook(ctx, f, r)
	v.resume = a.goOn(ctx, f.Store, r)
	v.measure()
	return v
}

// snapshot returns the memory of the run, nil where there is none to show. Damage is told with the run.
func (v *vitals) snapshot(ctx context.Context, f project.Finder) *fsm.Snapshot {
	m, err := f.Store.Snapshot(ctx, v.run.ID)
	v.missed(f, err)
	return m
}

// look gives the newest events of the run, until each wants no more.
func (v *vitals) look(ctx context.Context, f project.Finder, each func(fsm.Event) bool) {
	v.missed(f, f.Store.Newest(ctx, v.run.ID, each))
}

// missed keeps the first error of reading. Damage, and a run that was removed meanwhile, are none.
func (v *vitals) missed(f project.Finder, err error) {
	if err != nil && v.unread == nil && !project.IsDamage(err) && !errors.Is(err, persistence.ErrNotFound) {
		v.unread = f.Store.Failed(err)
	}
}

// unreadRuns is the error of a view that could not read all of these runs.
func unreadRuns(runs []*vitals) error {
	var errs []error
	for _, v := range runs {
		if v.unread != nil {
			errs = append(errs, failure(exitRecord, "what is recorded of run %s cannot all be read: %v", v.run.ID, v.unread))
		}
	}
	return joined(errs)
}

// measure finds out which limits the run is near to.
func (v *vitals) measure() {
	if v.memory == nil {
		return
	}
	if l := v.rules.main; l != nil {
		l, _ = project.Overrides{}.Over(v.run.Options).Apply(l)
		v.loops = append(v.loops, given(l, v.run))
	} else {
		v.loops = append(v.loops, &fsm.Loop{MaxSteps: v.run.MaxSteps})
	}
	for c := v.memory.Child; c != nil && c.Memory.Step > 0; c = c.Memory.Child {
		var l *fsm.Loop
		if known := v.rules.def.Of(c.File); known != nil {
			l, _ = known.Load() // one that a former version took may be wrong now
		}
		v.loops = append(v.loops, l)
	}
	s := inspect.Standing{Memory: v.memory, Loops: v.loops}
	if project.Alive(v.run) && !v.stands() {
		s.Acting, s.Silent = v.acting(), v.idle()
		if !v.run.UpdatedAt.IsZero() {
			s.Since = max(0, v.now.Sub(v.run.UpdatedAt))
		}
	}
	v.limits = s.Limits()
}

// A level is one loop of where a run stands.
type level struct {
	loop, state string
	step, most  int // most: 0 = not known
}

// levels are where the run stands: its state and, where that runs a sub-loop, the states in there.
func (v *vitals) levels() []level {
	if v.memory == nil {
		return []level{{v.run.Loop, v.run.State, v.run.Step, v.run.MaxSteps}}
	}
	var out []level
	for m := v.memory; m != nil; {
		l := level{loop: m.Loop, state: m.Current, step: m.Step}
		if i := len(out); i < len(v.loops) && v.loops[i] != nil {
			l.most = v.loops[i].MaxSteps
		}
		out = append(out, l)
		if m.Child == nil || m.Child.Memory.Step == 0 {
			break
		}
		m = m.Child.Memory
	}
	out[0].loop, out[0].step, out[0].most = v.run.Loop, v.run.Step, v.run.MaxSteps
	return out
}

// verdict is the newest one: which visit it is of, nil where that is not known, and what is said of it.
func (v *vitals) verdict() (*inspect.Visit, []inspect.Sentence) {
	if j := v.glance.Judged(); j != nil {
		return j, inspect.Verdict(j, v.lawOf(j))
	}
	if v.memory == nil || v.memory.LastResult == nil {
		return nil, nil
	}
	// Too much was printed since: what the memory says must do.
	e := fsm.Event{Kind: fsm.EventEvaluate, Fields: []fsm.Field{{Key: "verdict", Value: valueOf(v.memory.LastResult, "verdict")}}}
	if d, ok := valueOf(v.memory.LastResult, "details").(*value.Map); ok {
		for _, key := range d.Keys() {
			e.Fields = append(e.Fields, fsm.Field{Key: key, Value: valueOf(d, key)})
		}
	}
	return nil, inspect.Verdict(inspect.Alone(e), nil)
}

func (v *vitals) lawOf(visit *inspect.Visit) *fsm.Loop {
	if v.rules == nil {
		return nil
	}
	return v.rules.of(visit)
}

// ended is the event with which the run ended; nil = it did not, or not so.
func (v *vitals) ended() *fsm.Event {
	if e := v.glance.Newest; e != nil && e.Kind == fsm.EventLoopComplete && e.Depth == 0 && !project.Alive(v.run) {
		return e
	}
	return nil
}

// why says why the run is not going on; "" where it is, or nobody knows.
func (v *vitals) why() string {
	if e := v.ended(); e != nil {
		var l *fsm.Loop
		if v.rules != nil {
			l = v.rules.main
		}
		return inspect.Ending(honest(*e, v.run), l).Text
	}
	switch {
	case project.Alive(v.run), v.run.Status != persistence.Interrupted:
		return ""
	case v.run.Why != "":
		return "It was interrupted: " + v.run.Why + "."
	case v.run.Ended == "":
		return "It was interrupted: its process is gone, and recorded nothing about why."
	}
	return ""
}

// rateLimited is what is said of a run that ended because a rate limit lasted too long. What is recorded of it is the
// error of the reference tool, which is that of a state without a way on.
const rateLimited = "the agent host still refuses for its rate, and the waits for that are used up; resume the run later"

// honestError is the error of a run in words that say what happened.
func honestError(r persistence.Run) string {
	if r.Limited && r.Error == noTransition {
		return rateLimited
	}
	return r.Error
}

// honest is an event of a run with such an error.
func honest(e fsm.Event, r persistence.Run) fsm.Event {
	if !r.Limited || e.Kind != fsm.EventLoopComplete || e.Depth > 0 || text(e.Get("error")) != noTransition {
		return e
	}
	e.Fields = slices.Clone(e.Fields)
	for i, f := range e.Fields {
		if f.Key == "error" {
			e.Fields[i].Value = rateLimited
		}
	}
	return e
}

// valueOf returns the value of a key, nil where there is none.
func valueOf(m *value.Map, key string) any {
	v, _ := m.Get(key)
	return v
}
