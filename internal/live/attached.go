package live

import (
	"cmp"
	"context"
	"errors"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/view"
	"loops/persistence"
)

// Attached shows a run that another process carries on. It is not safe for concurrent use.
type Attached struct {
	page    *view.Page
	project *project.Project
	Print   Printer
	project.Follower

	past  []fsm.Event // of the state the run is in, while it catches up
	clock runClock
	said  map[string]bool // damage that was reported
}

// Show shows a run until it is not running any more.
func (v *Attached) Show(ctx context.Context, r persistence.Run, all bool) (persistence.Run, error) {
	v.said = map[string]bool{}
	enter, entered := fsm.Event{}, runClock{}
	// What happened until now is read once: of it, only what belongs to the state the run is in is shown.
	err := v.Read(ctx, r, true, func(e fsm.Event, err error) {
		if err != nil {
			v.damaged(err)
			return
		}
		v.clock.add(e)
		if e.Depth == 0 && e.Kind == fsm.EventStateEnter {
			enter, entered = e, v.clock
			if !all {
				v.missed()
			}
		}
		v.past = append(v.past, e)
	})
	if err != nil {
		return r, err
	}
	v.header(r, enter)
	if r.Status == persistence.Starting && project.Alive(r) {
		v.Print.Note("It is starting, and has recorded nothing yet.")
	}
	v.clock = runClock{}
	if !all {
		v.clock = entered
		v.tell()
	}
	for _, e := range v.past {
		v.event(e)
	}
	v.past = nil
	if t, ok := v.Print.(*Text); ok {
		v.Stderr = t.Stderr
	}
	v.Print.Watch(func() {
		r, err = v.Follow(ctx, r, func(e fsm.Event, err error) {
			if err != nil {
				v.damaged(err)
				return
			}
			v.event(e)
		})
	})
	if r.Status == persistence.Starting && errors.Is(err, persistence.ErrNotFound) {
		err = engine.Refuse(engine.Failed, "the process of run %s (pid %d) ended before it recorded anything", r.ID,
			r.Owner.PID)
	}
	return r, err
}

// missed forgets what belongs to an earlier state, for all but the sums at the end.
func (v *Attached) missed() {
	if t, ok := v.Print.(*Text); ok {
		for _, e := range v.past {
			t.Missed(e)
		}
	}
	v.past = v.past[:0]
}

func (v *Attached) header(r persistence.Run, enter fsm.Event) {
	dir := v.project.RunDir(r.ID)
	h := Header{
		Loop: &fsm.Loop{Name: r.Loop, MaxSteps: r.MaxSteps, File: r.File},
		File: cmp.Or(v.project.Short(r.File), "(not recorded)"), Run: r,
		RunDir: dir + "/", ShortDir: v.project.Short(dir) + "/", Attached: true, Begin: r.StartedAt,
		Resumed: r.Segment > 0,
	}
	if step, ok := enter.Get("iteration").(int64); ok {
		h.Where, h.Run.Step, h.Elapsed = inspect.Text(enter.Get("state")), int(step), v.clock.at(enter.Time)
	}
	v.Print.Header(h)
}

// tell has the printer count time as the clock does.
func (v *Attached) tell() {
	if t, ok := v.Print.(*Text); ok {
		t.Since(v.clock.before, v.clock.begin)
	}
}

// event shows one event; its time counts from the beginning of the run, without the pauses between its parts.
func (v *Attached) event(e fsm.Event) {
	if v.clock.add(e) {
		v.tell()
	}
	v.Print.Event(e)
}

func (v *Attached) damaged(err error) {
	if text := humanize.OneLine(err); !v.said[text] {
		v.said[text] = true
		v.Print.Note("loops: " + text)
	}
}

// End says how a run ended, and returns that. The error says what is not on record.
func (v *Attached) End(ctx context.Context, r persistence.Run) (*fsm.Outcome, error) {
	m, err := v.Store.MemoryOf(ctx, r)
	if m == nil {
		return nil, v.Store.Failed(err)
	}
	continues := r.Resumable
	if m.Outcome != nil {
		continues = persistence.StatusOf(*m.Outcome).CanGoOn(m.Outcome.Retriable())
	}
	resume, hint := "", ""
	if place := inspect.PlacementText(r); place != "" {
		hint = "; " + place
	}
	if continues && !r.Carried() {
		resume = v.page.Remedy(engine.GoOnRemedy(ctx, v.Store, r))
		hint += "; resume it: " + resume
	}
	switch o := m.Outcome; {
	case o == nil && r.Owner.PID == 0:
		return nil, engine.Refuse(engine.Failed, "run %s is %s in state %s; how it ended is not on record%s", r.ID,
			inspect.Outcome(r), r.State, hint)
	case o == nil:
		return nil, engine.Refuse(engine.Failed, "the process of run %s (pid %d) died in state %s%s", r.ID,
			r.Owner.PID, r.State, hint)
	case r.Foreign && o.TerminatedBy == fsm.EndInterrupted: // its records do not distinguish a signal from LOOP_STOP
		return nil, engine.Refuse(engine.Failed, "run %s was interrupted in state %s; how is not on record%s", r.ID,
			r.State, hint)
	}
	o := *m.Outcome
	v.Print.Finish(o, resume)
	if hint != "" && r.Placement != nil {
		v.Print.Note("Workers: " + inspect.PlacementText(r) + ".")
	}
	return &o, nil
}

// A runClock measures how long a run has run at an event, from the events before it.
type runClock struct {
	before      time.Duration // in the parts of the run before this one
	begin, last time.Time     // of this part
}

// add takes the next event, and reports whether a new part begins with it.
func (c *runClock) add(e fsm.Event) (begins bool) {
	if e.Depth == 0 && (e.Kind == fsm.EventLoopStart || e.Kind == fsm.EventLoopResume) {
		c.before += max(0, c.last.Sub(c.begin))
		c.begin, begins = e.Time, true
	}
	c.last = e.Time
	return begins
}

func (c *runClock) at(t time.Time) time.Duration { return c.before + max(0, t.Sub(c.begin)) }

// NewAttached returns a viewer of a recorded run.
func NewAttached(p *project.Project, print Printer, store *project.Records, id persistence.ID,
	page *view.Page,
) *Attached {
	return &Attached{page: page, project: p, Print: print, Follower: project.Follower{Store: store, ID: id}}
}
