package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"loops/engine/project"
	"loops/internal/config"
	"loops/internal/disk"
	"loops/persistence"
)

// How often a run that waits looks whether it still must: after a tenth of the time that it has waited, within
// limits. Where the system reports when what is in the way changes, it soon looks seldom, and only to be sure.
const (
	// looks as often as others this long: what changed before the watch is seen so
	queueSettle      = 500 * time.Millisecond
	queuePollWatched = 30 * time.Second
	queuePollLeast   = 10 * time.Millisecond
	queuePollFirst   = 100 * time.Millisecond // at most, for the first in the queue
	queuePollBehind  = 250 * time.Millisecond // at most, for those after it
)

// A Lock says what a run locks, and what it does while others have it.
type Lock struct {
	None  bool `json:"none,omitempty"`  // lock nothing, and do not ask whether others did
	Queue bool `json:"queue,omitempty"` // wait for others, in the order of the queue
	// how long to wait at most; 0 = try once; negative = as the project says, or 24 hours
	Limit time.Duration `json:"limit"`
}

// queueTimeout is how long a run waits by default.
const queueTimeout = 24 * time.Hour

// apply takes the locks out of what a run is about to take, if it is to have none.
func (l Lock) apply(spec *persistence.Spec) {
	if l.None {
		spec.Scope, spec.Singleton = nil, false
	}
}

// waits is for how long to wait; 0 is not at all.
func (l Lock) waits(conf *config.Config) time.Duration {
	switch {
	case !l.Queue:
		return 0
	case l.Limit >= 0:
		return l.Limit
	case conf != nil:
		return cmp.Or(conf.QueueTimeout, queueTimeout)
	}
	return queueTimeout
}

// A turn is a run that is about to begin, or to be resumed, and what it locks.
type turn struct {
	project *project.Project
	store   *project.Records
	lock    Lock
	config  *config.Config
	spec    persistence.Spec // of the run
	resumes persistence.ID   // the run that is to be resumed; "" = a new one
	leave   persistence.ID   // a run that is not reconciled, although it may have died; "" = none
	tell    func(Notice)
	over    <-chan time.Time // for tests: the limit of lock has passed; nil = a timer
}

// whenFree calls take, which gives this process a run, when no other run is in the way: at once, or with --queue when
// it is its turn. It returns what take returned. The store alone decides which run has a scope, so that no more than
// one has. The scope of a run that was killed is free at once, while its action may still be at work. So the project is
// tidied up before this returns, which ends such actions: no other process can begin meanwhile.
func (e *Engine) whenFree(ctx context.Context, t turn, take func() (persistence.Journal, error)) (persistence.Journal,
	error,
) {
	journal, err := e.waited(ctx, t, take)
	if err == nil {
		e.tidy(ctx, t)
	}
	return journal, err
}

// waited is what take returned when it was time to call it.
func (e *Engine) waited(ctx context.Context, t turn, take func() (persistence.Journal, error)) (
	journal persistence.Journal, err error,
) {
	try := func() error {
		return untilFree(ctx, endedIn(t.store), func() (err error) { journal, err = take(); return err })
	}
	if len(t.spec.Scope) == 0 && !t.spec.Singleton {
		return journal, t.withWait(ctx, try())
	}
	queue := t.project.Queue()
	line, err := queue.Waiters()
	if err != nil {
		return nil, err
	}
	me := persistence.Waiter{
		Loop: t.spec.Loop, Resumes: t.resumes, Gets: t.spec.ID, Scope: persistence.ResolveScope(t.spec.Scope),
		Singleton: t.spec.Singleton,
		Owner:     t.spec.Owner, Inside: t.spec.Ancestors,
	}
	shared := t.shared(ctx, line)
	if ahead := persistence.Blocking(me, line, shared); len(ahead) > 0 {
		err = &BehindError{ahead[0], len(ahead), ahead[0].Of(me.Scope)}
	} else if err = try(); !inTheWay(err) {
		return journal, err
	}
	limit := t.lock.waits(t.config)
	if limit == 0 {
		return nil, t.busy(ctx, err, 0)
	}
	w := &waiting{engine: e, turn: t, queue: queue, me: me, shared: shared, limit: limit, why: err}
	return w.until(ctx, func() (persistence.Journal, error) { err := try(); return journal, err })
}

// inTheWay reports whether an error means that others have, or want before us, what a run locks.
func inTheWay(err error) bool {
	_, locked := errors.AsType[*persistence.ConflictError](err)
	_, behind := errors.AsType[*BehindError](err)
	return locked || behind
}

// shared returns what the runs around this one have locked, if there is a waiter in the line for which it matters.
func (t turn) shared(ctx context.Context, line []persistence.Waiter) (scope []string) {
	if len(line) == 0 && !t.lock.Queue {
		return nil
	}
	for _, id := range t.spec.Ancestors {
		run, _ := t.store.Anywhere(ctx, id) // what is wrong with the store is reported when the run is taken
		scope = append(scope, run.Scope...)
	}
	return scope
}

// errOver ends waiting for the lock of the queue.
var errOver = errors.New("waited for as long as the run may")

// A waiting is a place in the queue, until it is its turn.
type waiting struct {
	engine *Engine
	turn   turn
	queue  *persistence.Queue
	me     persistence.Waiter
	shared []string
	limit  time.Duration

	began time.Time
	place *persistence.Place
	why   error // what is in the way
	told  persistence.Obstacle
	log   string // where this process writes while it waits; "" = nowhere
	lost  error  // what keeps this process from finding out, and may pass; nil = nothing

	changed   <-chan struct{}      // closed when the place or the obstacle changes; nil = the system does not report it
	unwatch   func()               // ends that; nil = nothing was watched yet
	watchedAt time.Time            // since when
	obstacle  persistence.Obstacle // whose files are watched
}

// until waits, calls take when it is time, and leaves the queue in any case.
func (w *waiting) until(ctx context.Context, take func() (persistence.Journal, error)) (persistence.Journal, error) {
	w.began = time.Now()
	over := w.turn.over
	if over == nil {
		timer := time.NewTimer(w.limit)
		defer timer.Stop()
		over = timer.C
	}
	limited, cancel := w.limited(ctx)
	defer cancel()
	place, err := w.queue.Join(limited, w.me)
	if errors.Is(err, errOver) {
		return nil, w.turn.busy(ctx, w.why, w.limit)
	}
	if err != nil {
		return nil, err
	}
	defer place.Leave() //nolint:errcheck // the rest of who no longer waits counts for nothing
	w.place, w.me = place, place.Waiter()
	defer func() { w.stopWatch() }()
	for {
		if !place.Kept() {
			return nil, w.takenOut()
		}
		if journal, err := w.look(ctx, take); err != nil || journal != nil {
			return journal, err
		}
		w.watch()
		select {
		case <-w.changed:
			w.stopWatch()
		case <-time.After(w.pause(time.Now())):
		case <-over:
			if w.lost != nil {
				return nil, w.lost
			}
			return nil, w.turn.busy(ctx, w.why, w.limit)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// limited is for taking the lock of the queue: the process that has it may hang, and that is no reason to wait beyond
// the limit.
func (w *waiting) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, w.began.Add(w.limit), errOver)
}

// takenOut is the error of a user whose place is gone.
func (w *waiting) takenOut() error {
	if _, err := os.Stat(filepath.Dir(w.queue.LogPath(w.me.ID))); errors.Is(err, fs.ErrNotExist) {
		return errQueueGone
	}
	return errTakenOut
}

// watch asks the system to report when the place of this run, or the lock of what is in its way, changes. What has no
// lock of a live process, as a run of little-loops, ends without a notification.
func (w *waiting) watch() {
	o := Obstacle(w.why)
	if w.unwatch != nil && w.obstacle == o {
		return
	}
	w.stopWatch()
	w.unwatch, w.obstacle, w.watchedAt = func() {}, o, time.Now()
	lock := ""
	if behind, ok := errors.AsType[*BehindError](w.why); ok && !behind.Ahead.Foreign {
		lock = w.queue.EntryPath(behind.Ahead.ID)
	} else if locked, ok := errors.AsType[*persistence.ConflictError](w.why); ok {
		lock = locked.Lock
	}
	if lock != "" && disk.Held(lock) {
		w.changed, w.unwatch = disk.Watch(w.queue.EntryPath(w.me.ID), lock)
	}
}

func (w *waiting) stopWatch() {
	if w.unwatch != nil {
		w.unwatch()
	}
	w.changed, w.unwatch = nil, nil
}

// pause is how long to wait before the next look. Hundreds that wait for hours must cost next to nothing.
func (w *waiting) pause(now time.Time) time.Duration {
	waited := now.Sub(w.began)
	if w.changed != nil {
		if waited = now.Sub(w.watchedAt); waited > queueSettle {
			return queuePollWatched
		}
	}
	most := queuePollFirst
	if _, behind := errors.AsType[*BehindError](w.why); behind {
		most = queuePollBehind
	}
	return min(most, max(queuePollLeast, waited/10))
}

// look finds out whether a waiter is still in the way, and calls take if not.
func (w *waiting) look(ctx context.Context, take func() (persistence.Journal, error)) (persistence.Journal, error) {
	if ahead, n := w.place.Behind(w.shared); ahead != nil {
		w.why = &BehindError{*ahead, n, ahead.Of(w.me.Scope)}
		return nil, w.tell(ctx)
	}
	if locked, ok := errors.AsType[*persistence.ConflictError](w.why); ok && w.told.Run == locked.Holder &&
		w.turn.store.Owned(ctx, locked.Holder) {
		return nil, nil
	}
	journal, err := take()
	if ctx.Err() == nil && w.turn.store.Passing(err) {
		w.wait(err)
		return nil, nil
	}
	w.lost = nil
	if inTheWay(err) {
		w.why = w.turn.withWait(ctx, err)
		return nil, w.tell(ctx)
	}
	if err == nil && errors.Is(w.place.Leave(), persistence.ErrNotWaiting) {
		// The process that took us out of the queue was assured that we do not begin.
		return nil, errors.Join(errTakenOut, journal.Close(context.WithoutCancel(ctx)))
	}
	return journal, err
}

// wait waits out what may pass, and says so once.
func (w *waiting) wait(err error) {
	if w.lost == nil {
		w.turn.tell(Said{Text: textf("%s. The run waits on, and tries again.", Trouble{err}), Problem: true})
	}
	w.lost = err
}

// tell reports which process this one waits for, where it is another than before. It is an error to wait for itself.
func (w *waiting) tell(ctx context.Context) error {
	o := Obstacle(w.why)
	if o.Run == w.told.Run && o.Waiter == w.told.Waiter && w.told != (persistence.Obstacle{}) {
		return nil
	}
	first := w.told == (persistence.Obstacle{})
	w.told = o
	if first {
		// The log of a process in the background must be there before it is named.
		w.log = w.engine.waitLog(w.state(o, true))
		w.turn.tell(w.state(o, true))
	}
	limited, cancel := w.limited(ctx)
	defer cancel()
	err := w.place.Tell(limited, o, w.log)
	switch {
	case errors.Is(err, errOver), errors.Is(err, persistence.ErrBusy):
		return nil // others see what it said before
	case errors.Is(err, persistence.ErrNotWaiting), errors.Is(err, fs.ErrNotExist):
		return w.takenOut()
	case err != nil:
		return err
	case !first:
		w.turn.tell(w.state(o, false))
	}
	if len(w.me.Inside) == 0 {
		return nil
	}
	if line, err := w.queue.Waiters(); err == nil && persistence.Circle(w.me, o, line) {
		return refuse(Conflict, "%s, and it waits, itself or through others, for the run whose action this is part "+
			"of: none of them would ever continue. Nothing was run; have one of the loops lock less, or run "+
			"after the other", w.why)
	}
	return nil
}

func (w *waiting) state(o persistence.Obstacle, first bool) Queued {
	return Queued{Waiter: w.me, For: o, Why: w.why, First: first, Now: time.Now(), Log: w.queue.LogPath(w.me.ID)}
}

// waitLog opens the log of a run that waits, where the engine's options say so, and returns its path; "" = it has none.
func (e *Engine) waitLog(q Queued) string {
	if e.o.WaitLog == nil {
		return ""
	}
	return e.o.WaitLog(q)
}

// A BehindError means that others that wait for the same files came before.
type BehindError struct {
	Ahead persistence.Waiter   // one of them
	N     int                  // how many there are
	As    persistence.Obstacle // what it is to this run
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("%s: others wait for it: %d", e.As.Path, e.N)
}

// errTakenOut means that a user took this process out of the queue.
var errTakenOut = refuse(TakenOut, "taken out of the queue (%s); nothing was run", Do("queue remove", ""))

// errQueueGone means that the queue was removed, and with it the project, or what is recorded of it.
var errQueueGone = refuse(NotRecorded, "the queue (.loops/.queue) was removed while this command waited in it; "+
	"nothing was run")

// Obstacle is what an error of whenFree names.
func Obstacle(err error) persistence.Obstacle {
	if locked, ok := errors.AsType[*persistence.ConflictError](err); ok {
		return persistence.Obstacle{Loop: locked.Loop, Path: locked.Path, Run: locked.Holder, Since: locked.Since}
	}
	if behind, ok := errors.AsType[*BehindError](err); ok {
		return behind.As
	}
	return persistence.Obstacle{}
}

// changedMeanwhile is the error of a resume that another process was quicker with.
func changedMeanwhile(id persistence.ID) error {
	return refuse(Conflict, "run %s was resumed by another process while this command waited; nothing was done. "+
		"Look at it: %s", id, Do(OpStatus, string(id)))
}

// asItWas refuses to continue with a run that another process resumed since it was looked at: what it remembers
// is another thing.
func asItWas(ctx context.Context, store *project.Records, run persistence.Run) error {
	now, err := store.Runs(ctx, persistence.Query{ID: run.ID})
	if err == nil && len(now) == 1 && now[0].Segment != run.Segment {
		return changedMeanwhile(run.ID)
	}
	return err
}
