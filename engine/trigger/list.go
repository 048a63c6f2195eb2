package trigger

import (
	"context"
	"errors"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/humanize"
)

// A ListedSchedule is a schedule of a project, and its status.
type ListedSchedule struct {
	Plan
	Known  bool // a server has seen it: from then on its times count
	Paused *SchedulePause
	Times  []Firing  // on record, oldest first; then one that has passed while nothing fired schedules
	Next   time.Time // in its zone; zero where it is paused, or nothing comes

	Heard    time.Time // when a server, worker or timer left its newest sign; zero = never
	Attended bool      // its sign is not too old, nor of a clock that was ahead
	Ahead    time.Time // its newest time on record that is still to come, because the clock was ahead; zero = none

	// why it is not going to start, because others wrote the loop; "" = it is, or that was not looked for. See [Vet]
	Untrusted string

	overdue Firing // its newest time that has passed and is not on record
}

// ListSchedules returns the schedules of a project. Files with mistakes are named in wrong, and the schedules
// of the others are listed all the same.
func ListSchedules(ctx context.Context, p *project.Project, now time.Time) (all []ListedSchedule, wrong, err error) {
	plans, wrong := Plans(p)
	if len(plans) == 0 {
		return nil, wrong, nil
	}
	r, err := p.Records(ctx, false)
	if _, none := errors.AsType[*project.NoDatabaseError](err); err != nil && !none {
		return nil, wrong, err
	}
	if err == nil {
		defer r.Close()
	}
	var heard time.Time
	if r != nil {
		if _, heard, err = newestSign(ctx, r.Ledger()); err != nil {
			return nil, wrong, err
		}
	}
	for _, plan := range plans {
		l := ListedSchedule{Plan: plan, Heard: heard}
		var since time.Time
		if r != nil {
			s, known, err := ScheduleStateOf(ctx, r.Ledger(), plan.Loop)
			if err != nil {
				return nil, wrong, err
			}
			l.Known, l.Paused = known, s.Paused
			if l.Times, err = s.times(ctx, r.Ledger(), plan.Loop); err != nil {
				return nil, wrong, err
			}
			since, l.Ahead = s.newest(l.Times), s.ahead(l.Times, now)
		}
		if l.Paused == nil {
			l.Next = plan.Next(now)
			if since.After(now) && since.Sub(now) <= aheadMost { // until then nothing is fired
				l.Next = plan.Next(since)
			}
		}
		if l.Known && l.Paused == nil {
			if at, before := plan.due(since, now.Add(-onTime), 1); len(at) > 0 {
				l.overdue = Firing{
					Loop: plan.Loop, At: at[0].UTC(), State: Missed, Why: "nothing fired it",
					Missed: before,
				}
			}
		}
		all = append(all, l)
	}
	limit := quiet(all, now)
	for i := range all {
		l := &all[i]
		if l.Attended = !heard.IsZero() && now.Sub(heard) < limit && heard.Sub(now) <= aheadMost; !l.Attended &&
			!l.overdue.At.IsZero() {
			l.Times = append(l.Times, l.overdue)
		}
	}
	return all, wrong, nil
}

// Vet finds out which schedules are not going to start because others wrote their loops, or changed them. Those that
// are paused are left out.
func Vet(ctx context.Context, p *project.Project, all []ListedSchedule) {
	for i := range all {
		if all[i].Paused == nil {
			all[i].Untrusted = all[i].untrusted(ctx, p)
		}
	}
}

// untrusted returns why the loop does not start; "" = it does.
func (p Plan) untrusted(ctx context.Context, in *project.Project) string {
	if e, ok := errors.AsType[*project.UntrustedError](in.CheckTrust(ctx, p.File)); ok {
		return e.Error()
	}
	return ""
}

// Untrusted returns why a schedule is not going to start because others wrote its loop, and is not paused; "" = it is.
func Untrusted(ctx context.Context, r *project.Records, p Plan) string {
	if s, _, err := ScheduleStateOf(ctx, r.Ledger(), p.Loop); err != nil || s.Paused != nil {
		return ""
	}
	return p.untrusted(ctx, r.Project)
}

// FindPlan returns the schedule of the loop that a user names, by file or name. The error is a refusal where it
// has none.
func FindPlan(p *project.Project, name string, see engine.Operation) (Plan, error) {
	lib := project.NewLibrary(p)
	path, err := lib.Find(name)
	if err != nil {
		return Plan{}, err
	}
	f, err := lib.Read(path)
	if err != nil {
		return Plan{}, err
	}
	if f.Loop.Schedule == nil {
		return Plan{}, engine.Misuse(see, "the loop %s has no schedule; to give it one, write schedule: {cron: \"0 "+
			"3 * * *\"} in %s", humanize.Quote(f.Loop.Name), p.Short(path))
	}
	plan, err := NewPlan(f.Loop)
	plan.File = path
	return plan, err
}

// ChosenPlans returns the schedules of the loops that a user names, all where none is named. The error names
// loops without one, and files with mistakes; the schedules of others are returned all the same.
func ChosenPlans(p *project.Project, names []string, see engine.Operation) (plans []Plan, err error) {
	if len(names) == 0 {
		return Plans(p)
	}
	for _, name := range names {
		plan, wrong := FindPlan(p, name, see)
		if wrong != nil {
			return plans, wrong
		}
		plans = append(plans, plan)
	}
	return plans, nil
}

// SetPaused has a schedule of a project fire no more, or again, as [Clock.SetPaused] does.
func SetPaused(ctx context.Context, p *project.Project, plan Plan, paused bool, by string) (changed bool, err error) {
	r, err := p.Records(ctx, true)
	if err != nil {
		return false, err
	}
	defer r.Close()
	if !p.HasRecords() {
		_ = p.IgnoreRecords() // whatever is wrong with the folder is reported by the record
	}
	return NewClock(r, nil).SetPaused(ctx, plan, paused, by)
}
