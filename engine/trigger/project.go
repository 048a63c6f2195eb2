package trigger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/persistence"
)

// A Begin has another process carry a run, which outlives this one, and returns when the run is on record, or
// waits in the queue. words are a command line that asks for the same.
type Begin func(ctx context.Context, r engine.Request, words []string) (run string, err error)

// A BrokenError names a loop file that has mistakes, so that its schedule is not known.
type BrokenError struct {
	File  string // its path
	Short string // as messages have it
}

func (e *BrokenError) Error() string {
	return e.Short + " has mistakes, so whether it has a schedule is not known"
}

// Plans returns the loops of a project that have a schedule, by name. A file with mistakes (a [*BrokenError]),
// or a second one with the name of another, is named in the error, which has a line for each; the plans of the
// others are returned all the same. Loops of the catalog have none: they belong to many projects.
func Plans(p *project.Project) (plans []Plan, err error) {
	lib := project.NewLibrary(p)
	files, err := lib.Files.List(p.Loops)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	var errs []error
	for _, e := range files {
		f, err := lib.Load(e.Path)
		if err != nil || f.Loop == nil {
			errs = append(errs, &BrokenError{File: e.Path, Short: p.Short(e.Path)})
			continue
		}
		if f.Loop.Schedule == nil {
			continue
		}
		plan, err := NewPlan(f.Loop)
		if plan.File = e.Path; err != nil {
			errs = append(errs, &BrokenError{File: e.Path, Short: p.Short(e.Path)}, err)
			continue
		}
		i := slices.IndexFunc(plans, func(other Plan) bool { return other.Loop == plan.Loop })
		if i >= 0 {
			errs = append(errs, fmt.Errorf("%s and %s are both the loop %s, so only the schedule of the first is fired",
				p.Short(plans[i].File), p.Short(e.Path), humanize.Quote(plan.Loop)))
			continue
		}
		plans = append(plans, plan)
	}
	slices.SortFunc(plans, func(a, b Plan) int { return strings.Compare(a.Loop, b.Loop) })
	return plans, errors.Join(errs...)
}

// An inProject is the world of a project.
type inProject struct {
	records *project.Records
	begin   Begin
}

// NewClock returns the clock of a project whose records are open, and stay so while it is used.
func NewClock(r *project.Records, begin Begin) *Clock {
	return &Clock{Ledger: r.Ledger(), World: inProject{r, begin}}
}

// Started implements [World].
func (w inProject) Started(ctx context.Context, id persistence.ID) (by string, exists bool, err error) {
	runs, err := w.records.Runs(ctx, persistence.Query{ID: id, Anywhere: true}) // projects of one name share schedules
	if err != nil || len(runs) == 0 {
		return "", false, err
	}
	return engine.StartedBy(runs[0]), true, nil
}

// Newest implements [World].
func (w inProject) Newest(ctx context.Context) (string, error) {
	runs, err := w.records.Runs(ctx, persistence.Query{Limit: 1})
	if err != nil || len(runs) == 0 {
		return "", err
	}
	return runs[0].RunID, nil
}

// mostBefore is among how many of the newest runs of a loop one is looked for that is parked; those that are
// running are all seen.
const mostBefore = 50

// Busy implements [World].
func (w inProject) Busy(ctx context.Context, loop string) (string, error) {
	runs, err := w.records.Runs(ctx, persistence.Query{Loop: loop, Limit: mostBefore, LiveToo: true})
	if err != nil {
		return "", err
	}
	for _, r := range project.Current(runs) {
		if !strings.HasPrefix(engine.StartedBy(r), By) {
			continue
		}
		switch {
		case project.Alive(r):
			return "run " + string(r.ID) + " is running", nil
		case r.Status == persistence.Queued:
			return "run " + string(r.ID) + " is queued", nil
		case r.Status == persistence.Awaiting && r.Ended == fsm.EndSuspended:
			return "run " + string(r.ID) + " is suspended", nil
		case r.Status == persistence.Awaiting && r.Ended == fsm.EndParked:
			return "run " + string(r.ID) + " waits", nil
		}
	}
	return "", nil
}

// Queued implements [World].
func (w inProject) Queued(id persistence.ID) (bool, error) {
	line, err := w.records.Project.Queue().Waiters()
	return slices.ContainsFunc(line, func(w persistence.Waiter) bool { return w.Gets == id }), err
}

// Begin implements [World]. The run waits for what others have locked: no user is there who would try again. A loop of
// others that its user has not trusted is refused here: the process that would carry it says so in words only.
func (w inProject) Begin(ctx context.Context, p Plan, f Firing) error {
	if e, ok := errors.AsType[*project.UntrustedError](w.records.Project.CheckTrust(ctx, p.File)); ok {
		return fmt.Errorf("%w. Look at it, then have it run: loops trust %s", e, humanize.ShellWord(e.Target))
	}
	r := &engine.StartRequest{
		Loop: p.File, ID: f.Run, By: f.By(), Values: f.Values, Input: f.Input,
		Lock: engine.Lock{Queue: true, Limit: -1}, ScheduledAt: p.scheduledAt(f),
	}
	_, err := w.begin(ctx, engine.Request{Start: r}, []string{"run", "-b", "--queue", "--", p.Loop})
	return err
}

// RequestNow asks for a run of a loop with a schedule at once, beside its times.
func RequestNow(p Plan, lock engine.Lock) engine.Request {
	return engine.Request{Start: &engine.StartRequest{Loop: p.File, By: ByHand, Lock: lock}}
}

// poll is how often a watch looks whether loop files are different.
const poll = 3 * time.Second

// A Watch fires the schedules of one project, as its loop files are at the time.
type Watch struct {
	Open  func() (*project.Project, error) // opens the project again
	Begin Begin
	Tell  func(Firing) // as [Clock.Tell]
	Say   func(string) // gets what is wrong, once; nil = not called

	clock   *Clock
	records *project.Records
	plans   []Plan
	files   string
	said    string
}

// Once fires what is due now, for a program that is called each minute, and returns when the runs have begun.
func (w *Watch) Once(ctx context.Context) error {
	defer w.close()
	if _, err := w.read(ctx); err != nil || w.clock == nil {
		return err
	}
	_, err := w.clock.Tick(ctx, w.plans)
	return errors.Join(err, w.clock.Sign(ctx))
}

// Run fires schedules until ctx ends. The system's clock counts: after a suspend, what was missed is found
// within seconds.
func (w *Watch) Run(ctx context.Context) {
	defer func() { w.close() }()
	var next, ticked time.Time
	for {
		changed, err := w.read(ctx)
		if now := time.Now(); err == nil && w.clock != nil && (changed || isDue(next, ticked, now)) {
			ticked = now.Round(0)
			next, err = w.clock.Tick(ctx, w.plans)
		}
		if err == nil && len(w.plans) > 0 {
			err = w.clock.Sign(ctx)
		}
		w.say(ctx, err)
		pause := poll
		if until := time.Until(next); !next.IsZero() && until < pause {
			pause = max(until, 50*time.Millisecond)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// isDue reports whether schedules are to be looked at again: at next, or earlier if the clock is behind what it
// was when they were looked at.
func isDue(next, looked, now time.Time) bool {
	return !next.IsZero() && (!now.Before(next) || now.Before(looked))
}

// read reads the schedules again when files of the project are different, and reports whether they are.
func (w *Watch) read(ctx context.Context) (changed bool, err error) {
	p, err := w.Open()
	if err != nil {
		return false, err
	}
	files := signature(p.Loops)
	if files == w.files && w.clock != nil || files == w.files && len(w.plans) == 0 && w.files != "" {
		return false, nil
	}
	plans, wrong := Plans(p)
	w.files = files
	// a schedule whose file has mistakes just now is fired as it was; one that was removed is not
	for _, before := range w.plans {
		known := slices.ContainsFunc(plans, func(p Plan) bool { return p.Loop == before.Loop })
		if !known && isBroken(wrong, before.File) {
			plans = append(plans, before)
		}
	}
	if w.plans = plans; len(plans) > 0 && w.clock == nil {
		if w.records, err = p.Records(ctx, true); err != nil {
			w.files = ""
			return false, err
		}
		w.clock = NewClock(w.records, w.Begin)
		w.clock.Tell = w.Tell
	}
	w.say(ctx, wrong)
	return true, nil
}

// isBroken reports whether an error of [Plans] says that this file has mistakes.
func isBroken(wrong error, file string) bool {
	all, _ := wrong.(interface{ Unwrap() []error }) //nolint:errorlint // the errors of Plans are joined, and it is all of them that count
	return all != nil && slices.ContainsFunc(all.Unwrap(), func(err error) bool {
		broken, ok := errors.AsType[*BrokenError](err)
		return ok && broken.File == file
	})
}

func (w *Watch) close() {
	if w.records != nil {
		_ = w.records.Close()
	}
}

// say reports an error, unless it is the one that was reported before.
func (w *Watch) say(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil || w.Say == nil || err.Error() == w.said {
		return
	}
	w.said = err.Error()
	w.Say(w.said)
}

// signature is different when a loop file of a project is.
func signature(loops string) string {
	var b strings.Builder
	_ = filepath.WalkDir(loops, func(path string, e fs.DirEntry, err error) error {
		switch name := filepath.Base(path); {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read is no loop
		case e.IsDir() && path != loops && (name[0] == '.' || name == "runs" || name == "logs" || name == "tmp"):
			return fs.SkipDir
		case !e.IsDir() && (strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")):
			if info, err := e.Info(); err == nil {
				fmt.Fprintln(&b, path, info.ModTime().UnixNano(), info.Size())
			}
		}
		return nil
	})
	b.WriteString("read\n")
	return b.String()
}
