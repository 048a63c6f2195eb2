package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/snapshot"
)

const (
	// A whole memory is recorded again when the patches since the last one are longer than this, and longer than four
	// times its size.
	patchesFrom = 64 << 10

	outputDelay, outputSize = 50 * time.Millisecond, 64 << 10 // what output may wait, and how much of it
	groupDelay, groupSize   = 40 * time.Millisecond, 1 << 20  // the same for decisions, to be durable within 50 ms
	keep                    = 4 << 20                         // how much may be saved and not be durable
)

// A journal is a run that this process owns. Record and Close are called by one goroutine, Run and Lost by any.
type journal struct {
	s   *Store
	dir string
	heart
	paths persistence.PathLock // given up by Close

	mu       sync.Mutex // held while something is recorded; guards these
	enc      *snapshot.Encoder
	next     batch     // what waits to be saved, and what is on record of the run
	loose    bool      // something was saved that is not durable
	decided  time.Time // since when there is memory that is not durable, or not saved; zero = there is none
	size     int       // of what waits, in bytes
	kept     int       // of what was saved but could be lost by the database, which is kept to be saved again
	buf      []byte
	seq      uint64 // of the last event, saved or not
	full     int    // length of the last whole memory
	patches  int    // length of the patches since
	known    map[string]bool
	maxSteps int // with which this segment began
	failed   error
	timer    *time.Timer // saves what waits; nil = nothing does
	due      time.Time

	look sync.Mutex // guards run, which others look at while something is recorded
	run  persistence.Run
}

// newJournal makes the journal of a run that this process owns. status is what is recorded.
func (s *Store) newJournal(r *row, status persistence.Status) *journal {
	j := &journal{
		s: s, dir: s.work(r.ID), paths: unlocked{}, run: r.Run, maxSteps: r.MaxSteps, seq: r.seq,
		known: map[string]bool{},
	}
	j.enc = snapshot.NewEncoder(j)
	j.next = batch{
		run: r.n, epoch: r.epoch, from: r.seq, whole: r.whole, status: string(status),
		about: string(appendAbout(nil, &r.Run)),
	}
	j.heart = heart{lost: make(chan struct{})}
	return j
}

// Dir implements [persistence.Journal].
func (j *journal) Dir() string { return j.dir }

// Run implements [persistence.Journal].
func (j *journal) Run() persistence.Run {
	j.look.Lock()
	defer j.look.Unlock()
	return j.run
}

// Epoch implements [persistence.Journal].
func (j *journal) Epoch() int64 { return j.next.epoch }

// Put implements [snapshot.Texts] for the encoder: a large text is saved with what names it.
func (j *journal) Put(name, text string) error {
	if !j.known[name] {
		j.known[name] = true
		j.next.texts = append(j.next.texts, textRow{j.seq, name, text})
		j.size += len(text)
	}
	return nil
}

// Removed implements [persistence.Journal].
func (j *journal) Removed() bool { return errors.Is(j.s.d.there(), persistence.ErrRemoved) }

// Get implements [snapshot.Texts]. An encoder asks for none.
func (j *journal) Get(string) ([]byte, error) { return nil, errors.ErrUnsupported }

// Record implements [fsm.Recorder].
func (j *journal) Record(ctx context.Context, b *fsm.Batch) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return j.failed
	}
	if b.Snapshot != nil && len(b.Events) == 0 {
		b.Events = []fsm.Event{{Kind: fsm.EventCheckpoint, Time: time.Now()}} // memory needs an event to stand on
	}
	for i := range b.Events {
		j.seq++
		b.Events[i].Seq = j.seq
		j.buf = snapshot.AppendSum(b.Events[i].AppendJSON(j.buf[:0]), 0)
		j.next.events = append(j.next.events, eventRow{j.seq, string(j.buf)})
		j.size += len(j.buf)
	}
	if b.Snapshot != nil {
		if err := j.remember(b.Snapshot); err != nil {
			return j.fail(err)
		}
	}
	switch {
	case b.Checkpoint || carriesResult(b):
		j.next.durable = j.s.Durability != persistence.None
		return j.save(ctx)
	case b.Snapshot != nil:
		if j.decided.IsZero() {
			j.decided = time.Now()
		}
		if j.s.Durability == persistence.Strict {
			return j.save(ctx)
		}
		return j.later(ctx, groupDelay, groupSize)
	}
	return j.later(ctx, outputDelay, outputSize)
}

// carriesResult reports whether a batch is the first with an action's result, which is never at risk.
func carriesResult(b *fsm.Batch) bool {
	return b.Snapshot != nil && slices.ContainsFunc(b.Events, func(e fsm.Event) bool {
		return e.Kind == fsm.EventActionComplete
	})
}

// remember adds a memory to what waits.
func (j *journal) remember(m *fsm.Snapshot) error {
	row := memoryRow{seq: j.seq}
	if j.next.whole > 0 {
		b, err := j.enc.Patch(m)
		if err != nil {
			return err
		}
		row.patch = text(snapshot.AppendSum(b, 0))
		j.patches += len(b)
		j.size += len(b)
	}
	if row.patch == nil || j.patches > patchesFrom && j.patches > 4*j.full {
		b, err := j.enc.Whole(m)
		if err != nil {
			return err
		}
		row.whole = text(snapshot.AppendSum(b, 0))
		j.full, j.patches = len(b), 0
		j.size += len(b)
		j.next.whole = j.seq
	}
	j.next.memory = append(j.next.memory, row)
	j.look.Lock()
	defer j.look.Unlock()
	learn(&j.run, m)
	j.run.MaxSteps = persistence.MaxSteps(j.maxSteps, j.run.Segment, m)
	j.run.Status, j.run.Archived, j.run.UpdatedAt = persistence.Running, false, time.Now()
	if m.Outcome != nil {
		j.run.Status = persistence.StatusOf(*m.Outcome)
	}
	j.next.status = string(j.run.Status)
	j.buf = appendAbout(j.buf[:0], &j.run)
	j.next.about = string(j.buf)
	return nil
}

func text(b []byte) *string {
	s := string(b)
	return &s
}

// later saves in a while, or now if much waits.
func (j *journal) later(ctx context.Context, delay time.Duration, size int) error {
	if j.size >= size {
		j.next.durable = j.overdue()
		return j.save(ctx)
	}
	if j.seq > j.next.from {
		j.arm(time.Now().Add(delay))
	}
	return nil
}

// arm saves what waits, and makes decisions durable, at a time or before.
func (j *journal) arm(at time.Time) {
	if j.timer == nil {
		j.due, j.timer = at, time.AfterFunc(time.Until(at), j.fire)
	} else if at.Before(j.due) {
		j.due = at
		j.timer.Reset(time.Until(at))
	}
}

// overdue reports whether the next save is to be durable although nothing waits for it: because of a decision.
func (j *journal) overdue() bool {
	return j.s.Durability != persistence.None && !j.decided.IsZero() && time.Since(j.decided) >= groupDelay
}

// fire saves what waits because the time for it has come.
func (j *journal) fire() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed == nil && j.timer != nil {
		j.next.durable = j.overdue()
		_ = j.save(context.Background()) // the next Record says so
	}
}

// flush saves what waits because a user wants to read it.
func (j *journal) flush() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed == nil && j.timer != nil {
		_ = j.save(context.Background()) // the next Record says so
	}
}

// save saves what waits.
func (j *journal) save(ctx context.Context) error {
	if j.timer != nil {
		j.timer.Stop()
		j.timer = nil
	}
	b := &j.next
	b.to = j.seq
	b.durable = b.durable || j.kept+j.size > keep && j.s.Durability != persistence.None
	if b.to > b.from || b.durable && j.loose {
		if err := j.s.save(ctx, j.run.ID, b); err != nil {
			return j.fail(err)
		}
		j.loose, j.kept, j.size = !b.durable, j.kept+j.size, 0
		if b.durable || j.s.Durability == persistence.None {
			j.decided = time.Time{}
		}
		if b.durable || !j.s.d.remote() || j.s.Durability == persistence.None {
			b.events, b.memory, b.texts, j.kept = reuse(b.events), reuse(b.memory), reuse(b.texts), 0
		}
		b.from = b.to
	}
	b.durable = false
	if !j.decided.IsZero() {
		j.arm(j.decided.Add(groupDelay))
	}
	return nil
}

func reuse[T any](l []T) []T {
	clear(l)
	return l[:0]
}

// fail makes the journal refuse everything from now on.
func (j *journal) fail(err error) error {
	j.failed = fmt.Errorf("the run could not be recorded and stops: %w", err)
	return j.failed
}

// Close implements [persistence.Journal]. The paths are released last: no process begins on them before that.
func (j *journal) Close(ctx context.Context) error {
	j.stop()
	err := j.close(ctx)
	if e := j.paths.Unlock(); e != nil && err == nil {
		err = &persistence.LeftoverError{ID: j.run.ID, Err: e}
	}
	return err
}

// close removes the owner from the database.
func (j *journal) close(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.s.owned.CompareAndDelete(j.run.ID, j)
	ctx = context.WithoutCancel(ctx)
	if j.failed == nil {
		j.next.durable = j.s.Durability != persistence.None && !j.decided.IsZero()
		if err := j.save(ctx); err != nil {
			return errors.Join(err, j.s.release(ctx, j.next.run, j.next.epoch))
		}
	}
	j.look.Lock()
	j.run.Owner, j.run.Held = persistence.Owner{}, false
	j.look.Unlock()
	switch {
	case j.next.from == 0: // nothing is on record, unless the database did what it said it could not
		forgotten, err := j.s.forget(ctx, j.next.run, j.next.epoch)
		if forgotten {
			return errors.Join(err, os.RemoveAll(j.dir))
		}
		return errors.Join(err, j.s.release(ctx, j.next.run, j.next.epoch))
	case j.failed != nil:
		return j.s.release(ctx, j.next.run, j.next.epoch)
	case j.enc.Last().Outcome == nil:
		if err := j.s.release(ctx, j.next.run, j.next.epoch); err != nil {
			return &persistence.LeftoverError{ID: j.run.ID, Err: err}
		}
		return nil
	}
	if err := j.s.finish(ctx, j.run.ID, j.next.run, j.next.epoch); err != nil {
		return &persistence.ArchiveError{ID: j.run.ID, Err: err}
	}
	j.look.Lock()
	j.run.Archived = true
	j.look.Unlock()
	return nil
}
