// Package worker drives submitted runs: it takes them from a queue, has a process of this program carry each,
// and takes over those whose owner was not heard of. What happens to a run is in the store; a worker keeps
// nothing.
//
// A [Handover] gives a run to another process of this program: what is asked for, in which project, and how the
// run is shown. Faces use it too, for a run that is to outlive them.
package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/engine/trigger"
	"loops/fsm"
	"loops/internal/config"
	"loops/persistence"
)

// Options say what a worker takes, and how.
type Options struct {
	Queue   string
	Labels  []string
	Slots   int    // how many runs at once
	Version string // of this program
	Env     []string
	Project string // of the processes that carry runs, as -C says; "" = the working directory
	Store   string // the same, as --store says

	// Carried learns which runs the worker has; nil = no one asks.
	Carried *Carried

	// Suspended learns of the first run that this worker could not have begin or continue because a login is
	// refused; recorded is whether its record says so. nil = no one asks. It may be called by several
	// goroutines at once.
	Suspended func(r persistence.Run, o fsm.Outcome, recorded bool)

	// Say logs what the worker does, a line each. It may be called by several goroutines at once.
	Say func(format string, args ...any)
}

// A worker is one call of Run. Its methods may be called by several goroutines at once.
type worker struct {
	Options
	project *project.Project
	store   persistence.Placer
	queue   trigger.QueueEngine
	limits  trigger.QueueLimits
	files   *carrier
	mode    string // of the files of the jobs that it takes: persistence.Job.Files
	accept  config.Accept
	lease   time.Duration
	state   persistence.WorkerState
	look    chan struct{} // of one element: something may have to be placed
	changed chan struct{} // of one element: the runs that it has are others
	more    chan string   // channels to take jobs of, too

	mu    sync.Mutex
	runs  map[persistence.ID]bool      // guarded by mu: those that it has now
	left  map[persistence.ID]time.Time // guarded by mu: when it left others
	notes map[persistence.ID]string    // guarded by mu: why runs did not begin here
	// guarded by mu: when the repository of the files of runs refused the login of this machine last
	refusedAt time.Time
	blocks    blocks // guarded by mu
	last      string // guarded by mu: what kept it from something last
}

// Open returns the store and the queue of the runs of a project. The caller closes both.
func Open(ctx context.Context, p *project.Project) (*project.Records, persistence.Placer, trigger.QueueEngine, error) {
	location, _, err := p.Location()
	if err != nil {
		return nil, nil, nil, err
	}
	queue, err := trigger.OpenRiver(ctx, location)
	if err != nil {
		return nil, nil, nil, engine.Refuse(engine.Usage, "%s", err)
	}
	records, err := p.Records(ctx, true)
	if err != nil {
		return nil, nil, nil, errors.Join(err, queue.Close())
	}
	store, ok := records.Store.(persistence.Placer)
	if !ok {
		return nil, nil, nil, errors.Join(engine.Refuse(engine.Usage, "%s", persistence.ErrNoWorkers),
			records.Close(), queue.Close())
	}
	return records, store, queue, nil
}

// Run takes runs until ctx ends; then those that it has are stopped, so that others can take them, and it returns.
func Run(ctx context.Context, p *project.Project, o Options) error {
	records, store, queue, err := Open(ctx, p.Everywhere()) // it takes the submitted runs of all checkouts
	if err != nil {
		return err
	}
	defer records.Close()
	defer queue.Close()
	if err := queue.Prepare(ctx); err != nil {
		return err
	}
	limits, err := limitsOf(p)
	if err != nil {
		return err
	}
	files, err := carrierOf(ctx, p, o.Env)
	if err != nil {
		return err
	}
	settings, err := p.Config()
	if err != nil {
		return err
	}
	mode := modeOf(p, settings.Files)
	if mode == persistence.FilesShared {
		word, err := store.FolderWord(ctx)
		if err != nil {
			return err
		}
		mode = persistence.SharedFiles(word)
	}
	if settings.Accept.Mode == config.AcceptSigned && len(settings.Accept.Keys) == 0 {
		return engine.Refuse(engine.Usage, "dispatch.accept is signed, and dispatch.keys names no key")
	}
	w := &worker{
		Options: o, project: p, limits: limits, files: files, mode: mode, accept: settings.Accept, store: store,
		queue: queue, lease: store.LeaseTime(), look: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		more: make(chan string, 16),
		runs: make(map[persistence.ID]bool), left: make(map[persistence.ID]time.Time),
		notes: make(map[persistence.ID]string),
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	w.state = persistence.WorkerState{
		ID: fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:6]), Host: host, PID: os.Getpid(), Queue: o.Queue,
		Labels: o.Labels, Slots: o.Slots,
		Version: o.Version, Since: time.Now(),
	}
	if err := w.announce(ctx, records.Passing); err != nil {
		return err
	}
	w.Say("Worker %s takes runs of queue %s, %d at a time.", w.state.ID, o.Queue, o.Slots)
	side, end := context.WithCancel(context.WithoutCancel(ctx))
	ctx, drain := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() {
		every(ctx, min(w.lease/12, 500*time.Millisecond), nil, func() { w.trouble(w.drained(ctx, drain)) })
	})
	beside.Go(func() { every(side, w.lease/6, w.changed, func() { w.trouble(w.beat(context.WithoutCancel(side))) }) })
	beside.Go(func() { every(side, min(w.lease/12, time.Second), w.look, func() { w.trouble(w.arrange(side)) }) })
	if o.Queue == trigger.DefaultQueue {
		beside.Go(func() { w.schedules(ctx) })
	}
	if w.files != nil {
		w.Say("It keeps the files of runs in %s.", w.files.Remote)
		beside.Go(func() { every(side, restOfTrees, nil, func() { w.trouble(w.tidy(side)) }) })
	}
	err = queue.Work(ctx,
		trigger.Subscription{
			Worker: w.state.ID, Slots: o.Slots, Channels: channels(o.Queue, mode, o.Labels),
			More: w.more,
		}, w.drive)
	drain()
	end()
	beside.Wait()
	return errors.Join(err, store.Away(context.WithoutCancel(ctx), w.state.ID))
}

// channels are those that a worker takes jobs of from the beginning. Those of other combinations of its labels
// it finds when there is a run for them.
func channels(queue, files string, labels []string) []string {
	all := []string{trigger.QueueChannel(queue, files, nil), trigger.QueueChannel(queue, files, labels)}
	for _, l := range labels {
		all = append(all, trigger.QueueChannel(queue, files, []string{l}))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// every calls do at once, again each time that rest is over, and sooner when look says so, until ctx ends.
func every(ctx context.Context, rest time.Duration, look <-chan struct{}, do func()) {
	tick := time.NewTicker(rest)
	defer tick.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-tick.C:
		case <-look:
		case <-ctx.Done():
		}
	}
}

// wake has the loop that waits for c iterate again, as soon as it can.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// beat says in the store how the worker is.
func (w *worker) beat(ctx context.Context) error {
	w.mu.Lock()
	state := w.state
	state.LastError = w.last
	for id := range w.runs {
		state.Runs = append(state.Runs, id)
	}
	w.mu.Unlock()
	slices.Sort(state.Runs)
	return w.store.Beat(ctx, state, w.lease/2)
}

// drained calls end if a user asked the worker to end.
func (w *worker) drained(ctx context.Context, end func()) error {
	by, err := w.store.Drained(ctx, w.state.ID)
	if err != nil || by == "" {
		return err
	}
	w.Say("%s asked this worker to end; others have its runs.", by)
	end()
	return nil
}

// trouble keeps what went wrong beside the runs. It may pass, and is tried again.
func (w *worker) trouble(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	w.mu.Lock()
	again := w.last == err.Error()
	w.last = err.Error()
	w.mu.Unlock()
	if !again {
		w.Say("It will be tried again: %s", err)
	}
}

// arrange places what is due and has no job, and takes over what workers had that are gone.
func (w *worker) arrange(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.lease)
	defer cancel()
	return w.queue.Arrange(ctx, func(queued map[persistence.ID]trigger.Ticket) (trigger.QueuePlan, error) {
		all, err := w.store.Placed(ctx, "", 4*trigger.Window)
		if err != nil {
			return trigger.QueuePlan{}, err
		}
		states, err := w.store.Workers(ctx)
		if err != nil {
			return trigger.QueuePlan{}, err
		}
		for _, id := range trigger.Settled(all) {
			if err := w.store.Found(ctx, id, persistence.Finding{}); err != nil {
				return trigger.QueuePlan{}, err
			}
		}
		some, err := w.unblock(ctx, all)
		if err == nil && some {
			all, err = w.store.Placed(ctx, "", 4*trigger.Window)
		}
		if err != nil {
			return trigger.QueuePlan{}, err
		}
		for _, p := range all {
			if trigger.StandOf(p) == trigger.Due && w.fits(p.Job) && len(p.Labels) > 1 {
				select {
				case w.more <- trigger.ChannelOf(p.Job):
				default: // the next time
				}
			}
		}
		return trigger.Arranged(all, queued, func(id string, run persistence.ID) bool {
			return w.gone(states, id, run)
		}, w.limits, time.Now()), nil
	})
}

// gone reports whether a worker is, or whether it is this one, and left the run without the queue learning of it.
func (w *worker) gone(states []persistence.WorkerState, id string, run persistence.ID) bool {
	if id == w.state.ID {
		w.mu.Lock()
		defer w.mu.Unlock()
		left, ok := w.left[run]
		return ok && !w.runs[run] && time.Since(left) > w.lease/2
	}
	i := slices.IndexFunc(states, func(s persistence.WorkerState) bool { return s.ID == id })
	return i < 0 || states[i].Gone()
}

// has notes that the worker has a run, or that it left it, and has the store say so soon: `loops workers` is
// read to see who has a run.
func (w *worker) has(id persistence.ID, has bool) {
	defer wake(w.changed)
	w.Carried.note(id, has, time.Now())
	w.mu.Lock()
	defer w.mu.Unlock()
	if has {
		w.runs[id] = true
		delete(w.left, id)
		return
	}
	delete(w.runs, id)
	for other, at := range w.left {
		if time.Since(at) > 2*w.lease {
			delete(w.left, other)
		}
	}
	w.left[id] = time.Now()
}

// drive carries a run until it ends, parks or has to be left, and reports whether it is over for this job:
// otherwise others are to have it at once.
func (w *worker) drive(ctx context.Context, id persistence.ID) (over bool) {
	w.has(id, true)
	defer func() {
		w.has(id, false)
		wake(w.look)
	}()
	for {
		p, ok := w.placed(ctx, id)
		switch {
		case !ok:
			return ctx.Err() == nil
		case ctx.Err() != nil:
			return false
		case trigger.StandOf(p) != trigger.Due || !w.fits(p.Job):
			return true // it ended, is another's, or waits
		}
		w.mu.Lock()
		w.blocks.remove(id)
		w.mu.Unlock()
		if w.barred(ctx, p) {
			return true
		}
		code, said, err := w.carry(ctx, p)
		now, ok := w.placed(context.WithoutCancel(ctx), id)
		if !ok {
			return true
		}
		again, over := w.leave(ctx, p, now, code, said, err)
		if !again {
			return over
		}
	}
}

// placed reads the status of a run. A database that is away is asked again, as long as the worker is to have runs.
func (w *worker) placed(ctx context.Context, id persistence.ID) (persistence.Placed, bool) {
	for giveUp := time.Now().Add(w.lease); ; {
		all, err := w.store.Placed(ctx, id, 0)
		switch {
		case err == nil && len(all) == 1:
			return all[0], true
		case err == nil, ctx.Err() != nil && time.Now().After(giveUp):
			return persistence.Placed{}, false // it was removed, or is left
		}
		w.trouble(err)
		select {
		case <-time.After(min(w.lease/12, time.Second)):
		case <-ctx.Done():
			return persistence.Placed{}, false
		}
	}
}

// carry has a process of its own carry a run, and returns when that ended: with its exit code and what it printed
// before the run was on record. An error means that no process began.
func (w *worker) carry(ctx context.Context, p persistence.Placed) (code int, said string, _ error) {
	request, files, unaccepted, err := w.requestOf(p)
	if err != nil {
		return 1, err.Error(), err
	}
	h := Handover{
		Version: HandoverVersion, Dir: w.project.Cwd, Project: w.Project, Store: w.Store, Log: true, Bound: true,
		Words: []string{"submit", p.State.Loop}, Request: request, View: ChildView{Quiet: true},
	}
	if w.files != nil {
		if h.Store, _, err = w.project.Location(); err == nil { // that of the worker, whatever settings the files have
			err = w.files.send(ctx, &h, w.store, p, files)
		}
		if err != nil {
			return 1, err.Error(), err
		}
	}
	child, _, err := h.Begin(ctx, w.Env)
	if early, ok := errors.AsType[*EarlyError](err); ok {
		said := string(early.Said)
		if unaccepted != nil {
			said += "\nloops: " + whyOf(said) + "; " + unaccepted.Error()
		}
		return early.Code, said, nil
	}
	if err != nil {
		return 1, err.Error(), err
	}
	w.Say("Run %s is running (pid %d).", p.Run, child.Process.Pid)
	select {
	case <-child.Ended:
	case <-ctx.Done():
		child.Release()
	}
	code, text := child.End()
	return code, string(text), nil
}

// fits reports whether this worker may have a job.
func (w *worker) fits(j persistence.Job) bool {
	return trigger.Fits(j, w.Queue, w.mode, w.Labels)
}
