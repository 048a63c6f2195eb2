package dirstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

// LedgerFolder is the name of the folder of a ledger, in .loops.
const LedgerFolder = ".ledger"

// patienceOfLedger is how long the lock of a list is waited for. It is held while one file is made durable.
const patienceOfLedger = 30 * time.Second

const suffix = ".json"

// A Ledger is that of one project. It implements [persistence.Ledger].
type Ledger struct {
	loops string // the folder .loops, absolute

	step func(name string) error // for tests: called before each step that a crash could fall behind
}

// LedgerOf returns the ledger of the project with this .loops folder. Its own folder is made when the first entry is.
func LedgerOf(loops string) *Ledger { return &Ledger{loops: loops} }

// An entry is the content of a file.
type entry struct {
	Rev   int64           `json:"rev"`
	Open  bool            `json:"open"`
	Added time.Time       `json:"added"`
	Body  json.RawMessage `json:"body"`
}

func (l *Ledger) folder(list string) string {
	return filepath.Join(l.loops, LedgerFolder, persistence.EncodeLoop(list))
}

func path(folder, key string) string {
	return filepath.Join(folder, persistence.EncodeLoop(key)+suffix)
}

// locked does f while no other process changes a list.
func (l *Ledger) locked(ctx context.Context, list string, f func(folder string) error) error {
	folder := l.folder(list)
	if !disk.Exists(folder) {
		if err := disk.MakeFolder(l.loops, folder); err != nil {
			return err
		}
		for dir := folder; dir != l.loops; dir = filepath.Dir(dir) {
			if err := disk.SyncFolder(filepath.Dir(dir)); err != nil {
				return err
			}
		}
	}
	return disk.WhileLocked(ctx, filepath.Join(folder, ".lock"), patienceOfLedger, func() error { return f(folder) })
}

// Add implements [persistence.Ledger].
func (l *Ledger) Add(ctx context.Context, e persistence.Entry) error {
	return l.locked(ctx, e.List, func(folder string) error {
		if disk.Exists(path(folder, e.Key)) {
			return fmt.Errorf("%s of %s: %w", e.Key, e.List, persistence.ErrTaken)
		}
		if e.Last {
			keys, err := keysIn(folder)
			if err != nil {
				return err
			}
			if len(keys) > 0 && slices.Max(keys) > e.Key {
				return fmt.Errorf("%s of %s is not the last: %w", e.Key, e.List, persistence.ErrTaken)
			}
		}
		e.Rev = 1
		return l.write(folder, e)
	})
}

// Change implements [persistence.Ledger].
func (l *Ledger) Change(ctx context.Context, e persistence.Entry) (persistence.Entry, error) {
	err := l.locked(ctx, e.List, func(folder string) error {
		is, err := read(folder, e.List, e.Key)
		if errors.Is(err, fs.ErrNotExist) || err == nil && is.Rev != e.Rev {
			return fmt.Errorf("%s of %s: %w", e.Key, e.List, persistence.ErrChanged)
		}
		if err != nil {
			return err
		}
		e.Rev, e.Added = e.Rev+1, is.Added
		return l.write(folder, e)
	})
	return e, err
}

// write puts an entry in place. Called locked.
func (l *Ledger) write(folder string, e persistence.Entry) error {
	if len(e.Body) > persistence.MostBody {
		return fmt.Errorf("%s of %s: its body has %d bytes, at most %d are kept", e.Key, e.List, len(e.Body),
			persistence.MostBody)
	}
	b, err := json.Marshal(entry{e.Rev, e.Open, e.Added.UTC().Truncate(time.Millisecond), e.Body})
	if err != nil {
		return err
	}
	if err := l.before("write"); err != nil {
		return err
	}
	to := path(folder, e.Key)
	tmp := filepath.Join(folder, ".tmp") // under the lock there is one
	f, err := disk.Open(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = disk.SyncData(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := l.before("rename"); err != nil {
		return err
	}
	if err := os.Rename(tmp, to); err != nil {
		return err
	}
	err = l.before("sync")
	if err == nil {
		err = disk.SyncFolder(folder)
	}
	if err != nil { // the entry has its name: others read it
		return &persistence.UncertainError{Err: err}
	}
	return nil
}

func (l *Ledger) before(step string) error {
	if l.step != nil {
		return l.step(step)
	}
	return nil
}

// Entries implements [persistence.Ledger]. A file that cannot be read is an error: what it says might have been
// done already.
func (l *Ledger) Entries(_ context.Context, list string, keys ...string) (all []persistence.Entry, err error) {
	folder := l.folder(list)
	if len(keys) == 0 {
		if keys, err = keysIn(folder); err != nil {
			return nil, err
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		e, err := read(folder, list, key)
		switch {
		case errors.Is(err, fs.ErrNotExist): // trimmed since
		case err != nil:
			return nil, err
		default:
			all = append(all, e)
		}
	}
	return all, nil
}

// Trim implements [persistence.Ledger].
func (l *Ledger) Trim(ctx context.Context, list string, before time.Time, keep int) error {
	all, err := l.Entries(ctx, list)
	if err != nil || len(all) <= keep {
		return err
	}
	return l.locked(ctx, list, func(folder string) error {
		for _, e := range all[:len(all)-keep] {
			if e.Open || !e.Added.Before(before) {
				continue
			}
			if now, err := read(folder, list, e.Key); err != nil || now.Open {
				continue
			}
			if err := disk.Remove(path(folder, e.Key)); err != nil {
				return err
			}
		}
		return nil
	})
}

func keysIn(folder string) (keys []string, err error) {
	names, err := disk.Names(folder)
	for _, name := range names {
		if key, ok := strings.CutSuffix(name, suffix); ok && name[0] != '.' {
			keys = append(keys, persistence.DecodeLoop(key))
		}
	}
	return keys, err
}

func read(folder, list, key string) (persistence.Entry, error) {
	file := path(folder, key)
	b, err := disk.Read(file)
	if err != nil {
		return persistence.Entry{}, err
	}
	var e entry
	if err := json.Unmarshal(b, &e); err != nil {
		return persistence.Entry{},
			fmt.Errorf("%s: damaged: %w; remove the file if what it is about need not be done again", file, err)
	}
	return persistence.Entry{List: list, Key: key, Rev: e.Rev, Open: e.Open, Added: e.Added, Body: e.Body}, nil
}

var _ persistence.Ledger = (*Ledger)(nil)
