package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// Memory is a store that forgets everything at Close. It is for tests and for runs that no user needs to see again.
type Memory struct {
	persistence.Plain

	mu      sync.Mutex
	runs    map[persistence.ID]*memoryRun // guarded by mu, as is all of it
	removed map[persistence.ID]bool       // ids that no new run gets
	dir     string                        // of the working folders; made by the first run
}

type memoryRun struct {
	run    persistence.Run
	spec   persistence.Spec
	scope  []string
	snap   *fsm.Snapshot // nil before the first Record
	events []fsm.Event
	past   []persistence.Moment // all that was remembered, oldest first
	held   bool

	commands []persistence.Command
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{runs: make(map[persistence.ID]*memoryRun), removed: make(map[persistence.ID]bool)}
}

// Close implements [persistence.Store]. It removes the working folders.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = make(map[persistence.ID]*memoryRun)
	dir := m.dir
	m.dir = ""
	if dir == "" {
		return nil
	}
	return os.RemoveAll(dir)
}

// Create implements [persistence.Store].
func (m *Memory) Create(_ context.Context, spec persistence.Spec) (persistence.Journal, error) {
	if spec.Loop == "" {
		return nil, errors.New("a run needs the name of its loop")
	}
	if spec.StartedAt.IsZero() {
		spec.StartedAt = time.Now()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	scope := persistence.ResolveScope(spec.Scope)
	if err := m.conflict("", spec, scope); err != nil {
		return nil, err
	}
	at, err := m.second(spec)
	if err != nil {
		return nil, err
	}
	id := persistence.MakeID(spec.Loop, at)
	if spec.ScopeOf != nil {
		scope = append(scope, persistence.ResolveScope(spec.ScopeOf(id))...)
	}
	r := &memoryRun{spec: spec, scope: scope, held: true, run: persistence.Run{
		ID: id, RunID: persistence.MakeRunID(at), Loop: spec.Loop, Status: persistence.Running,
		MaxSteps: spec.MaxSteps, StartedAt: spec.StartedAt,
		Owner: spec.Owner, File: spec.File, SHA256: spec.SHA256, Options: spec.Options, Origin: spec.Origin,
	}}
	j, err := m.journal(r)
	if err != nil {
		return nil, err
	}
	m.runs[id] = r
	return j, nil
}

// journal makes the working folder of a run; mu is held.
func (m *Memory) journal(r *memoryRun) (*memoryJournal, error) {
	if m.dir == "" {
		dir, err := os.MkdirTemp("", "loops-memory-")
		if err != nil {
			return nil, err
		}
		m.dir = dir
	}
	j := &memoryJournal{m: m, r: r, dir: m.work(r.run.ID)}
	return j, os.MkdirAll(j.dir, disk.FolderMode)
}

// conflict is called with mu held.
func (m *Memory) conflict(self persistence.ID, spec persistence.Spec, scope []string) error {
	for id, r := range m.runs {
		if !r.held || id == self || slices.Contains(spec.Ancestors, id) {
			continue
		}
		path, ok := persistence.Overlap(r.scope, scope)
		if !ok && !(spec.Singleton && r.spec.Singleton && spec.Loop == r.run.Loop) {
			continue
		}
		if !ok && len(r.scope) > 0 {
			path = r.scope[0]
		}
		return &persistence.ConflictError{
			Holder: id, Loop: r.run.Loop, Owner: r.run.Owner, Path: path,
			Since: r.spec.StartedAt,
		}
	}
	return nil
}

// Resume implements [persistence.Store].
func (m *Memory) Resume(_ context.Context, id persistence.ID, spec persistence.Spec) (persistence.Journal,
	*fsm.Snapshot, error,
) {
	if spec.StartedAt.IsZero() {
		spec.StartedAt = time.Now()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recorded(id)
	if err != nil {
		return nil, nil, err
	}
	if r.held {
		return nil, nil, &persistence.HeldError{ID: id, Owner: r.run.Owner}
	}
	scope := persistence.ResolveScope(spec.Scope)
	if err := m.conflict(id, spec, scope); err != nil {
		return nil, nil, err
	}
	if !r.listed().Resumable {
		return nil, nil, &persistence.NotResumableError{ID: id, Status: r.run.Status}
	}
	j, err := m.journal(r)
	if err != nil {
		return nil, nil, err
	}
	if spec.Definition == nil {
		spec.Definition = r.spec.Definition
	}
	r.held, r.spec, r.scope = true, spec, scope
	r.run.Segment++
	r.run.Archived, r.run.Reconciled, r.run.Why, r.run.Owner = false, time.Time{}, "", spec.Owner
	if spec.Options != nil {
		r.run.Options = spec.Options
	}
	if spec.MaxSteps != 0 {
		r.run.MaxSteps = spec.MaxSteps
	}
	return j, snapshot.Clone(r.snap), nil
}

func (r *memoryRun) listed() persistence.Run {
	run := r.run
	run.Held = r.held
	if r.held {
		run.Scope = r.scope
	}
	if s := r.snap; s != nil {
		run.State, run.Step, run.Passes, run.Elapsed, run.Continuation = s.Current, s.Step, s.Passes, s.Elapsed,
			s.Continuation
		run.StartedAt = s.StartedAt
		run.MaxSteps = persistence.MaxSteps(run.MaxSteps, run.Segment, s)
		run.Marker = persistence.Marker(run.ID, run.Segment, s)
		if s.Outcome != nil {
			run.SetOutcome(s.Outcome)
		}
	}
	run.Resumable = run.Status.CanGoOn(run.Retriable()) && !(run.Archived && run.Foreign)
	return run
}

// Runs implements [persistence.Store].
func (m *Memory) Runs(_ context.Context, q persistence.Query) ([]persistence.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []persistence.Run
	for _, r := range m.runs {
		if r.snap == nil || q.ID != "" && r.run.ID != q.ID || q.Loop != "" && r.run.Loop != q.Loop ||
			q.Live && r.run.Archived {
			continue
		}
		out = append(out, r.listed())
	}
	persistence.SortRuns(out)
	out = q.Cut(out)
	for i := range out {
		if q.Reads(out[i]) {
			out[i].Reading = &memoryReading{m, out[i].ID}
		}
	}
	return out, nil
}

// Snapshot implements [persistence.Store].
func (m *Memory) Snapshot(_ context.Context, id persistence.ID) (*fsm.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recorded(id)
	if err != nil {
		return nil, err
	}
	return snapshot.Clone(r.snap), nil
}

// Events implements [persistence.Store].
func (m *Memory) Events(ctx context.Context, id persistence.ID, after uint64) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		m.mu.Lock()
		r, err := m.recorded(id)
		var events []fsm.Event
		if err == nil {
			events = r.events[:len(r.events):len(r.events)]
		}
		m.mu.Unlock()
		if err != nil {
			yield(fsm.Event{}, err)
			return
		}
		for _, e := range events {
			if ctx.Err() != nil {
				yield(fsm.Event{}, context.Cause(ctx))
				return
			}
			if e.Seq > after && !yield(e, nil) {
				return
			}
		}
	}
}

// Tail implements [persistence.Store].
func (m *Memory) Tail(ctx context.Context, id persistence.ID) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		var events []fsm.Event
		for e, err := range m.Events(ctx, id, 0) {
			if err != nil {
				yield(e, err)
				return
			}
			events = append(events, e)
		}
		for _, e := range slices.Backward(events) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Track implements [persistence.Store].
func (m *Memory) Track(r persistence.Run, after uint64) persistence.Track {
	return persistence.TrackEvents(m, r, after)
}

// Tidy implements [persistence.Store].
func (m *Memory) Tidy(ctx context.Context, todo []persistence.Tidying) (errs []error) {
	for _, t := range todo {
		if t.Interrupt {
			errs = append(errs, m.Interrupt(ctx, t.ID, t.At, t.Why))
		} else {
			errs = append(errs, m.Archive(ctx, t.ID))
		}
	}
	return errs
}

// Interrupt implements [persistence.Store].
func (m *Memory) Interrupt(_ context.Context, id persistence.ID, at time.Time, why string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recorded(id)
	switch {
	case err != nil:
		return err
	case r.held:
		return &persistence.HeldError{ID: id, Owner: r.run.Owner}
	case r.run.Status != persistence.Running:
		return fmt.Errorf("running run %s: %w", id, persistence.ErrNotFound)
	}
	r.run.Status, r.run.Reconciled, r.run.Why, r.run.Archived, r.run.Owner = persistence.Interrupted, at, why, true,
		persistence.Owner{}
	return nil
}

// Archive implements [persistence.Store].
func (m *Memory) Archive(_ context.Context, id persistence.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recorded(id)
	switch {
	case err != nil:
		return err
	case r.held:
		return &persistence.HeldError{ID: id, Owner: r.run.Owner}
	case r.run.Status == persistence.Running:
		return fmt.Errorf("run %s has not ended", id)
	}
	r.run.Archived = true
	return nil
}

// FinishRemovals implements [persistence.Store]: there is nothing that outlives the process.
func (m *Memory) FinishRemovals(context.Context) ([]persistence.ID, error) { return nil, nil }

// Remove implements [persistence.Store].
func (m *Memory) Remove(_ context.Context, id persistence.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recorded(id)
	switch {
	case err != nil:
		return err
	case r.held:
		return &persistence.HeldError{ID: id, Owner: r.run.Owner}
	}
	delete(m.runs, id)
	m.removed[id] = true
	if m.dir == "" { // it was imported
		return nil
	}
	if err := disk.RemoveTree(m.work(id)); err != nil {
		return &persistence.RemainsError{ID: id, Err: err}
	}
	return nil
}

// Each implements [persistence.Store].
func (m *Memory) Each(ctx context.Context, q persistence.Query) iter.Seq2[persistence.Run, error] {
	return persistence.EachOf(func() ([]persistence.Run, error) { return m.Runs(ctx, q) })
}

// Sizes implements [persistence.Store].
func (m *Memory) Sizes(ctx context.Context, ids []persistence.ID, _ []int64) ([]int64, error) {
	return persistence.SizesOf(ctx, ids, m.size)
}

func (m *Memory) size(_ context.Context, id persistence.ID) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recorded(id)
	if err != nil {
		return 0, err
	}
	n := int64(len(r.spec.Definition))
	for _, e := range r.events {
		n += int64(len(e.AppendJSON(nil)))
	}
	asked, err := persistence.AppendCommands(nil, r.commands)
	if n += int64(len(asked)); err != nil {
		return n, err
	}
	if m.dir == "" {
		return n, nil
	}
	files, err := disk.TreeSize(m.work(id))
	return n + files, err
}

// work is the working folder of a run; mu is held.
func (m *Memory) work(id persistence.ID) string {
	return filepath.Join(m.dir, filepath.FromSlash(string(id)))
}

// A memoryJournal is a run of a Memory.
type memoryJournal struct {
	m   *Memory
	r   *memoryRun
	dir string
}

func (j *memoryJournal) Dir() string           { return j.dir }
func (j *memoryJournal) Lost() <-chan struct{} { return nil }
func (j *memoryJournal) Removed() bool         { return false }
func (j *memoryJournal) Epoch() int64          { return 0 }

func (j *memoryJournal) Run() persistence.Run {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	return j.r.listed()
}

func (j *memoryJournal) Record(_ context.Context, b *fsm.Batch) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if b.Snapshot != nil && len(b.Events) == 0 {
		b.Events = []fsm.Event{{Kind: fsm.EventCheckpoint, Time: time.Now()}}
	}
	for i := range b.Events {
		b.Events[i].Seq = uint64(len(j.r.events)) + 1
		j.r.events = append(j.r.events, b.Events[i])
	}
	if s := b.Snapshot; s != nil {
		if j.r.snap == nil {
			j.r.snap = &fsm.Snapshot{}
		}
		snapshot.Remember(j.r.snap, s)
		j.r.past = append(j.r.past, persistence.Moment{Seq: uint64(len(j.r.events)), Memory: snapshot.Clone(s)})
		j.r.run.Status, j.r.run.UpdatedAt = persistence.Running, time.Now()
		if s.Outcome != nil {
			j.r.run.Status = persistence.StatusOf(*s.Outcome)
		}
	}
	return nil
}

func (j *memoryJournal) Close(context.Context) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	j.r.held = false
	j.r.run.Owner = persistence.Owner{}
	if j.r.snap == nil {
		delete(j.m.runs, j.r.run.ID)
		return os.RemoveAll(j.dir)
	}
	j.r.run.Archived = j.r.snap.Outcome != nil
	return nil
}

var _ persistence.Store = (*Memory)(nil)
