package engine

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/git"
	"loops/persistence"
	"loops/reconcile"
)

// An Observer is notified of what happens to runs, each in the order in which it happened, by one goroutine of its own.
// It never slows a run: one that is slow gets a notice of what it missed (see Missed). One that panics gets no more
// notices.
type Observer interface {
	Observe(n Notice)
}

// ObserverFunc is an Observer that is a function.
type ObserverFunc func(n Notice)

// Observe calls the function.
func (f ObserverFunc) Observe(n Notice) { f(n) }

// A Notice is a [Queued], [Began], [Recorded], [Said], [Ended], [TreeEnded], [Reconciled], [Unpaused],
// [Retained], [Lost] or [Missed].
type Notice interface{ about() persistence.ID }

// Queued says that a run waits for others, before it has an id, and again when it waits for another one.
type Queued struct {
	Waiter persistence.Waiter
	For    persistence.Obstacle
	Why    error // a *persistence.ConflictError or a *BehindError
	First  bool  // there was no notice before
	Now    time.Time
	Log    string // where a process without a terminal writes while it waits
}

// Began says that this engine carries a run from now on. It comes before its first event.
type Began struct{ Header }

// A Header is what is known when a run begins or is resumed.
type Header struct {
	Loop     *fsm.Loop
	File     string // as a person in the project would write it
	Run      persistence.Run
	RunDir   string // absolute, with a slash
	ShortDir string // the same as a person would write it
	Resumed  bool
	Elapsed  time.Duration // before this process took over
	Begin    time.Time     // of this process's part
	Agents   Text          // which it uses, and what they may do; without a format it uses none
	Guard    Text          // what actions may change; without a format nothing limits that
	Sandbox  Text          // what limits actions, and what of that is not enforced; without a format nothing does
	Worktree string        // of the run, absolute; "" = it is in the main checkout
	Branch   string        // of the work tree; "" where another run's is used
	Where    string        // of a run that is resumed: its state, and those of its sub-loops

	Origin *persistence.Origin // of a fork; nil = it is not a fork
	Retry  bool                // the fork is from the step that decided how the other run ended
	Notes  []Text              // what else there is to say, a line each
}

// Recorded is an event of a run, after it was recorded.
type Recorded struct {
	Run   persistence.ID
	Event fsm.Event
}

// Said is what a person should know, and is no part of the history of the run.
type Said struct {
	Run     persistence.ID // "" = it has none yet, or it is about another
	Text    Text
	Problem bool // something is wrong, and the run continues
}

// Ended says how a run ended, when that is recorded. Next is what resumes it, nil where it cannot be resumed.
type Ended struct {
	Run     persistence.ID
	Outcome fsm.Outcome
	Next    Remedy
}

// TreeEnded reports the result of the work tree of a run.
type TreeEnded struct {
	Report TreeReport
	Other  bool // of a run that died earlier, which was cleaned up after
}

// Progress says how far Prune or Reconcile has come, which may take long: how many runs of how many.
type Progress struct{ Done, Total int }

// Reconciled says what was done about runs that were found dead when another one was about to begin.
type Reconciled struct{ Changes []reconcile.Change }

// Lost says that a run was stopped because what it does cannot be recorded here any more.
type Lost struct {
	Run persistence.Run
	Err error
}

// Unpaused says that the pause of a run was lifted because it was resumed, or with Err why it could not be.
type Unpaused struct {
	Run   persistence.ID
	Since time.Time
	Err   error
}

// Missed says that an observer was too slow for events of a run: those behind After and up to Until can be read
// from the store.
type Missed struct {
	Run          persistence.ID
	After, Until uint64
}

// CatchUp calls each with the events that an observer missed, in their order.
func CatchUp(ctx context.Context, p *project.Project, m Missed, each func(fsm.Event)) error {
	store, err := p.Records(ctx, false)
	if err != nil {
		return err
	}
	defer store.Close()
	for e, err := range store.Events(ctx, m.Run, m.After) {
		if err != nil {
			return err
		}
		if e.Seq > m.Until {
			return nil
		}
		each(e)
	}
	return nil
}

// A TreeReport is the result of the work tree of a run that ended or stopped.
type TreeReport struct {
	git.TreeReport
	Project *project.Project
	Tree    git.Tree
	Run     persistence.ID
	How     string // what was to become of it
	Stays   bool   // the run can be resumed, and stays in it
	Err     error
}

func (n Queued) about() persistence.ID     { return "" }
func (n Began) about() persistence.ID      { return n.Run.ID }
func (n Recorded) about() persistence.ID   { return n.Run }
func (n Said) about() persistence.ID       { return n.Run }
func (n Ended) about() persistence.ID      { return n.Run }
func (n TreeEnded) about() persistence.ID  { return n.Report.Run }
func (n Reconciled) about() persistence.ID { return "" }
func (n Progress) about() persistence.ID   { return "" }
func (n Lost) about() persistence.ID       { return n.Run.ID }
func (n Unpaused) about() persistence.ID   { return n.Run }
func (n Missed) about() persistence.ID     { return n.Run }

const (
	// bufferSize is how many notices an observer may be behind before it misses events.
	bufferSize = 4096
	// An observer that just got a notice rests for restTime before it gets the next few events, and gets at once
	// batchSize of them, or anything else: to wake its goroutine for each event would cost a short transition 5 %.
	restTime  = 20 * time.Millisecond
	batchSize = 256
)

// A bus notifies observers.
type bus struct {
	mu   sync.Mutex
	subs []*subscription // guarded by mu
}

// Observe notifies an observer of all runs of the engine from now on, until the function it returns is called.
// That function waits until the observer has received all notices before; in a call of an observer it does not
// wait.
func (e *Engine) Observe(o Observer) (end func()) { return e.bus.add(o) }

// add adds an observer of all runs. The function it returns removes it when it has received all notices.
func (b *bus) add(o Observer) (end func()) {
	s, stop := newSubscription(o)
	b.mu.Lock()
	b.subs = append(b.subs, s)
	b.mu.Unlock()
	return sync.OnceFunc(func() {
		b.mu.Lock()
		for i := range b.subs {
			if b.subs[i] == s {
				b.subs = append(b.subs[:i:i], b.subs[i+1:]...)
				break
			}
		}
		b.mu.Unlock()
		if observing() {
			go stop()
			return
		}
		stop()
	})
}

// observerCall is the name of the function that calls observers.
var observerCall = runtime.FuncForPC(reflect.ValueOf((*subscription).observe).Pointer()).Name()

// observing reports whether the caller is in a call of an observer, where waiting for an observer may last for ever.
func observing() bool {
	const most = 64
	calls := make([]uintptr, most)
	for skip := 0; ; skip += most {
		n := runtime.Callers(skip, calls)
		for frames := runtime.CallersFrames(calls[:n]); ; {
			frame, more := frames.Next()
			if frame.Function == observerCall {
				return true
			}
			if !more {
				break
			}
		}
		if n < most {
			return false
		}
	}
}

// tell notifies all of them.
func (b *bus) tell(n Notice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subs {
		s.put(n)
	}
}

// close waits until all observers have received all notices.
func (b *bus) close() {
	b.mu.Lock()
	subs := b.subs
	b.subs = nil
	b.mu.Unlock()
	for _, s := range subs {
		s.close()
	}
}

// A subscription is one observer with the notices it has not received yet.
type subscription struct {
	observer Observer
	done     chan struct{} // closed when the observer gets no more notices
	wake     chan struct{} // of one element: there is a notice to deliver

	mu      sync.Mutex
	waiting []Notice // guarded by mu
	idle    bool     // guarded by mu: any notice wakes the goroutine
	closed  bool     // guarded by mu
	dead    bool     // guarded by mu: it panicked
}

// newSubscription begins to notify an observer. stop ends that, when it has received all notices.
func newSubscription(o Observer) (s *subscription, stop func()) {
	s = &subscription{observer: o, done: make(chan struct{}), wake: make(chan struct{}, 1), idle: true}
	go s.deliver()
	return s, sync.OnceFunc(s.close)
}

// put adds a notice, instead of the oldest events if there are too many: those can be read from the store.
func (s *subscription) put(n Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead || s.closed {
		return
	}
	r, event := n.(Recorded)
	if event && len(s.waiting) >= bufferSize {
		s.miss(r)
		return
	}
	s.waiting = append(s.waiting, n)
	s.rouse(!event || len(s.waiting) >= batchSize)
}

// miss notes that an event is not delivered, in the notice of those of its run that were missed before, unless
// something else about the run waits after that one. So the buffer grows with the number of runs, and not with their
// events. The caller holds mu.
func (s *subscription) miss(r Recorded) {
	for i, n := range slices.Backward(s.waiting) {
		if n.about() != r.Run {
			continue
		}
		if last, ok := n.(Missed); ok {
			last.Until = r.Event.Seq
			s.waiting[i] = last
			return
		}
		break
	}
	s.waiting = append(s.waiting, Missed{r.Run, r.Event.Seq - 1, r.Event.Seq})
}

// rouse wakes the goroutine if it is idle or the matter is urgent. The caller holds mu.
func (s *subscription) rouse(urgent bool) {
	if !s.idle && !urgent {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}

// deliver notifies the observer, until close.
func (s *subscription) deliver() {
	defer close(s.done)
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		<-s.wake
		for {
			batch, over := s.take()
			if over {
				return
			}
			if len(batch) == 0 {
				break
			}
			for _, n := range batch {
				if !s.observe(n) {
					s.mu.Lock()
					s.dead, s.waiting = true, nil
					s.mu.Unlock()
					return
				}
			}
			rest.Reset(restTime)
			select {
			case <-rest.C:
			case <-s.wake:
			}
		}
	}
}

// take takes what waits; with nothing the goroutine is idle from now on, and over means that nothing comes any more.
func (s *subscription) take() (batch []Notice, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, s.waiting = s.waiting, nil
	s.idle = len(batch) == 0
	return batch, s.idle && s.closed
}

// observe reports whether the observer did not panic.
func (s *subscription) observe(n Notice) (well bool) {
	defer func() {
		if recover() != nil {
			well = false
		}
	}()
	s.observer.Observe(n)
	return true
}

// close waits until the observer has received all notices.
func (s *subscription) close() {
	s.mu.Lock()
	s.closed = true
	s.rouse(true)
	s.mu.Unlock()
	<-s.done
}
