package dirstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

// A scopeLock is the content of a .lock file. The first five keys are those of little-loops.
type scopeLock struct {
	Loop      string   `json:"loop_name"`
	Scope     []string `json:"scope"`
	PID       int      `json:"pid"`
	StartedAt string   `json:"started_at"`
	Singleton bool     `json:"singleton,omitempty"`
	Fork      bool     `json:"fork,omitempty"` // the working folder may be filled before anything is recorded

	Flock bool   `json:"flock,omitempty"` // the owner holds flock on this file as long as it lives
	Host  string `json:"host,omitempty"`
	Boot  string `json:"boot,omitempty"`
	PIDNS int64  `json:"pid_ns,omitempty"`
	Start int64  `json:"start,omitempty"`

	Segment int `json:"segment,omitempty"` // of the run; its record says so only when the owner recorded something

	Run  persistence.ID `json:"run,omitempty"`  // which run of another store has the lock; "" = not known yet
	Mark string         `json:"mark,omitempty"` // of where the run is recorded
	// where that run is recorded; "" = it is one of this store, and the file has its name
	Store string `json:"store,omitempty"`
}

func (l scopeLock) owner() persistence.Owner {
	return persistence.Owner{Host: l.Host, Boot: l.Boot, PIDNS: l.PIDNS, PID: l.PID, Start: l.Start}
}

func (l scopeLock) since() time.Time {
	t, _ := time.Parse(time.RFC3339Nano, l.StartedAt)
	return t
}

func readLock(path string) (scopeLock, error) {
	b, err := disk.Read(path)
	return parseLock(path, b, err)
}

// probeLock is readLock that also reports whether a live process holds the flock of the file. What is in one
// that no process holds need not be read.
func probeLock(path string, heldOnly bool) (l scopeLock, held bool, err error) {
	b, held, err := disk.ReadLock(path, heldOnly)
	if err == nil && heldOnly && !held {
		return l, held, nil
	}
	l, err = parseLock(path, b, err)
	return l, held, err
}

func parseLock(path string, b []byte, err error) (l scopeLock, _ error) {
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return scopeLock{}, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// patience is how long exclusive waits. Others hold the lock for milliseconds, unless they were stopped just then.
const patience = 30 * time.Second

// exclusive runs f while no other process (of either tool) looks for or makes scope locks. It gives up with ErrBusy.
func (d *Store) exclusive(ctx context.Context, f func() error) error {
	if err := d.folder(d.running); err != nil {
		return err
	}
	return disk.WhileLocked(ctx, filepath.Join(d.running, ".acquire.lock"), cmp.Or(d.patience, patience), f)
}

// Owned reports whether a live process of this program owns a run, also one that has not recorded anything yet.
// It costs next to nothing.
func (d *Store) Owned(id persistence.ID) bool { return id.Valid() && disk.Held(d.live(id).lock) }

// LockInfo describes the lock file of a run, which its owner has open as long as it lives.
func (d *Store) LockInfo(id persistence.ID) (fs.FileInfo, error) { return os.Stat(d.live(id).lock) }

// mostProbed is how often claim tries again because a prober has the lock, every two milliseconds.
const mostProbed = 5000

// claim makes this process the owner of a run: it opens the lock file, which it makes if need be, and takes its
// flock, which lasts until the file is closed or the process dies. Called within exclusive.
func (d *Store) claim(id persistence.ID) (*os.File, error) {
	path := d.live(id).lock
	if err := d.folder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	for try, probed := 0, 0; ; try++ {
		f, err := disk.Open(path, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, err
		}
		err = disk.Flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			// The last owner may have removed the file between our open and our lock.
			a, e1 := f.Stat()
			b, e2 := os.Lstat(path)
			if e1 == nil && e2 == nil && os.SameFile(a, b) {
				return f, nil
			}
		}
		if errors.Is(err, syscall.EWOULDBLOCK) && probed < mostProbed &&
			disk.Flock(f, syscall.LOCK_SH|syscall.LOCK_NB) == nil {
			probed++
			try-- // only a prober has it, which releases it as soon as it is scheduled
		}
		_ = disk.Release(f)
		switch {
		case err != nil && !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, &os.PathError{Op: "flock", Path: path, Err: err}
		case try >= 25:
			l, _ := readLock(path)
			return nil, &persistence.HeldError{ID: id, Owner: l.owner()}
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// own writes the owner of the run and what it locks into the files that say so.
func (d *Store) own(lock *os.File, id persistence.ID, segment int, spec persistence.Spec, scope []string) error {
	l := contentOf(spec, scope)
	l.Fork, l.Segment = spec.Origin != nil, segment
	if err := writeLock(lock, l); err != nil {
		return err
	}
	return disk.Write(d.live(id).pid, strconv.AppendInt(nil, int64(spec.Owner.PID), 10))
}

// filesLocation names a store in files, for those of other stores.
const filesLocation = "dir"

// mostDiscarded is of how many runs that died the locks are removed while another wants to begin.
const mostDiscarded = 16

// conflict looks for a live run whose scope overlaps, for the run self of the store at a location; "" = this
// one. Locks of dead runs are removed. Called within exclusive.
func (d *Store) conflict(self persistence.ID, location string, spec persistence.Spec, scope []string) error {
	if len(scope) == 0 && !spec.Singleton && spec.Origin == nil {
		return nil
	}
	names, err := d.locks("")
	if err != nil {
		return err
	}
	probes := d.probeAll(names)
	dead := 0
	for i, name := range names {
		stem := strings.TrimSuffix(name, ".lock")
		if location == "" && persistence.ID(stem) == self {
			continue
		}
		path := filepath.Join(d.running, name)
		l, alive, err := probes[i].lock, probes[i].held, probes[i].err
		if err != nil && !alive && d.abandoned(persistence.ID(stem)) {
			d.discard(persistence.ID(stem), false)
		}
		if err != nil {
			continue // unreadable: it is not known what it locks
		}
		if !alive && !l.Flock {
			alive = d.alive(l.owner(), l.since())
		}
		if !alive {
			if dead++; dead <= mostDiscarded { // the others go with their runs, when these come to the archive
				d.discard(persistence.ID(stem), l.Fork)
			}
			continue
		}
		holder := persistence.ID(stem)
		if l.Store != "" {
			holder = l.Run
		}
		shared := ancestor(holder, spec.Ancestors)
		if l.Store != location {
			shared = l.Mark != "" && slices.Contains(spec.Around, l.Mark+string(holder))
		}
		if shared || l.Store == location && holder == self && self != "" {
			continue
		}
		if p, ok := persistence.Overlap(l.Scope, scope); ok || spec.Singleton && l.Singleton && l.Loop == spec.Loop {
			if !ok && len(l.Scope) > 0 {
				p = l.Scope[0]
			}
			c := &persistence.ConflictError{
				Holder: holder, Loop: l.Loop, Owner: l.owner(), Path: p, Since: l.since(),
				Lock: path,
			}
			if l.Store != location {
				c.Store = cmp.Or(l.Store, filesLocation)
			}
			return c
		}
	}
	return nil
}

// A probe is what probeLock found of one lock.
type probe struct {
	lock scopeLock
	held bool
	err  error
}

// probeAll looks at lock files among the running ones: at many at once, because a thousand runs may have died.
func (d *Store) probeAll(names []string) []probe {
	all := make([]probe, len(names))
	spread(len(names), func(i int) {
		p := &all[i]
		p.lock, p.held, p.err = probeLock(filepath.Join(d.running, names[i]), false)
	})
	return all
}

// locks returns the lock files among the running ones, below a folder of them. little-loops makes folders for loops
// with a slash in their name, and does not look into them itself.
func (d *Store) locks(folder string) ([]string, error) {
	names, err := disk.Names(filepath.Join(d.running, folder))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range names {
		rel := filepath.Join(folder, name)
		switch {
		case strings.HasPrefix(name, "."):
		case strings.HasSuffix(name, ".lock"):
			found = append(found, rel)
		case filepath.Ext(name) == "" && strings.Count(rel, "/") < 8: // all other files have an extension
			if st, err := os.Lstat(filepath.Join(d.running, rel)); err == nil && st.IsDir() {
				more, _ := d.locks(rel) // one folder that cannot be read does not hide the others
				found = append(found, more...)
			}
		}
	}
	return found, nil
}

// discard removes the lock of a dead run, and what else there is of one that never recorded anything.
func (d *Store) discard(id persistence.ID, fork bool) {
	p := d.live(id)
	if !disk.Exists(p.state) && !disk.Exists(p.parts) && !disk.Exists(p.events) || d.unrecorded(id) {
		_ = disk.Remove(p.pid, p.events, p.state, p.state+".tmp", p.commands)
		if _, err := d.find(id); errors.Is(err, persistence.ErrNotFound) {
			discardWork(d.work(id), fork)
		}
	}
	_ = disk.Remove(p.lock)
}

func ancestor(id persistence.ID, ids []persistence.ID) bool {
	for _, a := range ids {
		if a == id {
			return true
		}
	}
	return false
}

// alive reports whether the process that wrote an ownership record without flock still lives.
func (d *Store) alive(o persistence.Owner, recorded time.Time) bool {
	if o.PID <= 0 {
		return false
	}
	if d.Liveness != nil {
		return d.Liveness(o, recorded)
	}
	return !errors.Is(syscall.Kill(o.PID, 0), syscall.ESRCH)
}

// foreignOwner finds the process that owns a run of little-loops: by its .pid, its .lock, its state.
func (d *Store) foreignOwner(id persistence.ID, inState persistence.Owner, updated time.Time) (persistence.Owner,
	time.Time,
) {
	p := d.live(id)
	if b, err := disk.Read(p.pid); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			at := updated
			if st, err := os.Lstat(p.pid); err == nil && at.IsZero() {
				at = st.ModTime()
			}
			return persistence.Owner{PID: n}, at
		}
	}
	if l, err := readLock(p.lock); err == nil && l.PID != 0 {
		return l.owner(), l.since()
	}
	return inState, updated
}
