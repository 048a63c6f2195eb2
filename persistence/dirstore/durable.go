package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
)

// durableNow reports whether a batch must be durable before Record returns.
func durableNow(d persistence.Durability, b *fsm.Batch) bool {
	switch {
	case d == persistence.None:
		return false
	case b.Checkpoint && d == persistence.Strict, b.Snapshot != nil && b.Snapshot.Outcome != nil:
		return true
	}
	return !b.Written && slices.ContainsFunc(b.Events, func(e fsm.Event) bool {
		return e.Kind == fsm.EventActionComplete || e.Kind == fsm.EventItemEnd
	})
}

// groupDelay is how long after it was recorded a decision begins to be made durable. The disk needs the rest of
// the 50 ms.
const groupDelay = 40 * time.Millisecond

// A syncer makes the newest file of a journal durable: when it is asked to, or soon. It is used by one goroutine; its
// timer has one of its own, which stop waits for.
type syncer struct {
	d     *Store
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
	if s.d.Durability == persistence.None || s.armed.Swap(true) {
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
	_ = s.beside()       // failed returns it
}

// beside makes what was written durable while more is written. Whatever is written after an error is refused.
func (s *syncer) beside() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil || s.err != nil {
		return s.err
	}
	if s.err = s.sync(); s.err != nil {
		s.spoil.Store(true)
	}
	return s.err
}

// failed returns what went wrong while no caller waited.
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
		return &os.PathError{Op: "write", Path: s.file.Name(), Err: persistence.ErrRemoved}
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
func (d *Store) syncData(f *os.File) error {
	if skip, err := d.skipSync(f.Name()); skip {
		return err
	}
	return disk.SyncData(f)
}

// syncFile makes a file durable, but for its name.
func (d *Store) syncFile(f *os.File) error {
	if skip, err := d.skipSync(f.Name()); skip {
		return err
	}
	return f.Sync()
}

// syncDir makes the names in a folder durable.
func (d *Store) syncDir(path string) error {
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
func (d *Store) syncAll(path string) error {
	if skip, err := d.skipSync(path); skip {
		return err
	}
	return disk.SyncFileSystem(path)
}

func (d *Store) skipSync(path string) (bool, error) {
	if d.Durability == persistence.None {
		return true, nil
	}
	if d.synced == nil {
		return false, nil
	}
	err := d.synced(path)
	return err != nil, err
}

// writeSynced makes a file with this content, durable but for its name.
func (d *Store) writeSynced(path string, data []byte) error {
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
