package checkpoint

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Dir keeps checkpoints and events in a folder, with a folder for each run:
//
//	checkpoint.json   the newest checkpoint
//	previous.json     the one before, used while the newest is damaged
//	damaged.json      a damaged checkpoint that was replaced, for a person to look at
//	events.jsonl      the log
//	lock              locked while a checkpoint is written or deleted
//
// A Dir may be used by several goroutines and several processes at once. It holds nothing open. What it writes
// replaces what was there in one step, and file and folder are synced before Save, Append, Delete and Clear
// return. Files are made with mode 0600 and folders with 0700, less umask; the mode of a checkpoint that is
// replaced is kept. The methods of a nil Dir do nothing and find nothing.
type Dir struct {
	Clock Clock // for the times of checkpoints and events; set before the first use

	root string
	disk disk
}

var (
	_ Store = (*Dir)(nil)
	_ Log   = (*Dir)(nil)
)

// OpenDir returns the store in a folder, which it makes if need be. It need not be closed.
func OpenDir(root string) (*Dir, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	d := &Dir{root: abs, disk: disk{dirMode: 0o700, fileMode: 0o600}}
	if err := d.disk.mkdir(abs); err != nil {
		return nil, err
	}
	return d, nil
}

type dirFiles struct{ folder, newest, previous, damaged, events, lock string }

func (d *Dir) files(run string) (dirFiles, error) {
	if err := CheckRun(run); err != nil {
		return dirFiles{}, err
	}
	f := filepath.Join(d.root, folderName(run))
	in := func(name string) string { return filepath.Join(f, name) }
	return dirFiles{
		f, in("checkpoint.json"), in("previous.json"), in("damaged.json"), in("events.jsonl"),
		in("lock"),
	}, nil
}

// Save implements [Store].
func (d *Dir) Save(ctx context.Context, c *Checkpoint) error {
	if d == nil {
		return nil
	}
	p, err := d.files(c.Run)
	if err != nil {
		return err
	}
	data, err := Encode(c, d.Clock.Now())
	if err != nil {
		return err
	}
	lock, err := d.disk.lock(ctx, p.lock, lockMake)
	if err != nil {
		return saving(c.Run, err)
	}
	defer lock.Close()
	return saving(c.Run, d.save(p, c.Run, data))
}

// save puts data instead of the newest checkpoint, which becomes the previous one if it is good.
func (d *Dir) save(p dirFiles, run string, data []byte) error {
	_, err := readCheckpoint(p.newest, run, false)
	first := errors.Is(err, fs.ErrNotExist)
	if err != nil && !first && !errors.Is(err, ErrDamaged) {
		return err // not understood, so not replaced
	}
	tmp, e := d.disk.stage(p.newest, data)
	if e != nil {
		return e
	}
	switch {
	case first:
		e = d.disk.sync(d.root) // the name of the folder
	case err == nil:
		e = d.disk.keep(p.newest, p.previous)
	default:
		e = d.disk.keep(p.newest, p.damaged)
	}
	if e != nil {
		_ = os.Remove(tmp)
		return e
	}
	return d.disk.install(tmp, p.newest)
}

func saving(run string, err error) error {
	if err != nil {
		return fmt.Errorf("run %s cannot be saved: %w", run, err)
	}
	return nil
}

// Load implements [Store].
func (d *Dir) Load(ctx context.Context, run string) (*Checkpoint, error) {
	if d == nil {
		return nil, missing(run)
	}
	if err := ready(ctx, run); err != nil {
		return nil, err
	}
	p, err := d.files(run)
	if err != nil {
		return nil, err
	}
	return load(p, run, true)
}

func missing(run string) error { return fmt.Errorf("run %s: %w", run, ErrNotFound) }

// load reads the newest good checkpoint.
func load(p dirFiles, run string, whole bool) (*Checkpoint, error) {
	c, err := readCheckpoint(p.newest, run, whole)
	gone := errors.Is(err, fs.ErrNotExist)
	if !gone && !errors.Is(err, ErrDamaged) {
		return c, err
	}
	c, e := readCheckpoint(p.previous, run, whole)
	switch {
	case gone && errors.Is(e, fs.ErrNotExist):
		return nil, missing(run)
	case gone:
		err = &DamageError{File: p.newest, What: "it is missing beside " + filepath.Base(p.previous)}
	}
	if errors.Is(e, ErrDamaged) {
		err = fmt.Errorf("%w; %w", err, e)
	}
	return c, err // an error of reading the previous one is a lesser evil than the damage that led there
}

// readCheckpoint reads one file. Damage is a *DamageError.
func readCheckpoint(path, run string, whole bool) (*Checkpoint, error) {
	b, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	c, err := decode(b, run, whole)
	return c, damaged(path, err)
}

// Delete implements [Store].
func (d *Dir) Delete(ctx context.Context, run string) error {
	if d == nil {
		return nil
	}
	p, err := d.files(run)
	if err != nil {
		return err
	}
	lock, err := d.disk.lock(ctx, p.lock, lockWrite)
	if errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(p.folder) // empty, if Delete or Clear was killed
		return nil
	}
	if err != nil {
		return deleting(run, err)
	}
	defer lock.Close()
	// The newest goes last, so that the one before never takes its place.
	err = d.disk.remove(p.previous, p.damaged, tmpOf(p.previous), tmpOf(p.damaged), tmpOf(p.newest))
	if err == nil {
		err = d.disk.sync(p.folder)
	}
	if err == nil {
		err = d.disk.remove(p.newest)
	}
	if err == nil {
		err = d.disk.sync(p.folder)
	}
	if err == nil {
		err = d.disk.remove(p.lock)
	}
	if err != nil {
		return deleting(run, err)
	}
	_ = os.Remove(p.folder) // unless there are events
	return nil
}

func deleting(run string, err error) error {
	return fmt.Errorf("run %s cannot be deleted: %w", run, err)
}

// ListInterrupted implements [Store].
func (d *Dir) ListInterrupted(ctx context.Context) ([]Interrupted, error) {
	if d == nil {
		return nil, nil
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(d.root)
	if err != nil {
		return nil, err
	}
	var list []Interrupted
	for _, e := range entries {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		run, ok := runOf(e.Name())
		if !ok || !e.IsDir() {
			continue
		}
		p, err := d.files(run)
		if err != nil {
			continue
		}
		c, err := load(p, run, false)
		if errors.Is(err, ErrNotFound) {
			continue // only events
		}
		i := Interrupted{Meta: Meta{Run: run}, Err: err}
		if c != nil {
			i = c.interrupted()
			i.Err = err
		}
		list = append(list, i)
	}
	newestFirst(list)
	return list, nil
}

func newestFirst(list []Interrupted) {
	slices.SortFunc(list, func(a, b Interrupted) int {
		return cmp.Or(b.SavedAt.Compare(a.SavedAt), strings.Compare(a.Run, b.Run))
	})
}

// folderName makes a run id fit for the name of a folder, so that runOf gives it back.
func folderName(run string) string {
	var b strings.Builder
	for i := range len(run) {
		c := run[i]
		if c == '/' || c == '\\' || c == '%' || c < ' ' || c == 0x7f || c == '.' && i == 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// runOf is the inverse of folderName; ok is false for names it does not make.
func runOf(name string) (run string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			b.WriteByte(name[i])
			continue
		}
		if i+3 > len(name) {
			return "", false
		}
		c, err := hex.DecodeString(name[i+1 : i+3])
		if err != nil {
			return "", false
		}
		b.Write(c)
		i += 2
	}
	run = b.String()
	return run, folderName(run) == name
}
