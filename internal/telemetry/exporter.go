package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/disk"
	"loops/internal/inspect"
	"loops/persistence"
	"loops/reconcile"
)

const (
	mostSpans  = 8192 // that wait to be sent; of more, the oldest are dropped
	batchSpans = 256
	batchTime  = time.Second // how long a span waits for others
	firstPause = time.Second
	longPause  = 30 * time.Second
	lastTime   = 3 * time.Second
	mostResent = 20
	lockPause  = 20 * time.Millisecond
	keepUnsent = 7 * 24 * time.Hour
)

// An Exporter sends the traces and the metrics of runs. It implements [engine.Observer], and a nil Exporter
// sends nothing. Its methods may be called by several goroutines at once.
type Exporter struct {
	p *project.Project
	s Settings

	mu   sync.Mutex
	runs map[persistence.ID]*following // guarded by mu: those that this process carries
	over []persistence.ID              // guarded by mu: runs whose trace has all its spans
	// guarded by mu: metrics of runs that are over, which the collector did not take yet
	ended []*counts
	marks map[persistence.ID]*os.File // guarded by mu: the locked files in unsent
	begun bool                        // guarded by mu: a run began

	sender    sender
	closing   chan struct{}   // closed by Close
	ctx       context.Context // of what beat sends
	cancel    context.CancelFunc
	beats     sync.WaitGroup // of beat
	resending sync.WaitGroup // of resend
}

// A following is a run whose events are traced and counted.
type following struct {
	tracer *Tracer // nil = traces are not sent
	counts *counts // nil = metrics are not sent, or not all events could be read
	seq    uint64  // of the newest event that it has
}

// NewExporter returns an exporter for the runs of a project; nil where neither the environment nor its settings name a
// collector.
func NewExporter(p *project.Project, getenv func(string) (string, bool)) *Exporter {
	conf, _ := p.Declared() // a mistake keeps runs from starting
	s := SettingsOf(conf.Telemetry, getenv)
	if s.Traces.URL == "" && s.Metrics.URL == "" {
		return nil
	}
	return newExporter(p, s)
}

func newExporter(p *project.Project, s Settings) *Exporter {
	x := &Exporter{p: p, s: s, runs: map[persistence.ID]*following{}, marks: map[persistence.ID]*os.File{}}
	x.sender.Settings = s
	x.closing = make(chan struct{})
	x.ctx, x.cancel = context.WithCancel(context.Background())
	return x
}

// Parents returns what gives actions their TRACEPARENT; nil where no traces are sent.
func (x *Exporter) Parents() func(persistence.ID, fsm.Action) string {
	if x == nil || x.s.Traces.URL == "" {
		return nil
	}
	return TraceParent
}

// Follow sends the traces of all runs of an engine, until that is closed.
func (x *Exporter) Follow(e *engine.Engine) {
	if x != nil {
		e.Observe(x)
	}
}

// Observe implements [engine.Observer].
func (x *Exporter) Observe(notice engine.Notice) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch n := notice.(type) {
	case engine.Began:
		x.runs[n.Run.ID] = x.follow(n.Run)
		x.mark(n.Run.ID)
		if !x.begun {
			x.begun = true
			x.beats.Go(x.beat)
			x.resend()
		}
	case engine.Recorded:
		if f := x.runs[n.Run]; f != nil {
			if f.seq == 0 { // it was resumed
				x.upTo(n.Run, f, n.Event.Seq-1)
			}
			f.add(n.Event)
		}
	case engine.Missed:
		if f := x.runs[n.Run]; f != nil {
			x.upTo(n.Run, f, n.Until)
		}
	case engine.Ended:
		x.end(x.runs[n.Run])
		delete(x.runs, n.Run)
		x.over = append(x.over, n.Run)
	case engine.Lost:
		delete(x.runs, n.Run.ID)
	case engine.Reconciled:
		died := false
		for _, c := range n.Changes {
			if c.Kind == reconcile.Interrupt && os.MkdirAll(x.unsent(), 0o700) == nil {
				if f := x.lock(c.ID, 0); f != nil {
					_ = disk.Release(f)
				}
				died = true
			}
		}
		if died {
			x.resend()
		}
	}
}

// follow returns what traces and counts a run.
func (x *Exporter) follow(run persistence.Run) *following {
	f := &following{counts: x.counts(run)}
	if x.s.Traces.URL != "" {
		f.tracer = NewTracer(run, x.sender.put)
		f.tracer.Content = x.s.Content
	}
	return f
}

func (f *following) add(e fsm.Event) {
	if e.Seq <= f.seq {
		return
	}
	f.seq = e.Seq
	var v *inspect.Visit
	if f.tracer != nil {
		v = f.tracer.Add(e)
	}
	if f.counts != nil {
		f.counts.add(e, v, f.tracer != nil)
	}
}

// end keeps the metrics of a run that is over until they were sent. The caller holds mu.
func (x *Exporter) end(f *following) {
	if f != nil && f.counts != nil {
		x.ended = append(x.ended, f.counts)
	}
}

// upTo reads the events of a run up to a number that it does not have yet: those before it was resumed, and those that
// this observer was too slow for. Of events that cannot be read there are no spans, and of their run no metrics. The
// caller holds mu.
func (x *Exporter) upTo(id persistence.ID, f *following, seq uint64) {
	if f.seq < seq && engine.CatchUp(context.Background(), x.p, engine.Missed{Run: id, After: f.seq, Until: seq},
		f.add) != nil {
		f.counts = nil
	}
}

// Close sends what waits, for three seconds at most, and returns what was not sent and why. Metrics that are being sent
// are sent to the end first: a collector that still reads a request that was given up would take older counts
// after newer ones.
func (x *Exporter) Close() error {
	if x == nil {
		return nil
	}
	close(x.closing)
	ctx, cancel := context.WithTimeout(context.Background(), lastTime)
	context.AfterFunc(ctx, x.cancel)
	defer cancel()
	var metrics error
	var beside sync.WaitGroup
	beside.Go(func() {
		x.beats.Wait()
		metrics = x.push(ctx)
	})
	spans := x.sender.close(ctx)
	beside.Wait()
	err := errors.Join(spans, metrics)
	x.mu.Lock()
	x.release(err == nil)
	x.mu.Unlock()
	x.resending.Wait()
	return err
}

// A sender sends spans, in the background. Its methods may be called by several goroutines at once.
type sender struct {
	Settings

	mu      sync.Mutex
	waiting [][]byte // guarded by mu: spans as they are sent
	dropped int      // guarded by mu
	err     error    // guarded by mu: of the last request that failed

	wake   chan struct{}
	ending chan struct{} // closed when nothing more comes
	done   chan struct{} // closed when nothing is sent any more
	ctx    context.Context
	cancel context.CancelFunc
}

// start starts what sends. The caller holds mu.
func (s *sender) start() {
	s.wake, s.ending, s.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.run()
}

// put has a span sent. It never waits.
func (s *sender) put(one *Span) {
	text := appendSpan(make([]byte, 0, 512), one)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wake == nil {
		s.start()
	}
	if len(s.waiting) >= mostSpans {
		s.waiting, s.dropped = s.waiting[1:], s.dropped+1
	}
	s.waiting = append(s.waiting, text)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run sends what comes, until close.
func (s *sender) run() {
	defer close(s.done)
	pause := firstPause
	for {
		select {
		case <-s.wake:
		case <-s.ending:
		}
		if !s.rest(batchTime) {
			s.last()
			return
		}
		for s.send() {
			pause = firstPause
		}
		if s.failed() {
			if !s.rest(pause) {
				s.last()
				return
			}
			pause = min(2*pause, longPause)
			select {
			case s.wake <- struct{}{}:
			default:
			}
		}
	}
}

// rest waits, and reports false when close was called.
func (s *sender) rest(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.ending:
		return false
	}
}

// last sends what is there. A collector that fails is not asked again.
func (s *sender) last() {
	for s.send() { //nolint:revive // send has the effect
	}
}

func (s *sender) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) > 0
}

// send sends the oldest spans, and reports whether that worked and there was one.
func (s *sender) send() bool {
	s.mu.Lock()
	batch := s.waiting[:min(len(s.waiting), batchSpans)]
	dropped := s.dropped
	s.mu.Unlock()
	if len(batch) == 0 {
		return false
	}
	again, err := s.post(batch)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if again {
		return false
	}
	if err != nil {
		s.dropped += len(batch)
	}
	// of these the oldest may have been dropped meanwhile
	s.waiting = s.waiting[max(0, len(batch)-(s.dropped-dropped)):]
	return true
}

// post sends spans, and reports whether they may be sent again after an error.
func (s *sender) post(batch [][]byte) (again bool, err error) {
	status, err := s.Traces.post(s.ctx, s.body(batch))
	return status == 0 || status == http.StatusTooManyRequests || status >= 502 && status <= 504, err
}

// close sends what waits, until ctx ends.
func (s *sender) close(ctx context.Context) error {
	s.mu.Lock()
	idle := s.wake == nil
	s.mu.Unlock()
	if idle {
		return nil
	}
	close(s.ending)
	select {
	case <-s.done:
	case <-ctx.Done():
		s.cancel()
		<-s.done
	}
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.waiting) + s.dropped; n > 0 {
		return fmt.Errorf("%d spans were not sent to %s: %w", n, s.Traces.URL, s.err)
	}
	return nil
}
