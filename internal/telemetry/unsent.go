package telemetry

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"loops/engine/project"
	"loops/internal/disk"
	"loops/persistence"
)

// unsent returns the folder that has an empty file for each run whose trace and metrics are not sent whole. Who sends
// them has its lock, so that what a process sent late is not taken for the newest.
func (x *Exporter) unsent() string { return filepath.Join(x.p.LogsDir(), "traces") }

// lock makes the file of a run, and locks it. It waits as long as another process may send. nil = there is
// none, or another process has it.
func (x *Exporter) lock(id persistence.ID, wait time.Duration) *os.File {
	path := filepath.Join(x.unsent(), string(id))
	tick := time.NewTicker(lockPause)
	defer tick.Stop()
	for giveUp := time.Now().Add(wait); ; <-tick.C {
		f, err := disk.Open(path, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil
		}
		err = disk.Flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && !disk.Unlinked(f) {
			return f
		}
		_ = disk.Release(f)
		if err != nil && time.Now().After(giveUp) {
			return nil
		}
	}
}

// mark notes that trace and metrics of a run are to be sent, until Close has sent them. A folder that cannot be
// written to has no notes. The caller holds mu.
func (x *Exporter) mark(id persistence.ID) {
	if os.MkdirAll(x.unsent(), 0o700) != nil || x.marks[id] != nil {
		return
	}
	if f := x.lock(id, lastTime+time.Second); f != nil {
		x.marks[id] = f
	}
}

// resend has others send, beside the runs of this process, what processes that are gone did not send. The caller holds
// mu.
func (x *Exporter) resend() {
	x.resending.Go(func() {
		y := newExporter(x.p, x.s)
		y.Resend()
		_ = y.Close() // the next one has it
	})
}

// Resend sends what was not sent of runs that no process carries, of the newest ones, until Close. Older ones
// are given up. A nil Exporter sends nothing.
func (x *Exporter) Resend() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	entries, _ := os.ReadDir(x.unsent()) // usually there are none
	slices.Reverse(entries)
	for i, e := range entries {
		id := persistence.ID(e.Name())
		info, err := e.Info()
		if err != nil {
			continue
		}
		f := x.lock(id, 0)
		if f == nil {
			continue
		}
		x.marks[id] = f
		if i >= mostResent || time.Since(info.ModTime()) > keepUnsent {
			x.over = append(x.over, id)
			continue
		}
		x.gone(id)
	}
}

// gone sends trace and metrics of a run that no process carries. The caller holds mu.
func (x *Exporter) gone(id persistence.ID) {
	ctx := context.Background()
	store, err := x.p.Records(ctx, false)
	if err != nil {
		return
	}
	defer store.Close() //nolint:errcheck // it is only read
	runs, err := store.Runs(ctx, persistence.Query{ID: id})
	if runs = project.Current(runs); err != nil || len(runs) == 1 && project.Alive(runs[0]) {
		return
	}
	x.over = append(x.over, id)
	if len(runs) == 0 {
		return
	}
	f := x.follow(runs[0])
	for e, err := range store.EventsOf(ctx, runs[0], 0) {
		if err == nil {
			f.add(e)
		} else {
			f.counts = nil
		}
	}
	if f.tracer != nil {
		f.tracer.Gone()
	}
	x.end(f)
}

// release ends the marks, and removes those of runs of which all was sent. The caller holds mu.
func (x *Exporter) release(sent bool) {
	for id, f := range x.marks {
		if sent && slices.Contains(x.over, id) {
			_ = os.Remove(f.Name()) // it is sent again otherwise
		}
		_ = disk.Release(f)
	}
	clear(x.marks)
}
