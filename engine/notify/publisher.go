package notify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
)

const (
	mostBatch  = 100         // events in one delivery
	mostRecent = 4096        // events of a run in memory; older ones are read from its record
	firstRest  = time.Second // after a delivery that failed; doubles
	longRest   = time.Minute // the most of that
	outboxRest = 20 * time.Millisecond
	lastWait   = 5 * time.Second // for deliveries at the end
)

// A Publisher delivers the events of runs to the outlets of the setting events: each event at least once, those of a
// run in their order. How far it is is durable (see [project.Outbox]), so what a killed process did not deliver is sent
// when the run is resumed, or by [Publisher.Sweep]. It never slows a run. Its methods may be called by several
// goroutines at once, and a nil Publisher delivers nothing; after Close it may observe nothing.
type Publisher struct {
	p       *project.Project
	outlets []outlet
	sender  *Sender
	source  string
	busy    sync.WaitGroup
	closing chan struct{}

	mu      sync.Mutex
	streams map[persistence.ID]*stream   // guarded by mu
	failed  map[string]error             // the last error of each outlet; guarded by mu
	idle    map[persistence.ID]time.Time // dead runs that have nothing left, as of then; of Sweep alone
}

// NewPublisher returns a publisher for the outlets in the settings of a project, nil where there are none.
func NewPublisher(p *project.Project, env []string) *Publisher {
	conf, wrong := p.Declared()
	if len(wrong) > 0 || len(conf.Events) == 0 {
		return nil
	}
	host, _ := os.Hostname()
	b := &Publisher{
		p: p, sender: NewSender(nil), source: sourceOf(host, p.Main().Dir), closing: make(chan struct{}),
		streams: map[persistence.ID]*stream{}, failed: map[string]error{}, idle: map[persistence.ID]time.Time{},
	}
	b.sender.Dir, b.sender.Getenv = p.Dir, func(name string) (string, bool) { return project.LookEnv(env, name) }
	b.sender.Env = withoutRun(env)
	for _, o := range conf.Events {
		b.outlets = append(b.outlets, newOutlet(o))
	}
	return b
}

// Follow delivers the events of all runs of an engine, until that is closed, by this publisher, or by a new one if b is
// nil. It returns that publisher, nil where there are no outlets.
func (b *Publisher) Follow(e *engine.Engine, env []string) *Publisher {
	if b == nil {
		b = NewPublisher(e.Project(), env)
	}
	if b != nil {
		e.Observe(b)
	}
	return b
}

// Observe implements [engine.Observer].
func (b *Publisher) Observe(notice engine.Notice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch notice := notice.(type) {
	case engine.Began:
		run := notice.Run
		if b.streams[run.ID] == nil {
			s := &stream{Publisher: b, id: run.ID, loop: run.Loop, moved: make(chan struct{})}
			b.streams[run.ID] = s
			b.busy.Go(s.run)
		}
	case engine.Recorded:
		if s := b.streams[notice.Run]; s != nil {
			s.add(notice.Event)
		}
	case engine.Missed:
		if s := b.streams[notice.Run]; s != nil {
			s.add(fsm.Event{Seq: notice.Until})
		}
	case engine.Ended:
		if s := b.streams[notice.Run]; s != nil {
			s.end(notice.Next.Operation == "")
			delete(b.streams, notice.Run)
		}
	case engine.Lost:
		if s := b.streams[notice.Run.ID]; s != nil {
			s.end(false)
			delete(b.streams, notice.Run.ID)
		}
	}
}

// Close waits until all events were delivered, for five seconds at most and until ctx ends: the rest is delivered
// later. It returns what was wrong last with each outlet.
func (b *Publisher) Close(ctx context.Context) error {
	if b == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lastWait)
	defer cancel()
	close(b.closing)
	b.mu.Lock()
	for _, s := range b.streams {
		s.end(false)
	}
	b.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.busy.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		b.sender.give(errGivenUp)
		<-done
	}
	b.sender.give(nil)
	return b.failures()
}

// failures returns what was wrong last with each outlet, and forgets it.
func (b *Publisher) failures() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(b.failed)) {
		errs = append(errs, fmt.Errorf("%s: %w", name, b.failed[name]))
	}
	clear(b.failed)
	return errors.Join(errs...)
}

func (b *Publisher) deliver(ctx context.Context, r *project.Records) error {
	ids, err := b.p.Outboxes()
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		run, err := r.Finder().Exactly(ctx, string(id))
		if _, none := errors.AsType[*project.NoIDError](err); none {
			errs = append(errs, b.p.RemoveOutbox(id))
			continue
		}
		switch {
		case err != nil:
			errs = append(errs, err)
			continue
		case project.Alive(run) || !b.idle[id].IsZero() && b.idle[id].Equal(run.UpdatedAt):
			continue
		}
		s := &stream{Publisher: b, id: id, loop: run.Loop, once: true, moved: make(chan struct{})}
		s.end(!run.Resumable)
		if s.run(); s.whole {
			b.idle[id] = run.UpdatedAt
		}
	}
	return errors.Join(append(errs, b.failures())...)
}

// Sweep delivers what processes that are gone did not, once: what cannot be delivered now is left, and named in the
// error. It may not be called twice at once.
func (b *Publisher) Sweep(ctx context.Context) error {
	if b == nil || !b.p.HasRecords() {
		return nil
	}
	r, err := b.p.Records(ctx, false)
	if err != nil {
		return err
	}
	defer r.Close()
	return b.deliver(ctx, r)
}

// A stream is the events of one run, on their way to all outlets.
type stream struct {
	*Publisher
	id     persistence.ID
	loop   string
	labels []string
	once   bool // a delivery that failed is not repeated

	records *project.Records
	box     *project.Outbox

	lock   sync.Mutex
	recent []fsm.Event   // the newest, without a gap; guarded by lock
	newest uint64        // number of the newest event; guarded by lock
	over   bool          // no event comes any more; guarded by lock
	final  bool          // and the run cannot be resumed; guarded by lock
	moved  chan struct{} // closed when newest or over changes; guarded by lock
	left   int           // outlets that did not get all; guarded by lock
	whole  bool          // all got all
}

// add notes that there is an event. One without a kind is only on record.
func (s *stream) add(e fsm.Event) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if e.Kind == "" || len(s.recent) == mostRecent || len(s.recent) > 0 && s.recent[len(s.recent)-1].Seq+1 != e.Seq {
		s.recent = nil
	}
	if e.Kind != "" {
		s.recent = append(s.recent, e)
	}
	s.newest = max(s.newest, e.Seq)
	s.tell()
}

// end notes that no event comes any more.
func (s *stream) end(final bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.over, s.final = true, final
	s.tell()
}

func (s *stream) tell() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// run delivers the events to all outlets. It returns when they have all, or when it gives up.
func (s *stream) run() {
	ctx := s.sender.ctx
	for s.box == nil {
		box, err := s.p.OpenOutbox(s.id)
		switch {
		case err == nil:
			s.box = box
		case !errors.Is(err, project.ErrOutboxBusy) || s.once || !s.rest(ctx, outboxRest):
			if !errors.Is(err, project.ErrOutboxBusy) {
				s.note("the outbox of "+string(s.id), err)
			}
			return
		}
	}
	records, err := s.p.Records(ctx, false)
	if err != nil {
		s.note("the record of "+string(s.id), errors.Join(err, s.box.Close(false)))
		return
	}
	defer records.Close()
	s.records = records
	if placer, ok := records.Store.(persistence.Placer); ok {
		if placed, err := placer.Placed(ctx, s.id, 1); err == nil && len(placed) > 0 {
			s.labels = placed[0].Labels
		}
	}
	var each sync.WaitGroup
	for i := range s.outlets {
		if o := &s.outlets[i]; o.of(s.loop, s.labels) {
			each.Go(func() {
				if !s.deliver(ctx, o) {
					s.lock.Lock()
					s.left++
					s.lock.Unlock()
				}
			})
		}
	}
	each.Wait()
	s.whole = s.left == 0
	if err := s.box.Close(s.whole && s.final); err != nil {
		s.note("the outbox of "+string(s.id), err)
	}
}

// deliver delivers the events to one outlet, and reports whether it has all when no more come.
func (s *stream) deliver(ctx context.Context, o *outlet) bool {
	s.lock.Lock()
	at := s.box.Sent[o.key]
	s.lock.Unlock()
	rest := firstRest
	for {
		over := s.wait(ctx, at)
		if ctx.Err() != nil || s.once && s.hasFailed(o.label()) {
			return false
		}
		batch, to, err := s.next(ctx, o, at)
		if err == nil && len(batch) > 0 {
			err = s.sender.send(o, batch)
		}
		if err == nil && to > at {
			at, rest = to, firstRest
			err = s.save(o, at)
		} else if err == nil && over {
			s.note(o.label(), nil)
			return true
		}
		if err == nil {
			continue
		}
		s.note(o.label(), err)
		if s.once || !s.rest(ctx, rest) {
			return false
		}
		rest = min(2*rest, longRest)
	}
}

// wait waits until there is an event after at, or until none comes any more, which it reports.
func (s *stream) wait(ctx context.Context, at uint64) (over bool) {
	for {
		s.lock.Lock()
		over, more, moved := s.over, s.newest > at, s.moved
		s.lock.Unlock()
		if over || more {
			return over
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

// next returns the next events after at that an outlet wants, and the number of the last one that it looked at.
func (s *stream) next(ctx context.Context, o *outlet, at uint64) (batch []cloudEvent, to uint64, err error) {
	to = at
	take := func(e fsm.Event) bool {
		if o.wants(e.Kind) {
			batch = append(batch, cloud(s.source, string(s.id), s.loop, e))
		}
		to = e.Seq
		return len(batch) < mostBatch
	}
	s.lock.Lock()
	recent := s.recent
	s.lock.Unlock()
	if len(recent) > 0 && recent[0].Seq <= at+1 && recent[len(recent)-1].Seq > at {
		for _, e := range recent[at+1-recent[0].Seq:] {
			if !take(e) {
				break
			}
		}
		return batch, to, nil
	}
	for e, err := range s.records.Events(ctx, s.id, at) {
		if project.IsDamage(err) {
			continue
		}
		if err != nil {
			return nil, at, s.records.Failed(err)
		}
		if !take(e) {
			break
		}
	}
	return batch, to, nil
}

// save makes the position of an outlet durable.
func (s *stream) save(o *outlet, at uint64) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.box.Sent[o.key] = at
	return s.box.Save()
}

// rest waits, and reports whether the stream is to try again then: not while the program ends.
func (s *stream) rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.closing:
	case <-ctx.Done():
	}
	return false
}

// note keeps what is wrong with an outlet.
func (b *Publisher) note(name string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		delete(b.failed, name)
		return
	}
	b.failed[name] = err
}

func (b *Publisher) hasFailed(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed[name] != nil
}
