package cli

import (
	"context"
	"os"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
)

// How often a follower looks for more, and for whether the run still goes on. A look that takes long is followed by a
// rest three times as long.
const (
	followPause = 25 * time.Millisecond
	alivePause  = 100 * time.Millisecond
)

// A follower reads the history of a run while it grows.
type follower struct {
	store *project.Records
	id    persistence.ID
	after uint64 // the last event that was read

	looked os.FileInfo // the file of events when it was read last; nil = not read, or not in files
}

// follow calls each for every event after f.after, also damaged ones, until the run goes on no more, and returns the
// run as it is then. The error is that of ctx when that ends.
func (f *follower) follow(ctx context.Context, r persistence.Run, each func(fsm.Event, error)) (persistence.Run, error) {
	seen := time.Now()
	for {
		// Whether it goes on is asked before its events are read, so that none comes after the last look.
		goesOn := project.Alive(r)
		begun := time.Now()
		if err := f.read(ctx, r, !goesOn, each); err != nil || !goesOn {
			return r, err
		}
		select {
		case <-ctx.Done():
			return r, context.Cause(ctx)
		case <-time.After(max(followPause, 3*time.Since(begun))):
		}
		if time.Since(seen) < alivePause {
			continue
		}
		seen = time.Now()
		now, err := f.store.Runs(ctx, persistence.Query{ID: f.id})
		if err != nil {
			return r, f.store.Failed(err)
		}
		if now = project.Current(now); len(now) > 0 {
			r = now[0]
		}
	}
}

// read calls each for the events that came since the last look. Files that are as they were are not read again, unless
// it is the last look.
func (f *follower) read(ctx context.Context, r persistence.Run, last bool, each func(fsm.Event, error)) error {
	if r.Events != "" {
		info, err := os.Stat(r.Events)
		if err == nil && !last && f.looked != nil && os.SameFile(info, f.looked) && info.Size() == f.looked.Size() {
			return nil
		}
		f.looked = nil
		if err == nil {
			f.looked = info
		}
	}
	for e, err := range f.store.Events(ctx, f.id, f.after) {
		if err != nil && !project.IsDamage(err) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return f.store.Failed(err)
		}
		if err == nil {
			f.after = e.Seq
		}
		each(e, err)
	}
	return nil
}
