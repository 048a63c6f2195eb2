package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// A Memory keeps checkpoints and events until the process ends: for tests, and where a crash may lose everything. The
// zero Memory is empty and ready. It may be used by several goroutines at once. The methods of a nil Memory do nothing
// and find nothing.
type Memory struct {
	Clock Clock // for the times of checkpoints and events; set before the first use

	mu     sync.Mutex
	saved  map[string][]byte  // guarded by mu; as a file would hold it, so that nothing is shared with callers
	events map[string][]Event // guarded by mu; only ever appended to
}

var (
	_ Store = (*Memory)(nil)
	_ Log   = (*Memory)(nil)
)

// Save implements [Store].
func (m *Memory) Save(ctx context.Context, c *Checkpoint) error {
	if m == nil {
		return nil
	}
	b, err := Encode(c, m.Clock.Now())
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return saving(c.Run, err)
	}
	if m.saved == nil {
		m.saved = map[string][]byte{}
	}
	m.saved[c.Run] = b
	return nil
}

// Load implements [Store].
func (m *Memory) Load(ctx context.Context, run string) (*Checkpoint, error) {
	if m == nil {
		return nil, missing(run)
	}
	if err := ready(ctx, run); err != nil {
		return nil, err
	}
	m.mu.Lock()
	b, ok := m.saved[run]
	m.mu.Unlock()
	if !ok {
		return nil, missing(run)
	}
	return Decode(b, run)
}

func ready(ctx context.Context, run string) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("run %s: %w", run, err)
	}
	return CheckRun(run)
}

// Delete implements [Store].
func (m *Memory) Delete(ctx context.Context, run string) error {
	if m == nil {
		return nil
	}
	if err := ready(ctx, run); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.saved, run)
	return nil
}

// ListInterrupted implements [Store].
func (m *Memory) ListInterrupted(ctx context.Context) ([]Interrupted, error) {
	if m == nil {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	var list []Interrupted
	for run, b := range m.saved {
		c, err := decode(b, run, false)
		if err != nil {
			return nil, damaged("", err)
		}
		list = append(list, c.interrupted())
	}
	newestFirst(list)
	return list, nil
}

// Append implements [Log].
func (m *Memory) Append(ctx context.Context, run string, events ...Event) (uint64, error) {
	if m == nil {
		return 0, nil
	}
	if err := ready(ctx, run); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.events[run]
	for _, e := range events {
		e, err := Numbered(e, uint64(len(list))+1)
		if err != nil {
			return 0, appending(run, err)
		}
		stamp(&e, m.Clock.Now())
		line, err := appendEvent(nil, e)
		if err == nil {
			e, err = parseEvent(line)
		}
		if err != nil {
			return 0, fmt.Errorf("run %s: %w", run, err)
		}
		list = append(list, e)
	}
	if m.events == nil {
		m.events = map[string][]Event{}
	}
	if len(events) > 0 {
		m.events[run] = list
	}
	return uint64(len(list)), nil
}

// Since implements [Log].
func (m *Memory) Since(ctx context.Context, run string, seq uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if m == nil {
			return
		}
		if err := ready(ctx, run); err != nil {
			yield(Event{}, err)
			return
		}
		m.mu.Lock()
		list := m.events[run]
		m.mu.Unlock()
		for _, e := range list[min(seq, uint64(len(list))):] {
			if ctx.Err() != nil {
				yield(Event{}, context.Cause(ctx))
				return
			}
			e.Data = json.RawMessage(slices.Clone(e.Data))
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Clear implements [Log].
func (m *Memory) Clear(ctx context.Context, run string) error {
	if m == nil {
		return nil
	}
	if err := ready(ctx, run); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.events, run)
	return nil
}
