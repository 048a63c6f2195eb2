package storetest

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// Send implements [persistence.Store].
func (m *Memory) Send(_ context.Context, id persistence.ID, c persistence.Command) (persistence.Command, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recorded(id)
	if err != nil {
		return c, err
	}
	if err := r.listed().Takes(c); err != nil {
		return c, err
	}
	c = c.Numbered(1)
	if n := len(r.commands); n > 0 {
		c.N = r.commands[n-1].N + 1
	}
	// what no store can record, this one does not take either
	if _, err := persistence.AppendCommand(nil, c); err != nil {
		return c, err
	}
	r.commands = append(r.commands, c)
	return c, nil
}

// Commands implements [persistence.Store].
func (m *Memory) Commands(_ context.Context, id persistence.ID, after uint64) ([]persistence.Command, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recorded(id)
	if err != nil {
		return nil, err
	}
	n, is := slices.BinarySearchFunc(r.commands, after, func(c persistence.Command, n uint64) int {
		return cmp.Compare(c.N, n)
	})
	if is {
		n++
	}
	return slices.Clone(r.commands[n:]), nil
}

// Around implements [persistence.Store].
func (m *Memory) Around(_ context.Context, id persistence.ID, seq uint64) (before, after persistence.Moment,
	err error,
) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recorded(id)
	if err != nil {
		return before, after, err
	}
	for _, moment := range r.past {
		copied := persistence.Moment{Seq: moment.Seq, Memory: snapshot.Clone(moment.Memory)}
		if moment.Seq >= seq {
			return before, copied, nil
		}
		before = copied
	}
	return before, after, nil
}

// Redefine implements [persistence.Journal].
func (j *memoryJournal) Redefine(_ context.Context, definition []byte) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	j.r.spec.Definition = definition
	return nil
}

// A memoryReading asks a Memory again: nothing is read from anywhere.
type memoryReading struct {
	m  *Memory
	id persistence.ID
}

// Memory implements [persistence.Reading].
func (r *memoryReading) Memory(ctx context.Context) (*fsm.Snapshot, error) {
	return r.m.Snapshot(ctx, r.id)
}

// Definition implements [persistence.Reading].
func (r *memoryReading) Definition(ctx context.Context) ([]byte, error) {
	return r.m.Definition(ctx, r.id)
}

// Events implements [persistence.Reading].
func (r *memoryReading) Events(ctx context.Context, after uint64) iter.Seq2[fsm.Event, error] {
	return r.m.Events(ctx, r.id, after)
}

// recorded finds a run; mu is held.
func (m *Memory) recorded(id persistence.ID) (*memoryRun, error) {
	r := m.runs[id]
	if r == nil || r.snap == nil {
		return nil, fmt.Errorf("%s: %w", id, persistence.ErrNotFound)
	}
	return r, nil
}

// second returns the second that the id of a new run names. Called with mu held.
func (m *Memory) second(spec persistence.Spec) (time.Time, error) {
	if spec.ID == "" {
		newest := ""
		for _, r := range m.runs {
			newest = max(newest, r.run.RunID)
		}
		at := persistence.FirstSecond(spec.StartedAt, newest)
		for id := persistence.MakeID(spec.Loop, at); m.runs[id] != nil ||
			m.removed[id]; id = persistence.MakeID(spec.Loop, at) {
			at = at.Add(time.Second)
		}
		return at, nil
	}
	at, err := spec.Second()
	if err == nil && (m.runs[spec.ID] != nil || m.removed[spec.ID]) {
		err = fmt.Errorf("%s: %w", spec.ID, persistence.ErrTaken)
	}
	return at, err
}

// Import implements [persistence.Store].
func (m *Memory) Import(_ context.Context, r persistence.Recorded) error {
	run := &memoryRun{
		run: r.Run, spec: persistence.Spec{Loop: r.Run.Loop, Definition: r.Definition},
		snap: snapshot.Clone(r.Memory),
	}
	run.run.Owner, run.run.Held = persistence.Owner{}, false
	for e, err := range r.Events {
		if err != nil {
			return err
		}
		if e.Seq != uint64(len(run.events))+1 {
			return fmt.Errorf("run %s: event %d is followed by %d", r.Run.ID, len(run.events), e.Seq)
		}
		run.events = append(run.events, e)
	}
	if _, err := persistence.AppendCommands(nil, r.Commands); err != nil {
		return fmt.Errorf("run %s: %w", r.Run.ID, err)
	}
	run.commands = slices.Clone(r.Commands)
	run.past = []persistence.Moment{{Seq: uint64(len(run.events)), Memory: run.snap}}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs[r.Run.ID] != nil {
		return fmt.Errorf("run %s: %w", r.Run.ID, fs.ErrExist)
	}
	m.runs[r.Run.ID] = run
	return nil
}

// Definition implements [persistence.Store].
func (m *Memory) Definition(_ context.Context, id persistence.ID) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recorded(id)
	if err != nil {
		return nil, err
	}
	return r.spec.Definition, nil
}
