package dirstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence"
)

// tidyBatch is how many runs are tidied up while no one else may look for or make locks.
const tidyBatch = 64

// Archive implements [Store].
func (d *Store) Archive(ctx context.Context, id persistence.ID) error {
	return d.Tidy(ctx, []persistence.Tidying{{ID: id}})[0]
}

// Interrupt implements [Store].
func (d *Store) Interrupt(ctx context.Context, id persistence.ID, at time.Time, why string) error {
	return d.Tidy(ctx, []persistence.Tidying{{ID: id, Interrupt: true, At: at, Why: why}})[0]
}

// Tidy implements [Tidier]. If no process may look for locks now, the rest is not tried.
func (d *Store) Tidy(ctx context.Context, todo []persistence.Tidying) []error {
	errs := make([]error, 0, len(todo))
	for batch := range slices.Chunk(todo, tidyBatch) {
		if ctx.Err() != nil {
			break
		}
		results := make([]error, len(batch))
		err := d.exclusive(ctx, func() error {
			d.tidy(batch, results)
			if len(errs)+len(batch) == len(todo) {
				_ = d.dropMarks() // or they are left, and say nothing
			}
			return nil
		})
		if err != nil {
			for i := range results {
				results[i] = err
			}
		}
		errs = append(errs, results...)
		if errors.Is(err, persistence.ErrBusy) {
			break // it took long enough
		}
	}
	return errs
}

// tidy is called within exclusive.
func (d *Store) tidy(todo []persistence.Tidying, errs []error) {
	parcels := make([]*parcel, len(todo))
	marks := d.marks()
	spread(len(todo), func(i int) { parcels[i], errs[i] = d.fetch(todo[i], marks[todo[i].ID]) })
	d.archive(slices.DeleteFunc(slices.Clone(parcels), func(p *parcel) bool { return p == nil })...)
	for i, p := range parcels {
		if p != nil {
			errs[i] = p.err
			p.release()
		}
	}
}

// fetch takes a run that is to be archived. There is no parcel where nothing, or nothing more, is to be done.
func (d *Store) fetch(todo persistence.Tidying, m mark) (*parcel, error) {
	p, err := d.find(todo.ID)
	switch {
	case err != nil:
		return nil, err
	case p.folder != "" && todo.Interrupt:
		return nil, fmt.Errorf("live run %s: %w", todo.ID, persistence.ErrNotFound)
	case p.folder != "" && !d.leftover(todo.ID):
		return nil, nil // it is there already
	}
	t, err := d.take(p)
	if err != nil {
		return nil, err
	}
	flat, err := d.ending(t, todo, m)
	if err != nil || flat == nil {
		t.release()
		return nil, err
	}
	return &parcel{taken: t, flat: flat}, nil
}

// ending returns the last state of a run, or nil if it is in the archive.
func (d *Store) ending(t *taken, todo persistence.Tidying, m mark) (*value.Map, error) {
	if t.folder != "" {
		return nil, d.clearLeftovers(t.id)
	}
	l, err := t.load(false)
	if err != nil {
		return nil, err
	}
	switch todo = m.marked(todo, l); {
	case todo.Interrupt && l.status != persistence.Running:
		return nil, fmt.Errorf("running run %s: %w", t.id, persistence.ErrNotFound)
	case !todo.Interrupt && l.status == persistence.Running:
		return nil, fmt.Errorf("run %s has not ended", t.id)
	}
	if todo.Interrupt {
		l.flat.Set("status", string(persistence.Interrupted))
		l.flat.Set("reconciled_at", fsm.FormatTime(todo.At))
		if todo.Why != "" {
			l.flat.Set("reconciled_why", todo.Why)
		}
	} else if l.foreign && !l.status.Resumable() {
		// little-loops copies a run into the archive when it ends.
		dir := archivePlace(filepath.Join(d.history, folderName(persistence.MakeRunID(l.StartedAt), l.Loop)))
		if disk.SameContent(dir.events, t.events, false) && disk.SameContent(dir.state, t.state, false) {
			return nil, d.clear(t.id)
		}
	}
	return lastFlat(l), errors.Join(t.restoreDefinition(l), d.repair(d.live(t.id), l))
}

// lastFlat is the state file of a run that was read from its files and goes to the archive.
func lastFlat(l *loaded) *value.Map {
	flat := l.flat
	flat.Set("run_id", l.runID)
	flat.Set("seq", int64(l.seq))
	flat.Set("journal", l.good)
	flat.Delete("part")
	if l.before > 0 {
		flat.Set("part", int64(l.before))
	}
	flat.Set("phase", string(l.Phase))
	if l.JustRouted {
		flat.Set("just_routed", true)
	}
	if v, _ := flat.Get("updated_at"); v == nil || v == "" {
		flat.Set("updated_at", fsm.FormatTime(time.Now()))
	}
	flat.Delete("pid")
	flat.Delete("owner")
	return flat
}

// spread calls f with 0 to n-1: one after the other where they are few, and otherwise some at once.
func spread(n int, f func(i int)) {
	if n < 16 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
				runtime.Gosched() // a run that this process carries meanwhile has its turn
			}
		})
	}
	wg.Wait()
}
