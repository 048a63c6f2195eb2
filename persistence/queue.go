package persistence

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"loops/internal/disk"
)

// A Queue is the line of those that wait for scopes in a project, as files that little-loops reads too. It only
// decides whose turn it is: that no two runs have overlapping scopes at once is the store's doing, whichever that is.
// Waiters with overlapping scopes go in the order in which they joined; others do not wait for one another.
// It may be used at once by any number of processes and goroutines.
type Queue struct {
	dir string

	// Liveness reports whether a process of little-loops that began to wait at a time still lives. nil asks whether
	// any process has the pid. Set it before the first use.
	Liveness func(o Owner, recorded time.Time) bool

	patience time.Duration // instead of the constant, for tests
}

// ProjectQueue is the queue of the project whose .loops folder that is. Its folder is made when a waiter waits.
func ProjectQueue(loops string) *Queue { return &Queue{dir: filepath.Join(loops, ".queue")} }

// A Waiter waits for a scope, or asks whether it must.
type Waiter struct {
	ID        string   // a uuid
	Loop      string   // whose run it is about
	Resumes   ID       // the run that is to continue; "" = a new one
	Gets      ID       // the id that its new run is to have; "" = any
	Scope     []string // absolute and resolved; of little-loops: what it waits for
	Singleton bool
	Owner     Owner
	Inside    []ID      // the runs whose actions it is part of
	Since     time.Time // no two are equal, and a later waiter has a later one
	Log       string    // path of the file it writes to; "" = none
	For       Obstacle  // as it last said
	Foreign   bool      // of little-loops
}

// An Obstacle is what keeps a waiter waiting: a run that has an overlapping scope, or a waiter before it.
type Obstacle struct {
	Loop   string
	Path   string    // of the other's scope that overlaps
	Run    ID        // "" where it is a waiter, or not known
	Waiter string    // id of that one
	Since  time.Time // when that one took the scope, or joined the queue
}

// ErrNotWaiting means that a waiter's place in the queue was taken away.
var ErrNotWaiting = errors.New("it waits no longer")

// Waiters returns those that wait now, in the order in which they joined. It changes nothing.
func (q *Queue) Waiters() ([]Waiter, error) {
	line, _, err := q.read()
	return line, err
}

// read returns the waiters, and the names of the files of those that died. An entry that cannot be read says nothing:
// little-loops may be writing it.
func (q *Queue) read() (line []Waiter, dead []string, err error) {
	names, err := disk.Names(q.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		w, err := readEntry(q.path(id))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
		case q.waits(w):
			line = append(line, w)
		default:
			dead = append(dead, name)
		}
	}
	slices.SortFunc(line, before)
	return line, dead, nil
}

func before(a, b Waiter) int { return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID)) }

func (q *Queue) path(id string) string { return filepath.Join(q.dir, id+".json") }

// waits reports whether a waiter whose entry was read still waits.
func (q *Queue) waits(w Waiter) bool {
	path := q.path(w.ID)
	if !w.Foreign {
		return heldEntry(path)
	}
	if !disk.Exists(path) || w.Owner.PID <= 0 {
		return false
	}
	if q.Liveness != nil {
		return q.Liveness(w.Owner, w.Since)
	}
	return !errors.Is(syscall.Kill(w.Owner.PID, 0), syscall.ESRCH)
}

// Blocking returns those of the line, in their order, that go before w. shared are the scopes of the runs around w,
// which it shares: what waits for one of them, or for such a waiter, cannot go before w ends, and is passed over.
func Blocking(w Waiter, line []Waiter, shared []string) []Waiter {
	var ahead, stuck []Waiter
	around := Waiter{Scope: shared}
	for _, x := range line {
		if w.ID != "" && before(x, w) >= 0 {
			break // w itself, or a later one
		}
		if clash(x, around) || slices.ContainsFunc(stuck, func(s Waiter) bool { return clash(s, x) }) {
			stuck = append(stuck, x)
			continue
		}
		if clash(x, w) {
			ahead = append(ahead, x)
		}
	}
	return ahead
}

// clash reports whether two could not run at once.
func clash(a, b Waiter) bool {
	_, ok := Overlap(a.Scope, b.Scope)
	return ok || a.Singleton && b.Singleton && a.Loop == b.Loop
}

// Circle reports whether w, which waits for o, so waits for itself: the runs around w cannot end before w does, and a
// run cannot end before those that wait inside it do.
func Circle(w Waiter, o Obstacle, line []Waiter) bool {
	waiters, runs := map[string]bool{o.Waiter: true, "": true}, map[ID]bool{o.Run: true, "": true}
	for grown := true; grown; {
		grown = false
		for _, x := range line {
			if x.ID == w.ID || !waiters[x.ID] && !slices.ContainsFunc(x.Inside, func(id ID) bool { return runs[id] }) {
				continue
			}
			if !waiters[x.For.Waiter] || !runs[x.For.Run] {
				waiters[x.For.Waiter], runs[x.For.Run], grown = true, true, true
			}
		}
	}
	return slices.ContainsFunc(w.Inside, func(id ID) bool { return id != "" && runs[id] })
}

// Of returns what w is to one that waits for it.
func (w Waiter) Of(scope []string) Obstacle {
	path, ok := Overlap(w.Scope, scope)
	if !ok && len(w.Scope) > 0 {
		path = w.Scope[0]
	}
	return Obstacle{Loop: w.Loop, Path: path, Waiter: w.ID, Since: w.Since}
}

// Join adds a waiter to the end of the line. Owner must be this process. The entries of those that died are removed.
func (q *Queue) Join(ctx context.Context, w Waiter) (*Place, error) {
	if err := disk.MakeFolder(filepath.Dir(q.dir), q.dir); err != nil {
		return nil, err
	}
	p := &Place{q: q}
	err := q.exclusive(ctx, func() error {
		line, dead, err := q.read()
		if err != nil {
			return err
		}
		q.tidy(dead)
		w.ID, w.Foreign = newUUID(), false
		w.Since = time.Now().UTC().Truncate(time.Microsecond)
		if n := len(line); n > 0 && !w.Since.After(line[n-1].Since) {
			w.Since = line[n-1].Since.Add(time.Microsecond) // the clock was set, or is coarse
		}
		p.w, p.line = w, line
		p.file, err = q.write(w)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Tidy removes what those that died left behind. Join does so, too.
func (q *Queue) Tidy(ctx context.Context) error {
	if !disk.Exists(q.dir) {
		return nil
	}
	return q.exclusive(ctx, func() error {
		_, dead, err := q.read()
		q.tidy(dead)
		return err
	})
}

// queuePatience is how long a turn to change the queue is waited for.
const queuePatience = 30 * time.Second

// queueLogs is how long the log of a waiter that never began is kept.
const queueLogs = 30 * 24 * time.Hour

// tidy removes what dead waiters left behind. Called within exclusive, where no one else writes.
func (q *Queue) tidy(dead []string) {
	names, _ := disk.Names(q.dir) // what is left behind now the next one removes
	for _, name := range names {
		path := filepath.Join(q.dir, name)
		id, log := strings.CutSuffix(name, ".log")
		if log && !disk.Exists(q.path(id)) {
			st, err := os.Lstat(path)
			log = err == nil && time.Since(st.ModTime()) > queueLogs
		} else {
			log = false
		}
		if log || strings.HasSuffix(name, ".tmp") || slices.Contains(dead, name) {
			_ = os.Remove(path)
		}
	}
}

// LogPath returns the log file of a waiter without a terminal. It is kept for 30 days if the waiter never began; one
// that begins moves it to where the log of the run is.
func (q *Queue) LogPath(id string) string { return filepath.Join(q.dir, id+".log") }

// EntryPath returns the file of a waiter, which is rewritten when it waits for another, and removed when it does not
// wait any longer.
func (q *Queue) EntryPath(id string) string { return q.path(id) }

// EntryInfo describes the file of a waiter, which its process has open as long as it waits.
func (q *Queue) EntryInfo(id string) (fs.FileInfo, error) { return os.Stat(q.path(id)) }

// Remove takes a waiter's place away; the waiter finds that out and ends. It is ErrNotWaiting where it does not wait
// any more, as it may have begun just now.
func (q *Queue) Remove(ctx context.Context, id string) error {
	path := q.path(id)
	if !disk.Exists(path) {
		return ErrNotWaiting
	}
	return q.exclusive(ctx, func() error { // or an entry that is being rewritten would come back
		if w, err := readEntry(path); err != nil || !q.waits(w) {
			return ErrNotWaiting
		}
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			return ErrNotWaiting
		}
		return err
	})
}

func (q *Queue) exclusive(ctx context.Context, f func() error) error {
	return disk.WhileLocked(ctx, filepath.Join(q.dir, ".lock"), cmp.Or(q.patience, queuePatience), f)
}
