package persistence

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loops/internal/disk"
)

// A queueEntry is the file of a waiter, as little-loops has it.
type queueEntry struct {
	ID      string       `json:"id"`
	Loop    string       `json:"loopName"`
	Since   string       `json:"enqueuedAt"`
	Context queueContext `json:"context"`
	Ours    *queueOurs   `json:"loops,omitempty"` // that tool writes none
}

// A queueContext says what a waiter waits for.
type queueContext struct {
	For   string   `json:"waitingFor"`
	Scope []string `json:"scope"` // of what it waits for
	PID   int      `json:"pid"`
}

// A queueOurs is the rest of a [Waiter]. A waiter that has it holds flock on the file as long as it waits.
type queueOurs struct {
	Scope      []string `json:"scope"`
	Singleton  bool     `json:"singleton,omitempty"`
	Resumes    ID       `json:"resumes,omitempty"`
	Gets       ID       `json:"gets,omitempty"`
	Inside     []ID     `json:"inside,omitempty"`
	Holder     ID       `json:"holder,omitempty"`
	Behind     string   `json:"behind,omitempty"`
	OtherSince string   `json:"other_since,omitempty"`
	Host       string   `json:"host,omitempty"`
	Boot       string   `json:"boot,omitempty"`
	PIDNS      int64    `json:"pid_ns,omitempty"`
	Start      int64    `json:"start,omitempty"`
	Log        string   `json:"log,omitempty"`
}

const queueTime = "2006-01-02T15:04:05.000000+00:00"

func readEntry(path string) (Waiter, error) {
	var e queueEntry
	b, err := disk.Read(path)
	if err != nil {
		return Waiter{}, err
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return Waiter{}, fmt.Errorf("%s: %w", path, err)
	}
	since, err := time.Parse(time.RFC3339Nano, e.Since)
	if err != nil {
		return Waiter{}, fmt.Errorf("%s: %w", path, err)
	}
	w := Waiter{
		ID: strings.TrimSuffix(filepath.Base(path), ".json"), Loop: e.Loop, Since: since.UTC(),
		Owner: Owner{PID: e.Context.PID}, Foreign: e.Ours == nil,
	}
	w.For = Obstacle{Loop: e.Context.For}
	if len(e.Context.Scope) > 0 {
		w.For.Path = e.Context.Scope[0]
	}
	if w.Foreign {
		w.Scope = ResolveScope(e.Context.Scope) // its own is not known, but that it overlaps with these
		return w, nil
	}
	o := e.Ours
	w.Scope, w.Singleton, w.Resumes, w.Gets, w.Inside, w.Log = o.Scope, o.Singleton, o.Resumes, o.Gets, o.Inside, o.Log
	w.Owner.Host, w.Owner.Boot, w.Owner.PIDNS, w.Owner.Start = o.Host, o.Boot, o.PIDNS, o.Start
	w.For.Run, w.For.Waiter = o.Holder, o.Behind
	at, _ := time.Parse(time.RFC3339Nano, o.OtherSince) // "" = not known
	w.For.Since = at.UTC()
	return w, nil
}

// write puts a new entry in place, or replaces one, and returns the file, whose flock this process has. It is never
// seen half written, nor without the flock. Called within exclusive.
func (q *Queue) write(w Waiter) (*os.File, error) {
	e := queueEntry{
		ID: w.ID, Loop: w.Loop, Since: w.Since.Format(queueTime),
		Context: queueContext{For: w.For.Loop, Scope: []string{}, PID: w.Owner.PID},
		Ours: &queueOurs{
			Scope: w.Scope, Singleton: w.Singleton, Resumes: w.Resumes, Gets: w.Gets, Inside: w.Inside,
			Holder: w.For.Run, Behind: w.For.Waiter,
			Host: w.Owner.Host, Boot: w.Owner.Boot, PIDNS: w.Owner.PIDNS, Start: w.Owner.Start, Log: w.Log,
		},
	}
	if w.For.Path != "" {
		e.Context.Scope = append(e.Context.Scope, w.For.Path)
	}
	if !w.For.Since.IsZero() {
		e.Ours.OtherSince = w.For.Since.UTC().Format(queueTime)
	}
	b, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return nil, err
	}
	path := q.path(w.ID)
	tmp := path + ".tmp"
	f, err := disk.Open(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	if err = disk.Flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = &os.PathError{Op: "flock", Path: tmp, Err: err}
	} else if _, err = f.Write(append(b, '\n')); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		f.Close()
		return nil, err
	}
	return f, nil
}

// heldEntry reports whether a live process holds flock on an entry. One that is rewritten is another file, which is
// held before it is in place.
func heldEntry(path string) bool {
	for range 100 {
		f, err := disk.Open(path, os.O_RDONLY)
		if err != nil {
			return false
		}
		err = disk.Flock(f, syscall.LOCK_SH|syscall.LOCK_NB)
		a, e1 := f.Stat()
		b, e2 := os.Lstat(path)
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return true
		}
		if e1 != nil || e2 != nil || os.SameFile(a, b) {
			return false
		}
	}
	return true // a process that writes so often lives
}

// newUUID returns a random uuid of version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
