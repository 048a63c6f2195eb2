package dirstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
	"loops/persistence/snapshot"
)

// lookEvery is how often it is looked whether the journal still has its name, while states are written.
const lookEvery = 100 * time.Millisecond

// burst is how far state.json may lag after the journal while decisions follow each other quickly.
const burst = 5 * time.Millisecond

// A whole memory is written to the journal again when the patches since the last one are longer than this, and
// longer than four times its size.
const patchesFrom = 256 << 10

// A journal is the run of a Dir that this process owns. Record and Close are called by one goroutine; Run by any.
type journal struct {
	writing sync.Mutex // held by Record, Close and the timer of view; guards all that mu does not

	d     *Store
	id    persistence.ID
	files livePaths
	work  string
	lock  *os.File // its flock says that we live

	events   *os.File       // the newest part; nil before the first Record
	identity syscall.Stat_t // of it
	beside   stateFile      // state.json, where the first of them lies
	lag      lag            // of state.json
	looked   time.Time      // when the journal was seen to have its name
	offset   int64          // its length
	before   uint64         // number of the last event before it
	seq      uint64
	known    bool // there is a memory on record
	created  bool // made by Create, and nothing was recorded yet
	resumed  bool // taken over, and nothing was recorded yet
	dirty    bool // bytes that may not be durable
	sync     syncer
	failed   error
	view     error // why state.json does not say how the run ended, which is recorded
	enc      *snapshot.Writer
	state    *snapshot.Writer
	blobs    *blobs
	pretty   []byte
	full     int64 // length of the last whole memory; 0 = none in this part and segment
	patches  int64 // length of the patches since
	anew     bool  // the next memory is a whole one, whatever the patches are
	written  time.Time

	mu     sync.Mutex
	rec    record // guarded by mu; Snapshot is a copy that no one else changes
	damage []string
}

// Lost implements [persistence.Journal]: the lock lasts as long as this process.
func (j *journal) Lost() <-chan struct{} { return nil }

// Epoch implements [persistence.Journal]: no owner can be alive beside the one with the lock.
func (j *journal) Epoch() int64 { return 0 }

// Removed implements [persistence.Journal]: the lock file is there for as long as the run has an owner.
func (j *journal) Removed() bool { return disk.Unlinked(j.lock) }

func (j *journal) init() {
	b := &blobs{d: j.d, dir: filepath.Join(j.Dir(), "blobs"), there: j.there}
	j.sync.d = j.d
	if j.events != nil {
		j.use(j.events)
	}
	j.blobs = b
	j.enc, j.state = snapshot.NewWriter(b), snapshot.NewWriter(b)
	j.state.Brief = true
	j.state.Remembers()
}

// Dir implements [Journal].
func (j *journal) Dir() string { return j.work }

// Run implements [Journal].
func (j *journal) Run() persistence.Run {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.d.livePlace(j.id).run(&loaded{record: &j.rec, damage: j.damage})
	r.Held = true
	return r
}

// Record implements [fsm.Recorder].
func (j *journal) Record(ctx context.Context, b *fsm.Batch) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.failed != nil {
		return j.failed
	}
	if err := j.record(b); err != nil {
		j.failed = fmt.Errorf("the run could not be recorded and stops: %w", err)
		return j.failed
	}
	return nil
}

func (j *journal) record(b *fsm.Batch) error {
	if err := j.sync.failed(); err != nil {
		return err
	}
	part := j.rec.part
	if err := j.ready(); err != nil {
		return err
	}
	if b.Snapshot != nil && len(b.Events) == 0 {
		b.Events = []fsm.Event{{Kind: fsm.EventCheckpoint, Time: time.Now()}} // memory needs a line to stand on
	}
	if len(b.Events) > 0 {
		if err := j.append(b); err != nil {
			return err
		}
	}
	if err := j.keep(b); err != nil {
		return err
	}
	if b.Snapshot == nil && j.rec.part == part {
		return nil
	}
	now := time.Now()
	ended := b.Snapshot != nil && b.Snapshot.Outcome != nil
	if b.Checkpoint || j.rec.part > part || ended || now.Sub(j.written) >= burst {
		j.mu.Lock()
		j.rec.updated = now
		j.mu.Unlock()
		if !ended && j.rec.part == part && j.lags(b.Checkpoint) {
			if b.Checkpoint {
				return j.look(now)
			}
			return nil
		}
		err := j.writeState(now)
		switch {
		case ended && !errors.Is(err, persistence.ErrRemoved):
			j.view = err // the end is recorded: what a view of it lacks does not change how the run ended
			return nil
		case !b.Checkpoint && !errors.Is(err, persistence.ErrRemoved):
			return nil // the journal has it, so nothing is lost; before anything else is done it is an error
		}
		return err
	}
	return nil
}

// ready makes sure that there is an event file with room in it.
func (j *journal) ready() error {
	if j.events != nil {
		if j.offset >= j.d.partSize() && j.known {
			return j.rotate()
		}
		return nil
	}
	f, err := disk.Open(j.files.events, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	j.use(f)
	return nil
}

// Sync implements [fsm.Syncer].
func (j *journal) Sync(context.Context) error { return j.sync.beside() }

// keep makes what was recorded durable, now or soon.
func (j *journal) keep(b *fsm.Batch) error {
	if !j.dirty {
		return nil
	}
	switch {
	case durableNow(j.d.Durability, b):
		if err := j.sync.now(); err != nil {
			return err
		}
		j.dirty = false
	case b.Snapshot != nil || b.Checkpoint:
		j.sync.soon()
	}
	return nil
}

// use continues with another file as the newest part.
func (j *journal) use(f *os.File) {
	j.events, j.identity = f, syscall.Stat_t{}
	_ = syscall.Fstat(int(f.Fd()), &j.identity) // there finds no such file then
	j.sync.use(f)
	j.d.seen.stay(j.files.commands)
	if j.beside.folder == nil {
		j.beside = openStateFile(j.files, &j.identity)
	}
}

// there is [fsm.ErrMoved] or [ErrRemoved] if the journal does not have its name any more. Then files beside it would be
// written to a folder that is not the run's.
func (j *journal) there() error {
	var now syscall.Stat_t
	if syscall.Lstat(j.files.events, &now) == nil && now.Ino == j.identity.Ino && now.Dev == j.identity.Dev {
		return nil
	}
	why := persistence.ErrRemoved
	if !disk.Unlinked(j.events) {
		why = persistence.Moved(j.events.Fd())
	}
	return &os.PathError{Op: "write", Path: j.files.events, Err: why}
}

// append adds a batch to the journal with one write.
func (j *journal) append(b *fsm.Batch) error {
	e := j.enc
	e.Buf, e.Err = e.Buf[:0], nil
	outputOnly, full, size := true, false, int64(0)
	sum := snapshot.AppendSum
	if j.full == 0 {
		sum = snapshot.AppendFirstSum
	}
	for i := range b.Events {
		j.seq++
		b.Events[i].Seq = j.seq
		start := len(e.Buf)
		e.Buf = b.Events[i].AppendJSON(e.Buf)
		outputOnly = outputOnly && b.Events[i].Kind == fsm.EventActionOutput
		if i == len(b.Events)-1 && (b.Snapshot != nil || !outputOnly || j.offset == 0 && j.known) {
			e.Buf = e.Buf[:len(e.Buf)-len("}")]
			mark := len(e.Buf)
			j.mu.Lock()
			full = j.memory(b.Snapshot)
			j.mu.Unlock()
			size = int64(len(e.Buf) - mark)
			e.Buf = append(e.Buf, '}')
		}
		e.Buf = append(sum(e.Buf, start), '\n')
		sum = snapshot.AppendSum
		if n := len(e.Buf) - start; n > segment.MostLine && e.Err == nil {
			e.Err = fmt.Errorf("%s: the event %s of state %q needs a line of %d bytes, and %d can be read again: "+
				"let its action leave less text, or write it to a file",
				j.files.events, b.Events[i].Kind, stateOf(b), n, segment.MostLine)
		}
	}
	if e.Err != nil {
		return e.Err
	}
	if _, err := j.events.Write(e.Buf); err != nil {
		_ = j.events.Truncate(j.offset) // a part of it may be there; readers would cut it, too
		return err
	}
	if full {
		j.state.Whole = j.offset
	}
	j.offset += int64(len(e.Buf))
	j.lag.added += int64(len(e.Buf))
	j.dirty, j.created, j.resumed = true, false, false
	if full {
		j.full, j.patches, j.anew = size, 0, false
	} else {
		j.patches += size
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rec.seq, j.rec.journal = j.seq, j.offset
	if s := b.Snapshot; s != nil {
		j.known = true
		snapshot.Remember(&j.rec.Snapshot, s)
		j.rec.status = persistence.Running
		if s.Outcome != nil {
			j.rec.status = persistence.StatusOf(*s.Outcome)
		}
	}
	return nil
}

// stateOf returns the state that a batch is about, as far as it has one.
func stateOf(b *fsm.Batch) string {
	if b.Snapshot == nil {
		return ""
	}
	return b.Snapshot.Current
}

// memory writes the last key of a batch: what changed in the machine's memory, or all of it. A part begins with all of
// it, whatever its first batch is.
func (j *journal) memory(s *fsm.Snapshot) (full bool) {
	e := j.enc
	if s == nil {
		s = &j.rec.Snapshot
		if j.offset > 0 || !j.known { // not output, but without memory: the batch is whole all the same
			e.Buf = append(e.Buf, `, "memory": {}`...)
			return false
		}
	}
	if j.full == 0 || j.anew || j.patches > patchesFrom && j.patches > 4*j.full {
		e.Buf = append(e.Buf, `, "memory_full": `...)
		appendFlat(e, &j.rec, s, true)
		return true
	}
	e.Buf = append(e.Buf, `, "memory": `...)
	e.Patch(s, &j.rec.Snapshot)
	return false
}

// Close implements [Journal].
func (j *journal) Close(ctx context.Context) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.lag.close()
	j.d.seen.leave(j.files.commands)
	if j.events == nil {
		j.abandon()
		return nil
	}
	if j.failed != nil {
		j.sync.stop()
		err := j.events.Close()
		if j.created { // not even the beginning is on record
			err = errors.Join(err, disk.Remove(j.files.events, j.files.state))
			j.abandon()
			return err
		}
		return errors.Join(err, j.letGo())
	}
	err := j.sync.failed()
	if j.dirty && err == nil {
		err = j.sync.now()
	}
	j.sync.stop()
	if err = errors.Join(err, j.events.Close()); err != nil {
		return errors.Join(err, j.letGo())
	}
	if j.resumed && j.rec.Outcome == nil {
		return j.leftOver(j.letGo()) // the files are as they were
	}
	j.mu.Lock()
	j.rec.owner = persistence.Owner{}
	j.mu.Unlock()
	if j.rec.Outcome == nil {
		return j.leftOver(errors.Join(j.writeState(time.Now()), j.letGo()))
	}
	e := snapshot.NewWriter(j.blobs)
	e.Brief, e.Whole = true, j.state.Whole
	appendFlat(e, &j.rec, &j.rec.Snapshot, false)
	flat, err := snapshot.Parse(e.Buf)
	if err = errors.Join(err, e.Err, j.there()); err == nil {
		p := &parcel{taken: &taken{place: j.d.livePlace(j.id), d: j.d, lock: j.lock, durable: true}, flat: flat}
		j.d.archive(p)
		err = p.err
	}
	if err != nil {
		err = &persistence.ArchiveError{ID: j.id, Err: errors.Join(j.view, err)}
	}
	return errors.Join(err, j.leftOver(j.letGo()))
}

// leftOver makes the error of a run that is recorded whole of one about the files beside its journal.
func (j *journal) leftOver(err error) error {
	if err == nil {
		return nil
	}
	return &persistence.LeftoverError{ID: j.id, Err: err}
}

// letGo removes what says that we own the run, the lock last.
func (j *journal) letGo() error {
	j.beside.close()
	_ = os.Remove(j.files.state + ".tmp")
	err := disk.Remove(j.files.pid, j.files.lock)
	return errors.Join(err, disk.Release(j.lock))
}

// abandon undoes Create.
func (j *journal) abandon() {
	if j.created {
		_ = os.RemoveAll(j.Dir())
	}
	_ = j.letGo()
}
