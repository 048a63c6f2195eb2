package persistence

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"loops/fsm"
	"loops/persistence/snapshot"
)

// Send implements [Controller].
func (m *Memory) Send(_ context.Context, id ID, c Command) (Command, error) {
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
	if _, err := AppendCommand(nil, c); err != nil { // what no store can record, this one does not take either
		return c, err
	}
	r.commands = append(r.commands, c)
	return c, nil
}

// Commands implements [Controller].
func (m *Memory) Commands(_ context.Context, id ID, after uint64) ([]Command, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recorded(id)
	if err != nil {
		return nil, err
	}
	n, is := slices.BinarySearchFunc(r.commands, after, func(c Command, n uint64) int { return cmp.Compare(c.N, n) })
	if is {
		n++
	}
	return slices.Clone(r.commands[n:]), nil
}

// Around implements [Rewinder].
func (m *Memory) Around(_ context.Context, id ID, seq uint64) (before, after Moment, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recorded(id)
	if err != nil {
		return before, after, err
	}
	for _, moment := range r.past {
		copied := Moment{moment.Seq, snapshot.Clone(moment.Memory)}
		if moment.Seq >= seq {
			return before, copied, nil
		}
		before = copied
	}
	return before, after, nil
}

// Redefine implements [Redefiner].
func (j *memoryJournal) Redefine(_ context.Context, definition []byte) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	j.r.spec.Definition = definition
	return nil
}

var (
	_ Controller = (*Memory)(nil)
	_ Rewinder   = (*Memory)(nil)
	_ Importer   = (*Memory)(nil)
	_ Tailer     = (*Memory)(nil)
	_ Redefiner  = (*memoryJournal)(nil)
)

// A memoryReading asks a Memory again: nothing is read from anywhere.
type memoryReading struct {
	m  *Memory
	id ID
}

// Memory implements [Reading].
func (r *memoryReading) Memory(ctx context.Context) (*fsm.Snapshot, error) {
	return r.m.Snapshot(ctx, r.id)
}

// Definition implements [Reading].
func (r *memoryReading) Definition(ctx context.Context) ([]byte, error) {
	return r.m.Definition(ctx, r.id)
}

// Events implements [Reading].
func (r *memoryReading) Events(ctx context.Context, after uint64) iter.Seq2[fsm.Event, error] {
	return r.m.Events(ctx, r.id, after)
}

// recorded finds a run; mu is held.
func (m *Memory) recorded(id ID) (*memoryRun, error) {
	r := m.runs[id]
	if r == nil || r.snap == nil {
		return nil, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return r, nil
}

// second returns the second that the id of a new run names. Called with mu held.
func (m *Memory) second(spec Spec) (time.Time, error) {
	if spec.ID == "" {
		newest := ""
		for _, r := range m.runs {
			newest = max(newest, r.run.RunID)
		}
		at := FirstSecond(spec.StartedAt, newest)
		for id := MakeID(spec.Loop, at); m.runs[id] != nil || m.removed[id]; id = MakeID(spec.Loop, at) {
			at = at.Add(time.Second)
		}
		return at, nil
	}
	at, err := spec.Second()
	if err == nil && (m.runs[spec.ID] != nil || m.removed[spec.ID]) {
		err = fmt.Errorf("%s: %w", spec.ID, ErrTaken)
	}
	return at, err
}
