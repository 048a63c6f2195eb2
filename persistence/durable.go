package persistence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"loops/fsm"
	"loops/internal/disk"
)

// A Durability says when what a run records can no longer be lost with the power. The death of the process loses
// nothing of a Dir in any of them: Record has handed all of it to the system when it returns. A database is handed the
// decisions of 40 ms together where they are Grouped or None, and so loses those; checkpoints and results it has at once.
type Durability int

const (
	// Strict is the default: what Record took at a checkpoint (before an action, before a wait, at the end), and whatever carries an
	// action's result, is durable when Record returns. Decisions in between are durable with the next of these, or
	// about 50 ms later, in every store.
	Strict Durability = iota
	// Grouped saves syncs: what carries an action's result, and the end of the run, is durable when Record returns. All else,
	// decisions and that an action was started, is durable about 50 ms later. So after the loss of power at most the
	// decisions of 50 ms are made again, and an action that had just been started then is started as if it never was.
	// A database makes every checkpoint durable here too: it costs the one commit that a checkpoint is in any case.
	Grouped
	// None makes nothing durable. It is for tests, and for runs that nobody needs after a loss of power.
	None
)

// durabilities are the names, in the order of the constants.
var durabilities = []string{"strict", "grouped", "none"}

// ParseDurability reads strict, grouped or none.
func ParseDurability(name string) (Durability, error) {
	if i := slices.Index(durabilities, name); i >= 0 {
		return Durability(i), nil
	}
	return Strict, fmt.Errorf("durability %q is none: it is strict, grouped or none", name)
}

// String returns strict, grouped or none.
func (d Durability) String() string {
	if d < 0 || int(d) >= len(durabilities) {
		return fmt.Sprintf("Durability(%d)", int(d))
	}
	return durabilities[d]
}

// now says whether a batch must be durable before Record returns.
func (d Durability) now(b *fsm.Batch) bool {
	switch {
	case d == None:
		return false
	case b.Checkpoint && d == Strict, b.Snapshot != nil && b.Snapshot.Outcome != nil:
		return true
	}
	return slices.ContainsFunc(b.Events, func(e fsm.Event) bool { return e.Kind == fsm.EventActionComplete })
}

// groupDelay is how long after it was recorded a decision begins to be made durable. The disk needs the rest of the 50 ms.
const groupDelay = 40 * time.Millisecond

// A syncer makes the newest file of a journal durable: when it is told to, or soon. It is used by one goroutine; its
// timer has one of its own, which stop waits for.
type syncer struct {
	d     *Dir
	timer *time.Timer
	armed atomic.Bool // the timer runs
	spoil atomic.Bool // err is set

	mu    sync.Mutex // held while the file is made durable; guards the rest
	file  *os.File   // nil: there is none, or no more
	named bool       // the name of the file is durable
	err   error      // of the timer
}

// use begins with another file. Its name is not durable.
func (s *syncer) use(f *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file, s.named = f, false
}

// now makes what was written durable.
func (s *syncer) now() error {
	if s.armed.Load() && s.timer.Stop() {
		s.armed.Store(false)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sync()
}

// soon does so a little later, unless that is about to happen.
func (s *syncer) soon() {
	if s.d.Durability == None || s.armed.Swap(true) {
		return
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(groupDelay, s.fire)
		return
	}
	s.timer.Reset(groupDelay)
}

func (s *syncer) fire() {
	s.armed.Store(false) // what is written from here on needs another turn
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil || s.err != nil {
		return
	}
	if err := s.sync(); err != nil {
		s.err = err
		s.spoil.Store(true)
	}
}

// failed returns what went wrong when nobody waited.
func (s *syncer) failed() error {
	if !s.spoil.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// stop ends the use of the file. When it returns, nothing is being made durable.
func (s *syncer) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file = nil
}

// sync is called with mu held.
func (s *syncer) sync() error {
	if disk.Unlinked(s.file) {
		return &os.PathError{Op: "write", Path: s.file.Name(), Err: ErrRemoved}
	}
	if err := s.d.syncData(s.file); err != nil {
		return err
	}
	if s.named {
		return nil
	}
	if err := s.d.syncDir(filepath.Dir(s.file.Name())); err != nil {
		return err
	}
	s.named = true
	return nil
}

// syncData makes what was written to a file durable, without its times.
func (d *Dir) syncData(f *os.File) error {
	if skip, err := d.skipSync(f.Name()); skip {
		return err
	}
	return disk.SyncData(f)
}

// syncFile makes a file durable, but for its name.
func (d *Dir) syncFile(f *os.File) error {
	if skip, err := d.skipSync(f.Name()); skip {
		return err
	}
	return f.Sync()
}

// syncDir makes the names in a folder durable.
func (d *Dir) syncDir(path string) error {
	if skip, err := d.skipSync(path); skip {
		return err
	}
	f, err := disk.OpenFolder(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncAll makes everything durable that was written on the file system of a folder.
func (d *Dir) syncAll(path string) error {
	if skip, err := d.skipSync(path); skip {
		return err
	}
	return disk.SyncFileSystem(path)
}

func (d *Dir) skipSync(path string) (bool, error) {
	if d.Durability == None {
		return true, nil
	}
	if d.synced == nil {
		return false, nil
	}
	err := d.synced(path)
	return err != nil, err
}

// writeSynced makes a file with this content, durable but for its name.
func (d *Dir) writeSynced(path string, data []byte) error {
	f, err := disk.Open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = d.syncFile(f)
	}
	return errors.Join(err, f.Close())
}
