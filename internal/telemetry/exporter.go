package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
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
	keepUnsent = 7 * 24 * time.Hour
)

// An Exporter sends the traces of runs. It implements [engine.Observer], and a nil Exporter sends nothing. Its methods may
// be called by several goroutines at once.
type Exporter struct {
	p *project.Project
	s Settings

	mu      sync.Mutex
	tracers map[persistence.ID]*following // guarded by mu
	over    []persistence.ID              // guarded by mu: runs whose trace has all its spans
	looked  bool                          // guarded by mu: for traces that another process did not send
	sender  sender
}

// A following is a run whose events are traced.
type following struct {
	*Tracer
	seq uint64 // of the newest event that it has
}

// NewExporter returns an exporter for the runs of a project; nil where neither the environment nor its settings name a
// collector.
func NewExporter(p *project.Project, getenv func(string) (string, bool)) *Exporter {
	conf, _ := p.Declared() // a mistake keeps runs from starting
	s := SettingsOf(conf.Telemetry, getenv)
	if s.URL == "" {
		return nil
	}
	x := &Exporter{p: p, s: s, tracers: map[persistence.ID]*following{}}
	x.sender.Settings = s
	return x
}

// Parents returns what gives actions their TRACEPARENT; nil where nothing is sent.
func (x *Exporter) Parents() func(persistence.ID, fsm.Action) string {
	if x == nil {
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
		x.tracers[n.Run.ID] = x.follow(n.Run)
		x.mark(n.Run.ID)
	case engine.Recorded:
		if f := x.tracers[n.Run]; f != nil {
			if f.seq == 0 { // it was resumed
				x.upTo(n.Run, f, n.Event.Seq-1)
			}
			f.add(n.Event)
		}
	case engine.Missed:
		if f := x.tracers[n.Run]; f != nil {
			x.upTo(n.Run, f, n.Until)
		}
	case engine.Ended:
		delete(x.tracers, n.Run)
		x.over = append(x.over, n.Run)
	case engine.Lost:
		delete(x.tracers, n.Run.ID)
	case engine.Reconciled:
		for _, c := range n.Changes {
			if c.Kind == reconcile.Interrupt {
				x.gone(c.ID)
			}
		}
	}
}

func (x *Exporter) follow(run persistence.Run) *following {
	t := NewTracer(run, x.sender.put)
	t.Content = x.s.Content
	return &following{Tracer: t}
}

func (f *following) add(e fsm.Event) {
	if e.Seq > f.seq {
		f.seq = e.Seq
		f.Add(e)
	}
}

// upTo reads the events of a run up to a number that it does not have yet: those before it was resumed, and those that
// this observer was too slow for. What cannot be read is left out. The caller holds mu.
func (x *Exporter) upTo(id persistence.ID, f *following, seq uint64) {
	if f.seq < seq {
		_ = engine.CatchUp(context.Background(), x.p, engine.Missed{Run: id, After: f.seq, Until: seq}, f.add)
	}
}

// unsent returns the folder that has an empty file for each run whose trace is not sent whole.
func (x *Exporter) unsent() string { return filepath.Join(x.p.LogsDir(), "traces") }

// mark notes that the trace of a run is to be sent, until Close has sent it. The first time it also sends the traces that
// other processes could not. A folder that cannot be written to has no notes. The caller holds mu.
func (x *Exporter) mark(id persistence.ID) {
	if !x.looked {
		x.looked = true
		x.resend()
	}
	if err := os.MkdirAll(x.unsent(), 0o700); err == nil {
		_ = os.WriteFile(filepath.Join(x.unsent(), string(id)), nil, 0o600) // see above
	}
}

// resend sends the newest traces of runs that no process carries and that were not sent. Older ones are given up. The
// caller holds mu.
func (x *Exporter) resend() {
	entries, _ := os.ReadDir(x.unsent()) // usually there are none
	slices.Reverse(entries)
	for i, e := range entries {
		id := persistence.ID(e.Name())
		if _, mine := x.tracers[id]; mine {
			continue
		}
		info, err := e.Info()
		if err == nil && (i >= mostResent || time.Since(info.ModTime()) > keepUnsent) {
			_ = os.Remove(filepath.Join(x.unsent(), e.Name()))
			continue
		}
		x.gone(id)
	}
}

// gone sends the trace of a run that no process carries. The caller holds mu.
func (x *Exporter) gone(id persistence.ID) {
	ctx := context.Background()
	store, err := x.p.Records(ctx, false)
	if err != nil {
		return
	}
	defer store.Close() //nolint:errcheck // it is only read
	runs, err := store.Runs(ctx, persistence.Query{ID: id})
	if runs = project.Current(runs); err != nil || len(runs) == 1 && project.Alive(runs[0]) {
		return
	}
	x.over = append(x.over, id)
	if len(runs) == 0 {
		return
	}
	f := x.follow(runs[0])
	for e, err := range store.EventsOf(ctx, runs[0], 0) {
		if err == nil {
			f.add(e)
		}
	}
	f.Gone()
}

// Close sends what waits, for three seconds at most, and returns how many spans were not sent and why.
func (x *Exporter) Close() error {
	if x == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastTime)
	defer cancel()
	if err := x.sender.close(ctx); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range x.over {
		_ = os.Remove(filepath.Join(x.unsent(), string(id))) // it is sent again otherwise
	}
	return nil
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
	ctx, cancel := context.WithTimeout(s.ctx, s.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(s.body(batch)))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	for _, h := range s.Headers {
		r.Header.Set(h[0], h[1])
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return true, err
	}
	defer a.Body.Close()                                       //nolint:errcheck // it was read
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, 64<<10)) // so that the connection can be used again
	switch {
	case a.StatusCode < 300:
		return false, nil
	case a.StatusCode == http.StatusTooManyRequests || a.StatusCode >= 502 && a.StatusCode <= 504:
		return true, fmt.Errorf("the collector answers %s", a.Status)
	}
	return false, fmt.Errorf("the collector answers %s", a.Status)
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
		return fmt.Errorf("%d spans were not sent to %s: %w", n, s.URL, s.err)
	}
	return nil
}
