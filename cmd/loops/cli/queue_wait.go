package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"loops/engine/project"
	"loops/internal/config"
	"loops/persistence"
)

// How often somebody who waits looks whether he still must: after a tenth of the time that he has waited, within these.
const (
	queuePollLeast  = 10 * time.Millisecond
	queuePollFirst  = 100 * time.Millisecond // at most, of who is first
	queuePollBehind = 250 * time.Millisecond // at most, of who is behind others
)

// A turn is a run that is about to begin, or to go on, and what it locks.
type turn struct {
	project *project.Project
	store   *project.Records
	flags   lockFlags
	config  *config.Config
	printer printer
	quiet   bool
	spec    persistence.Spec // of the run
	resumes persistence.ID   // the run that is to go on; "" = a new one
	leave   persistence.ID   // a run that is not tidied up, although it may have died; "" = none
}

// whenFree calls take, which gives this process a run, when nobody is in the way: at once, or with --queue when it is its
// turn. It returns what take returned. The store alone decides who has a scope, so that no more than one has.
// The scope of a run that was killed is free at once, while its action may still be at work. So the project is tidied up
// before this returns, which ends such actions: nobody else can begin meanwhile.
func (a *app) whenFree(ctx context.Context, t turn, take func() (persistence.Journal, error)) (persistence.Journal, error) {
	journal, err := a.taken(ctx, t, take)
	if err == nil {
		a.tidy(ctx, t.project, t.store.Store, t.printer, t.quiet, t.leave)
	}
	return journal, err
}

// create makes a new run when nobody is in the way, which is when it began.
func (a *app) create(ctx context.Context, t turn) (journal persistence.Journal, began time.Time, err error) {
	journal, err = a.whenFree(ctx, t, func() (persistence.Journal, error) {
		began = time.Now()
		t.spec.StartedAt = began
		return t.store.Create(ctx, t.spec)
	})
	return journal, began, err
}

// taken is what take returned when it was time to call it.
func (a *app) taken(ctx context.Context, t turn, take func() (persistence.Journal, error)) (journal persistence.Journal, err error) {
	try := func() error {
		return untilFree(ctx, func() (err error) { journal, err = take(); return err })
	}
	if len(t.spec.Scope) == 0 && !t.spec.Singleton {
		return journal, try()
	}
	queue := t.project.Queue()
	line, err := queue.Waiters()
	if err != nil {
		return nil, err
	}
	me := persistence.Waiter{
		Loop: t.spec.Loop, Resumes: t.resumes, Scope: persistence.ResolveScope(t.spec.Scope), Singleton: t.spec.Singleton,
		Owner: t.spec.Owner, Inside: t.spec.Ancestors,
	}
	shared := t.shared(ctx, line)
	if ahead := persistence.Blocking(me, line, shared); len(ahead) > 0 {
		err = &behindError{ahead[0], len(ahead), ahead[0].Of(me.Scope)}
	} else if err = try(); !inTheWay(err) {
		return journal, err
	}
	limit := t.flags.waits(t.config)
	if limit == 0 {
		return nil, a.refused(err, 0)
	}
	w := &waiting{app: a, turn: t, queue: queue, me: me, shared: shared, limit: limit, why: err}
	return w.until(ctx, func() (persistence.Journal, error) { err := try(); return journal, err })
}

// inTheWay says whether an error means that others have, or want before us, what a run locks.
func inTheWay(err error) bool {
	_, locked := errors.AsType[*persistence.ConflictError](err)
	_, behind := errors.AsType[*behindError](err)
	return locked || behind
}

// shared returns what the runs around this one have locked, if there is somebody in the line for whom it matters.
func (t turn) shared(ctx context.Context, line []persistence.Waiter) (scope []string) {
	if len(line) == 0 && !t.flags.queue {
		return nil
	}
	for _, id := range t.spec.Ancestors {
		runs, err := t.store.Runs(ctx, persistence.Query{ID: id})
		if err != nil {
			continue // what is wrong with the store, taking the run will tell
		}
		for _, r := range runs {
			scope = append(scope, r.Scope...)
		}
	}
	return scope
}

// errOver ends waiting for the lock of the queue.
var errOver = errors.New("waited for as long as the run may")

// A waiting is a place in the queue, until it is its turn.
type waiting struct {
	app    *app
	turn   turn
	queue  *persistence.Queue
	me     persistence.Waiter
	shared []string
	limit  time.Duration

	began time.Time
	place *persistence.Place
	why   error // what is in the way
	told  persistence.Obstacle
	lost  error // what keeps this process from finding out, and may pass; nil = nothing
}

// until waits, calls take when it is time, and leaves the queue in any case.
func (w *waiting) until(ctx context.Context, take func() (persistence.Journal, error)) (persistence.Journal, error) {
	w.began = time.Now()
	over := time.NewTimer(w.limit)
	defer over.Stop()
	limited, cancel := w.limited(ctx)
	defer cancel()
	place, err := w.queue.Join(limited, w.me)
	if errors.Is(err, errOver) {
		return nil, w.app.refused(w.why, w.limit)
	}
	if err != nil {
		return nil, err
	}
	defer place.Leave() //nolint:errcheck // what is left of who does not wait any more counts for nothing
	w.place, w.me = place, place.Waiter()
	for {
		if !place.Kept() {
			return nil, w.takenOut()
		}
		if journal, err := w.look(ctx, take); err != nil || journal != nil {
			return journal, err
		}
		select {
		case <-time.After(w.pause(time.Since(w.began))):
		case <-over.C:
			if w.lost != nil {
				return nil, w.lost
			}
			return nil, w.app.refused(w.why, w.limit)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// limited is for taking the lock of the queue: whoever has it may hang, and that is no reason to wait beyond the limit.
func (w *waiting) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, w.began.Add(w.limit), errOver)
}

// takenOut is the error of somebody whose place is gone.
func (w *waiting) takenOut() error {
	if _, err := os.Stat(filepath.Dir(w.queue.LogPath(w.me.ID))); errors.Is(err, fs.ErrNotExist) {
		return errQueueGone
	}
	return errTakenOut
}

// pause is how long to wait before the next look. Hundreds who wait for hours must cost next to nothing.
func (w *waiting) pause(waited time.Duration) time.Duration {
	most := queuePollFirst
	if _, behind := errors.AsType[*behindError](w.why); behind {
		most = queuePollBehind
	}
	return min(most, max(queuePollLeast, waited/10))
}

// look finds out whether somebody is still in the way, and calls take if not.
func (w *waiting) look(ctx context.Context, take func() (persistence.Journal, error)) (persistence.Journal, error) {
	if ahead, n := w.place.Behind(w.shared); ahead != nil {
		w.why = &behindError{*ahead, n, ahead.Of(w.me.Scope)}
		return nil, w.tell(ctx)
	}
	if locked, ok := errors.AsType[*persistence.ConflictError](w.why); ok && w.told.Run == locked.Holder && w.turn.store.Owned(ctx, locked.Holder) {
		return nil, nil
	}
	journal, err := take()
	if ctx.Err() == nil && w.turn.store.Passing(err) {
		w.wait(err)
		return nil, nil
	}
	w.lost = nil
	if inTheWay(err) {
		w.why = err
		return nil, w.tell(ctx)
	}
	if err == nil && errors.Is(w.place.Leave(), persistence.ErrNotWaiting) {
		// Whoever took us out of the queue was told that we do not begin.
		return nil, errors.Join(errTakenOut, journal.Close(context.WithoutCancel(ctx)))
	}
	return journal, err
}

// wait waits out what may pass, and says so once.
func (w *waiting) wait(err error) {
	if w.lost == nil {
		_, text := explain(err)
		w.turn.printer.note("loops: " + text + ". The run waits on, and tries again.")
	}
	w.lost = err
}

// tell says for whom this process waits, where that is somebody else than before. It is an error to wait for oneself.
func (w *waiting) tell(ctx context.Context) error {
	o := obstacle(w.why)
	if o.Run == w.told.Run && o.Waiter == w.told.Waiter && w.told != (persistence.Obstacle{}) {
		return nil
	}
	first := w.told == (persistence.Obstacle{})
	w.told = o
	if first {
		// The log of a process in the background must be there before it is named.
		w.turn.printer.queued(w.state(o, true))
	}
	limited, cancel := w.limited(ctx)
	defer cancel()
	err := w.place.Tell(limited, o, w.app.detached.queueLog())
	switch {
	case errors.Is(err, errOver), errors.Is(err, persistence.ErrBusy):
		return nil // others see what it said before
	case errors.Is(err, persistence.ErrNotWaiting), errors.Is(err, fs.ErrNotExist):
		return w.takenOut()
	case err != nil:
		return err
	case !first:
		w.turn.printer.queued(w.state(o, false))
	}
	if len(w.me.Inside) == 0 {
		return nil
	}
	if line, err := w.queue.Waiters(); err == nil && persistence.Circle(w.me, o, line) {
		return w.app.circle(w.why)
	}
	return nil
}

func (w *waiting) state(o persistence.Obstacle, first bool) queued {
	return queued{Waiter: w.me, For: o, Text: w.app.waitsFor(w.why), First: first, Now: time.Now(), Log: w.queue.LogPath(w.me.ID)}
}
