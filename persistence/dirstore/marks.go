package dirstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
	"loops/persistence/snapshot"
)

// Moving a run to the archive takes half a dozen changes of folders. Where many runs died, what was found out
// about them is recorded at once, as a line for each in one file, and they are moved later.
const marksName = ".interrupted.jsonl"

// A mark records that a run had no owner any more. It is about one segment: after a later resume it says nothing.
type mark struct {
	ID      persistence.ID `json:"id"`
	Segment int            `json:"segment"`
	At      time.Time      `json:"at"`
	Why     string         `json:"why"`
}

func (d *Store) marksPath() string { return filepath.Join(d.running, marksName) }

// marks returns what is marked. A line that cannot be read says nothing: its run is found dead again.
func (d *Store) marks() map[persistence.ID]mark {
	all := make(map[persistence.ID]mark)
	b, err := disk.Read(d.marksPath())
	if err != nil {
		return all
	}
	for line := range bytes.Lines(b) {
		var m mark
		if object, err := snapshot.CutSum(bytes.TrimRight(line, "\n")); err == nil &&
			json.Unmarshal(object, &m) == nil {
			all[m.ID] = m
		}
	}
	return all
}

// MarkInterrupted implements [persistence.Store].
func (d *Store) MarkInterrupted(ctx context.Context, todo []persistence.Tidying) []error {
	errs := make([]error, len(todo))
	err := d.exclusive(ctx, func() error {
		free := make([]bool, len(todo))
		spread(len(todo), func(i int) {
			id := todo[i].ID
			if held := d.Owned(id); held {
				errs[i] = &persistence.HeldError{ID: id}
			} else if free[i] = d.leftover(id); !free[i] {
				errs[i] = fmt.Errorf("live run %s: %w", id, persistence.ErrNotFound)
			}
		})
		var text []byte
		for i, t := range todo {
			if !free[i] {
				continue
			}
			b, err := json.Marshal(mark{t.ID, t.Segment, t.At, t.Why})
			if err != nil {
				return err
			}
			start := len(text)
			text = append(snapshot.AppendSum(append(text, b...), start), '\n')
		}
		return d.addMarks(text)
	})
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}

// addMarks appends lines durably. Called within exclusive.
func (d *Store) addMarks(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if err := d.before("mark"); err != nil {
		return err
	}
	f, st, err := disk.OpenStat(d.marksPath(), os.O_RDWR|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	if ended, err := segment.LineEnds(f, st.Size()); err != nil {
		return err
	} else if !ended {
		text = append([]byte("\n"), text...) // a process was killed in the middle of a line
	}
	return d.appendDurably(f, st.Size(), text)
}

// dropMarks removes the marks when no run that is marked is left among the running ones. Called within exclusive.
func (d *Store) dropMarks() error {
	if !disk.Exists(d.marksPath()) {
		return nil
	}
	for id := range d.marks() {
		if d.leftover(id) {
			return nil
		}
	}
	if err := d.before("drop marks"); err != nil {
		return err
	}
	return disk.Remove(d.marksPath())
}

// interrupted makes a run what its mark says of it, unless a process owns it, or did since.
func (m mark) interrupted(r *persistence.Run) {
	if r.Status == persistence.Running && !r.Held && !r.Foreign && m.ID == r.ID && m.Segment == r.Segment {
		r.Status, r.Reconciled, r.Why = persistence.Interrupted, m.At, m.Why
		r.Resumable = true
	}
}

// marked is what is to be done about a run that is marked: what its mark says. Any other is left to what was asked.
func (m mark) marked(todo persistence.Tidying, l *loaded) persistence.Tidying {
	if !todo.Interrupt && l.status == persistence.Running && !l.foreign && m.ID == todo.ID && m.Segment == l.segment {
		todo.Interrupt, todo.At, todo.Why = true, m.At, m.Why
	}
	return todo
}
