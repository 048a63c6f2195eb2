package project

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// An Outbox is the file with how far the events of one run were delivered. It is made before the first event of
// the run, and removed when all is delivered and the run cannot be resumed, or with the run. Its lock belongs
// to the process that delivers. Whoever opened it uses it alone.
type Outbox struct {
	file *os.File
	size int
	Sent map[string]uint64 // number of the last event that an outlet acknowledged, by the key of the outlet
}

// ErrOutboxBusy means that another process delivers the events of a run.
var ErrOutboxBusy = errors.New("another process delivers the events of this run")

const outboxSuffix = ".json"

// outboxes returns the folder of the outboxes.
func (p *Project) outboxes() string {
	return filepath.Join(p.Main().Loops, dirstore.LedgerFolder, ".outbox")
}

func (p *Project) outbox(id persistence.ID) string {
	return filepath.Join(p.outboxes(), string(id)+outboxSuffix)
}

// MakeOutbox makes the outbox of a run, unless there is one.
func (p *Project) MakeOutbox(id persistence.ID) error {
	if err := disk.MakeFolder(p.Main().Loops, p.outboxes()); err != nil {
		return err
	}
	f, err := disk.Open(p.outbox(id), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	return f.Close()
}

// Outboxes returns the runs that have an outbox.
func (p *Project) Outboxes() (ids []persistence.ID, err error) {
	names, err := disk.Names(p.outboxes())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, outboxSuffix); ok {
			ids = append(ids, persistence.ID(id))
		}
	}
	return ids, err
}

// RemoveOutbox removes the outbox of a run that is gone, if it has one.
func (p *Project) RemoveOutbox(id persistence.ID) error { return disk.Remove(p.outbox(id)) }

// OpenOutbox opens the outbox of a run, and makes it if need be. It returns [ErrOutboxBusy] while another process has
// it. An outbox that a loss of power damaged is empty: its events are delivered again.
func (p *Project) OpenOutbox(id persistence.ID) (*Outbox, error) {
	for {
		if err := p.MakeOutbox(id); err != nil {
			return nil, err
		}
		f, err := disk.Open(p.outbox(id), os.O_RDWR)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		if err := disk.Flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				err = ErrOutboxBusy
			}
			return nil, err
		}
		if disk.Unlinked(f) {
			_ = disk.Release(f)
			continue
		}
		b, err := io.ReadAll(f)
		if err != nil {
			return nil, errors.Join(err, disk.Release(f))
		}
		box := &Outbox{file: f, size: len(b)}
		if json.Unmarshal(b, &box.Sent) != nil || box.Sent == nil {
			box.Sent = map[string]uint64{}
		}
		return box, nil
	}
}

// Save writes Sent. It is one write that is never shorter than what was there, so a kill leaves the old or the new.
func (b *Outbox) Save() error {
	text, err := json.Marshal(b.Sent)
	if err != nil {
		return err
	}
	for len(text) < b.size {
		text = append(text, ' ')
	}
	b.size = len(text)
	_, err = b.file.WriteAt(text, 0)
	return err
}

// Close releases the outbox, or with remove removes it.
func (b *Outbox) Close(remove bool) error {
	var err error
	if remove {
		err = os.Remove(b.file.Name())
	}
	return errors.Join(err, disk.Release(b.file))
}
