package project

import (
	"context"
	"iter"
	"os"
	"time"

	"loops/fsm"
	"loops/internal/process"
	"loops/persistence"
)

// How often a follower looks for more, and for whether the run is still running. A look that takes long is
// followed by a rest three times as long.
const (
	followPause = 25 * time.Millisecond
	alivePause  = 100 * time.Millisecond
)

// A Follower reads the history of a run while it grows. It is not safe for concurrent use.
type Follower struct {
	Store *Records
	ID    persistence.ID
	After uint64 // the last event that was read

	// Stderr is called by Follow with what actions write to standard error while they run, and the file that it
	// is in meanwhile, which distinguishes those that run side by side: whole lines, joined by \n, before the
	// event that their action is complete; nil = it is not wanted. It is not called for actions that were over
	// before, or that take less than a moment.
	Stderr func(file, text string)

	track  persistence.Track // of a store that can continue reading where it stopped
	upTo   uint64            // After, when track was used last
	tail   process.StderrTail
	looked os.FileInfo // the file of events when it was read last; nil = not read, or not in files
}

// Follow calls each for every event after f.After, also damaged ones, until the run is not running any more,
// and returns the run as it is then. The error is that of ctx when that ends.
func (f *Follower) Follow(ctx context.Context, r persistence.Run, each func(fsm.Event, error)) (persistence.Run,
	error,
) {
	seen := time.Now()
	defer func() { f.tail.Close(); f.tail.Dir = "" }()
	for {
		// Whether it is running is asked before its events are read, so that none comes after the last look.
		goesOn := Alive(r)
		// it may have ended after r was read
		if !goesOn && (r.Status == persistence.Running || r.Status == persistence.Starting) {
			now, err := f.now(ctx, r)
			if err != nil {
				return r, err
			}
			r, goesOn = now, Alive(now)
		}
		begun := time.Now()
		f.readStderr()
		err := f.Read(ctx, r, !goesOn, each)
		r.Reading = nil // it is of the first look, and takes memory
		if err != nil || !goesOn {
			return r, err
		}
		f.tail.Dir = f.Store.Project.RunDir(f.ID) // what was over before is not asked for
		select {
		case <-ctx.Done():
			return r, context.Cause(ctx)
		case <-time.After(max(followPause, 3*time.Since(begun))):
		}
		if time.Since(seen) < alivePause {
			continue
		}
		seen = time.Now()
		if r.Held && f.Store.Owned(ctx, f.ID) {
			continue // a look at all of the run would read what it records in the middle of an action, each time
		}
		if r, err = f.now(ctx, r); err != nil {
			return r, err
		}
	}
}

// now returns the run as it is on record; r where that is not found any more.
func (f *Follower) now(ctx context.Context, r persistence.Run) (persistence.Run, error) {
	runs, err := f.Store.Runs(ctx, persistence.Query{ID: f.ID})
	if err != nil {
		return r, f.Store.Failed(err)
	}
	if runs = Current(runs); len(runs) > 0 {
		return runs[0], nil
	}
	return r, nil
}

func (f *Follower) readStderr() {
	if f.Stderr != nil && f.tail.Dir != "" {
		f.tail.Read(f.Stderr)
	}
}

// Read calls each for the events that came since the last look. Files that are as they were are not read again, unless
// it is the last look.
func (f *Follower) Read(ctx context.Context, r persistence.Run, last bool, each func(fsm.Event, error)) error {
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
	for e, err := range f.events(ctx, r, last) {
		if err != nil && !IsDamage(err) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return f.Store.Failed(err)
		}
		if err == nil {
			f.After = e.Seq
			switch {
			case e.Kind == fsm.EventStateEnter && e.Depth == 0:
				f.tail.Since = e.Time
			case e.Kind == fsm.EventActionComplete:
				f.readStderr()
			}
		}
		each(e, err)
	}
	f.upTo = f.After
	return nil
}

// events are those behind f.After.
func (f *Follower) events(ctx context.Context, r persistence.Run, last bool) iter.Seq2[fsm.Event, error] {
	if f.track == nil || f.upTo != f.After {
		f.track = f.Store.Track(r, f.After)
	}
	return f.Store.watched(ctx, r.ID, f.After, f.track.Events(ctx, last))
}

// Again has the next Read look at files even if they are as they were: what is recorded of the run has another
// place now.
func (f *Follower) Again() { f.looked = nil }
