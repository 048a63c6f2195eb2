package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/process"
	"loops/persistence"
)

// NewestRuns is among how many of the newest runs list --running looks for those that can be resumed.
const NewestRuns = 200

// OpenRuns returns the runs that are running or queued for workers, however old, and those among the newest that
// can be resumed.
func OpenRuns(ctx context.Context, store *project.Records) ([]persistence.Run, error) {
	runs, err := store.Runs(ctx, persistence.Query{Limit: NewestRuns, LiveToo: true, Open: true, Readings: true})
	if err != nil {
		return nil, store.Failed(err)
	}
	return slices.DeleteFunc(project.Current(runs), func(r persistence.Run) bool {
		return !project.Alive(r) && !r.Resumable && !r.Unowned && r.Status != persistence.Queued
	}), nil
}

// Glimpse finds out what a list of runs shows: what a running run waits for, and when it was heard of last.
func Glimpse(ctx context.Context, f project.Finder, r persistence.Run) *inspect.Status {
	v := &inspect.Status{Run: r, Now: time.Now(), Alive: project.Alive(r)}
	KeepUnread(f, v, r.Unread)
	if at, paused := f.Store.PausedSince(ctx, r); paused && r.Resumable {
		v.PausedAt = at
	}
	if !v.Alive {
		return v
	}
	v.Stderr = process.Heard(f.Project.RunDir(r.ID))
	if m := SnapshotOf(ctx, f, v); m != nil {
		v.Memory, v.Wait = m, m.Waiting()
	}
	LookBack(ctx, f, v, func(e fsm.Event) bool {
		v.Glance.Add(e)
		return false
	})
	return v
}

// SnapshotOf returns the memory of a run, nil where there is none to show. Damage is reported with the run.
func SnapshotOf(ctx context.Context, f project.Finder, v *inspect.Status) *fsm.Snapshot {
	m, err := f.Store.MemoryOf(ctx, v.Run)
	KeepUnread(f, v, err)
	return m
}

// LookBack gives the newest events of a run, until each wants no more.
func LookBack(ctx context.Context, f project.Finder, v *inspect.Status, each func(fsm.Event) bool) {
	KeepUnread(f, v, f.Store.Newest(ctx, v.Run.ID, each))
}

// KeepUnread keeps the first error of reading a run. Damage, and a run that was removed meanwhile, are no errors.
func KeepUnread(f project.Finder, v *inspect.Status, err error) {
	if err != nil && v.Unread == nil && !project.IsDamage(err) && !errors.Is(err, persistence.ErrNotFound) {
		v.Unread = f.Store.Failed(err)
	}
}
