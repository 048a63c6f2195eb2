package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"sync"
	"time"
)

// A Factory makes the handles of runs. In is what a run is started with. It may be used by several goroutines at once.
// A nil Factory, and one without a Store, makes handles that work and keep nothing.
type Factory[In any] struct {
	Store    Store
	Interval time.Duration    // between two saves, see Run.Save; 0 = every Save is written
	Meta     func(in In) Meta // takes the run's meta from its inputs; it must give the same Run after a restart
	Clock    Clock            // for the interval; the stores have clocks of their own
}

// Begin returns the handle of the run with these inputs, and what Resume returns: its checkpoint, or a new one.
// The error is ErrRunID where Meta gives no id that a run may have, and else that of Resume; the handle is nil
// then, unless the error is ErrDamaged.
func (f *Factory[In]) Begin(ctx context.Context, in In) (*Run, *Checkpoint, error) {
	r := f.New(in)
	if r != nil {
		if err := CheckRun(r.meta.Run); err != nil {
			return nil, nil, err
		}
	}
	c, err := r.Resume(ctx)
	if err != nil && !errors.Is(err, ErrDamaged) {
		r = nil
	}
	return r, c, err
}

// New returns the handle of the run with these inputs. It reads and writes nothing.
func (f *Factory[In]) New(in In) *Run {
	if f == nil {
		return nil
	}
	var meta Meta
	if f.Meta != nil {
		meta = f.Meta(in)
	}
	r := NewRun(f.Store, meta, f.Interval)
	if r != nil {
		r.clock = f.Clock
	}
	return r
}

// MetaFromMap is a Factory's Meta for inputs that are a map. Its keys are those of Meta in JSON: run, agent,
// caller, channel, parent, prompt and model_tier, whose values are written as fmt.Sprint does. All other keys
// go to More, as they are.
func MetaFromMap(in map[string]any) Meta {
	text := func(key string) string {
		if v, ok := in[key]; ok && v != nil {
			return fmt.Sprint(v)
		}
		return ""
	}
	meta := Meta{
		Run: text("run"), Agent: text("agent"), Caller: text("caller"), Channel: text("channel"),
		Parent: text("parent"), Prompt: text("prompt"), ModelTier: text("model_tier"),
	}
	for key, v := range in {
		switch key {
		case "run", "agent", "caller", "channel", "parent", "prompt", "model_tier":
			continue
		}
		if meta.More == nil {
			meta.More = map[string]any{}
		}
		meta.More[key] = v
	}
	return meta
}

// A Run is the handle through which one run saves its checkpoints; Factory and NewRun make one. It may be used
// by several goroutines at once. All methods of a nil Run work and keep nothing, so a pipeline need not ask
// whether it is checkpointed.
type Run struct {
	store    Store
	meta     Meta // that it was made with
	interval time.Duration
	clock    Clock

	writing chan struct{} // holds one entry while the store writes

	mu    sync.Mutex
	kept  Meta      // guarded by mu; meta, and what the checkpoint that was resumed says beyond it
	last  time.Time // guarded by mu; end of the last Save that succeeded
	ended bool      // guarded by mu
}

// NewRun returns the handle of a run; see Factory for the parameters. Without a store, or with a nil pointer to one, it
// returns nil, which works.
func NewRun(store Store, meta Meta, interval time.Duration) *Run {
	if v := reflect.ValueOf(store); store == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil // so that Save does not claim that something was saved
	}
	return &Run{store: store, meta: meta, kept: meta, interval: interval, writing: make(chan struct{}, 1)}
}

// Meta returns what is saved of the run: what it was made with and, after Resume, what its checkpoint says beyond that.
func (r *Run) Meta() Meta {
	if r == nil {
		return Meta{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept
}

// over returns m with what old says of a run beyond it.
func (m Meta) over(old Meta) Meta {
	m.Agent, m.Caller, m.Channel = cmp.Or(m.Agent, old.Agent), cmp.Or(m.Caller, old.Caller),
		cmp.Or(m.Channel, old.Channel)
	m.Parent, m.Prompt, m.ModelTier = cmp.Or(m.Parent, old.Parent), cmp.Or(m.Prompt, old.Prompt),
		cmp.Or(m.ModelTier, old.ModelTier)
	if len(old.More) > 0 {
		more := maps.Clone(old.More)
		maps.Copy(more, m.More)
		m.More = more
	}
	return m
}

// Resume returns the run's checkpoint, or a new one, whose SavedAt is zero, if there is none. What that
// checkpoint says of the run and the run was not made with is saved from then on, so that no one has to know
// what others wrote there. An error that is ErrDamaged comes with the checkpoint before the damaged one; it is
// nil if that is not good either.
func (r *Run) Resume(ctx context.Context) (*Checkpoint, error) {
	if r == nil {
		return &Checkpoint{}, nil
	}
	c, err := r.store.Load(ctx, r.meta.Run)
	if errors.Is(err, ErrNotFound) {
		return &Checkpoint{Meta: r.meta}, nil
	}
	if c != nil {
		r.mu.Lock()
		r.kept = r.meta.over(c.Meta)
		r.mu.Unlock()
	}
	return c, err
}

// Save saves c, with the meta of the run (see Meta, whatever c says), unless the last Save that succeeded ended
// less than the interval ago or another is under way. It reports whether c is durable now. The first Save is
// always written, and so is the one after an error. After Complete or Fail it is ErrEnded. The caller may
// change c when Save has returned.
func (r *Run) Save(ctx context.Context, c *Checkpoint) (saved bool, err error) {
	if r == nil || !r.due() {
		return false, r.over()
	}
	select {
	case r.writing <- struct{}{}:
		defer r.free()
	default:
		return false, r.over()
	}
	if !r.due() { // another Save has just ended
		return false, r.over()
	}
	return r.save(ctx, c)
}

// SaveNow saves c whatever the interval: before something that cannot be undone, or when the program is asked to stop.
// It waits for a Save that is under way. c is durable when it returns nil; a nil Run keeps nothing.
func (r *Run) SaveNow(ctx context.Context, c *Checkpoint) error {
	if r == nil {
		return nil
	}
	if err := r.wait(ctx); err != nil {
		return err
	}
	defer r.free()
	_, err := r.save(ctx, c)
	return err
}

// wait waits until nothing is being written, and keeps it so until free.
func (r *Run) wait(ctx context.Context) error {
	select {
	case r.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("run %s: waiting for another save: %w", r.meta.Run, context.Cause(ctx))
	}
}

func (r *Run) free() { <-r.writing }

// save writes c. Called between wait and free.
func (r *Run) save(ctx context.Context, c *Checkpoint) (bool, error) {
	if err := r.over(); err != nil {
		return false, err
	}
	mine := *c
	mine.Meta = r.Meta()
	if err := r.store.Save(ctx, &mine); err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = r.clock.Now()
	return true, nil
}

func (r *Run) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.ended && (r.last.IsZero() || r.clock.Now().Sub(r.last) >= r.interval)
}

func (r *Run) over() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return fmt.Errorf("run %s cannot be saved: %w", r.meta.Run, ErrEnded)
	}
	return nil
}

// Complete forgets the checkpoint because the run has done its work. It waits for a Save that is under way; nothing can
// be saved afterwards. After an error the checkpoint may still be there, and Complete may be called again. The events
// of the run stay.
func (r *Run) Complete(ctx context.Context) error { return r.end(ctx) }

// Fail is Complete for a run that failed in a way that continuing cannot fix. A run that should be resumed at the
// next start calls neither.
func (r *Run) Fail(ctx context.Context) error { return r.end(ctx) }

// FailedKind is the kind of the event that FailWith appends.
const FailedKind = "failed"

// FailWith is Fail with a cause. If the store is a Log it appends an event of FailedKind first, whose data is
// {"cause": TEXT}, so that a watcher can read why. After an error FailWith may be called again, and the event
// may be there twice.
func (r *Run) FailWith(ctx context.Context, cause error) error {
	if r == nil {
		return nil
	}
	if l, ok := r.store.(Log); ok && cause != nil {
		data, err := json.Marshal(map[string]string{"cause": cause.Error()})
		if err != nil {
			return fmt.Errorf("run %s: %w", r.meta.Run, err)
		}
		if _, err := l.Append(ctx, r.meta.Run, Event{Kind: FailedKind, Data: data}); err != nil {
			return err
		}
	}
	return r.end(ctx)
}

func (r *Run) end(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	if err := r.wait(ctx); err != nil {
		return err
	}
	defer r.free()
	return r.store.Delete(ctx, r.meta.Run)
}

// Remove deletes the checkpoint of a run and, if the store is a Log, its events. The events go first: a run whose
// removal was cut short is still listed, and Remove can be repeated.
func Remove(ctx context.Context, s Store, run string) error {
	if l, ok := s.(Log); ok {
		if err := l.Clear(ctx, run); err != nil {
			return err
		}
	}
	return s.Delete(ctx, run)
}

// Counts are how much a store has of a run.
type Counts struct {
	Checkpoints int    // 1 if there is one, also a damaged one
	Events      uint64 // 0 if the store is no Log
}

// Count returns how much a store has of a run.
func Count(ctx context.Context, s Store, run string) (n Counts, err error) {
	switch _, err := s.Load(ctx, run); {
	case err == nil || errors.Is(err, ErrDamaged):
		n.Checkpoints = 1
	case !errors.Is(err, ErrNotFound):
		return n, err
	}
	if l, ok := s.(Log); ok {
		n.Events, err = l.Append(ctx, run) // numbers have no gaps
	}
	return n, err
}

// Append appends events to the run's log, see Log. It is errors.ErrUnsupported if the store is no Log.
func (r *Run) Append(ctx context.Context, events ...Event) (uint64, error) {
	if r == nil {
		return 0, nil
	}
	l, ok := r.store.(Log)
	if !ok {
		return 0, noLog(r.store)
	}
	return l.Append(ctx, r.meta.Run, events...)
}

// Since yields the run's events after number seq, see Log.
func (r *Run) Since(ctx context.Context, seq uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if r == nil {
			return
		}
		l, ok := r.store.(Log)
		if !ok {
			yield(Event{}, noLog(r.store))
			return
		}
		l.Since(ctx, r.meta.Run, seq)(yield)
	}
}

func noLog(s Store) error { return fmt.Errorf("%T keeps no events: %w", s, errors.ErrUnsupported) }
