package telemetry

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/persistence"
)

const (
	// margin is how long before its last look a feed looks for changes: other machines have other clocks, and a
	// change may be seen late.
	margin = 2 * time.Minute
	// forget is after what time a run that did not change is forgotten.
	forget = time.Hour
	// rest is how long a feed does nothing after a look.
	rest = time.Second
)

// A Feed gives a meter what runs of one project record. It reads only the runs that changed since its last look, and of
// these only the events that are new. It may be used by several goroutines at once, which wait for one another.
type Feed struct {
	Meter   *Meter
	Project string                     // the label
	Since   time.Time                  // events before it do not count; zero = all count
	Only    func(persistence.Run) bool // chooses runs, as [persistence.Filter] has it; nil = all of the project

	At func(persistence.ID, time.Time) bool // chooses events of these runs by their time; nil = all
	// the one queue of submitted runs that counts; "" = all, and those that wait for files
	Queue  string
	Gauges bool // events do not count

	mu     sync.Mutex
	store  *project.Records             // guarded by mu; nil = not open
	at     string                       // guarded by mu: where the store is
	runs   map[persistence.ID]*followed // guarded by mu
	looked time.Time                    // guarded by mu: when the last look began
	floor  time.Time                    // guarded by mu: an unknown run's events up to then were counted
}

// A followed run is one whose events are counted.
type followed struct {
	tally    *tally
	follower *project.Follower
	changed  time.Time // UpdatedAt of what was read last
	live     bool
}

// Look counts what was recorded since the last look, unless that was within the last second. A project whose store
// does not exist yet has recorded nothing.
func (f *Feed) Look(ctx context.Context, p *project.Project) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Sub(f.looked) < rest {
		return nil
	}
	waiting := map[string]float64{}
	if f.Queue == "" {
		line, err := p.Queue().Waiters()
		if err != nil {
			return err
		}
		waiting[""] = float64(len(line))
	}
	f.Meter.Set(QueueLength, f.Project, "queue", waiting)
	if err := f.open(ctx, p); err != nil {
		if _, none := err.(*project.NoDatabaseError); none { //nolint:errorlint // it is returned as it is
			return nil
		}
		return err
	}
	if err := f.submitted(ctx, waiting); err != nil {
		return f.store.Failed(err)
	}
	f.Meter.Set(QueueLength, f.Project, "queue", waiting)
	prices, err := p.Pricer()
	if err != nil {
		return err
	}
	if f.runs == nil {
		f.runs, f.floor = map[persistence.ID]*followed{}, f.Since
	}
	runs, err := f.changed(ctx)
	if err != nil {
		return f.store.Failed(err)
	}
	if f.Gauges {
		runs = nil
	}
	for _, r := range runs {
		f.read(ctx, r, prices)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	f.looked = now
	for id, r := range f.runs {
		if old := now.Add(-forget); !r.live && r.changed.Before(old) {
			if r.changed.After(f.floor) {
				f.floor = r.changed
			}
			delete(f.runs, id)
		}
	}
	return nil
}

// submitted adds how many submitted runs wait for a worker, by queue. The caller holds mu.
func (f *Feed) submitted(ctx context.Context, waiting map[string]float64) error {
	placer, ok := f.store.Store.(persistence.Placer)
	if !ok {
		return nil
	}
	if f.Queue != "" {
		waiting[f.Queue] = 0
	}
	counts, err := placer.Waiting(ctx)
	for queue, n := range counts {
		if f.Queue == "" || queue == f.Queue {
			waiting[queue] = float64(n)
		}
	}
	return err
}

// open opens the store of the project. The caller holds mu.
func (f *Feed) open(ctx context.Context, p *project.Project) error {
	location, _, err := p.Location()
	if err != nil {
		return err
	}
	if f.store != nil && f.at == location {
		return nil
	}
	f.close()
	store, err := p.Records(ctx, false)
	if err != nil {
		return err
	}
	f.store, f.at = store, location
	return nil
}

// close closes the store. The caller holds mu.
func (f *Feed) close() {
	if f.store != nil {
		_ = f.store.Close() // it was only read
	}
	f.store, f.runs = nil, nil
}

// Close closes the store.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.close()
}

// changed returns the runs that may have new events, and sets the gauge of runs that are live. The caller holds mu.
func (f *Feed) changed(ctx context.Context) ([]persistence.Run, error) {
	began := time.Now()
	live, err := f.store.Runs(ctx, persistence.Query{Live: true})
	if err != nil {
		return nil, err
	}
	live = project.Current(live)
	q := persistence.Query{}
	switch {
	case !f.looked.IsZero():
		q.Since = f.looked.Add(-margin)
	case !f.Since.IsZero():
		q.Since = f.Since.Add(-margin)
	}
	q.Keep = f.Only
	runs, err := f.store.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	runs = project.Current(runs)
	f.Meter.Observe(StoreSeconds, time.Since(began).Seconds(), "project", f.Project)
	status, seen := map[string]float64{}, map[persistence.ID]bool{}
	for _, r := range live {
		if f.Only == nil || f.Only(r) {
			status[inspect.StatusWord(r)]++
		}
	}
	f.Meter.Set(RunsLive, f.Project, "status", status)
	for _, r := range runs {
		seen[r.ID] = true
	}
	for _, r := range live {
		if !seen[r.ID] && (f.Only == nil || f.Only(r)) {
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// read counts the new events of a run. What cannot be read, or was removed meanwhile, is tried again when the run
// changes. The caller holds mu.
func (f *Feed) read(ctx context.Context, r persistence.Run, prices project.Prices) {
	one, alive, floor := f.runs[r.ID], project.Alive(r), time.Time{}
	switch {
	case one == nil:
		one, floor = &followed{tally: newTally(f.Meter, f.Project, r.Loop, prices)}, f.floor
		one.follower = &project.Follower{Store: f.store, ID: r.ID}
		f.runs[r.ID] = one
	case !one.live && !alive && one.changed.Equal(r.UpdatedAt):
		return
	case !one.live: // its files may be in another place now
		one.follower = &project.Follower{Store: f.store, ID: r.ID, After: one.follower.After}
	}
	if !alive {
		one.follower.Again()
	}
	one.changed, one.live = r.UpdatedAt, alive
	_ = one.follower.Read(ctx, r, !alive, func(e fsm.Event, err error) {
		if err == nil {
			one.tally.count = (floor.IsZero() || e.Time.After(floor)) && (f.At == nil || f.At(r.ID, e.Time))
			one.tally.event(e)
		}
	})
	if f.Since.IsZero() {
		delete(f.runs, r.ID)
	}
}

// MeterOf returns the metrics of all runs on record of a loop; "" = of all loops.
func MeterOf(ctx context.Context, p *project.Project, loop string) (*Meter, error) {
	f := &Feed{Meter: &Meter{}, Project: filepath.Base(p.Dir)}
	if loop != "" {
		f.Only = func(r persistence.Run) bool { return r.Loop == loop }
	}
	defer f.Close()
	return f.Meter, f.Look(ctx, p)
}
