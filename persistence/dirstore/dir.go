// Package dirstore keeps runs in files of a .loops folder, in the layout of little-loops, so that both programs
// can work in one folder. docs/files.md describes every file, the order in which they are written, and what a
// crash leaves.
//
// A [Store] is a [persistence.Store]; it keeps commands, rewinds, reads backwards, imports and tidies too. Any
// number of processes may use one folder at once, each through a Store of its own; a Store may be used by any
// number of goroutines.
//
// When Record returns, what it took has been written to the journal of the run: the death of this process
// cannot lose it. At a checkpoint, and with an action's result, it is also durable, so neither can the loss of
// power, unless Store.Durability says otherwise; a decision is durable 50 ms later. Send, Remove, Archive,
// Interrupt and Import are durable on return.
//
// The owner of a run holds flock on a file as long as it lives, so a file system on which flock does not work,
// as some network file systems, cannot hold runs.
//
// A [Ledger] keeps the ledger of a project in files: a folder for each list, a file for each entry. A file is
// complete and durable before it has its name, so that a crash leaves an entry as it was or as it is to be.
package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// A Store keeps runs in the files of one .loops folder. It implements [persistence.Store]. Its fields are set
// before the first use.
type Store struct {
	persistence.Plain // a run in files has no lease, and runs are counted by what is recorded of each

	root, running, history, runs string

	// Liveness reports whether a process that was recorded as an owner at a time still lives. It is asked only
	// where no lock shows it, as in records of little-loops. nil asks whether any process has
	// the pid. Set it before the first use.
	Liveness func(o persistence.Owner, recorded time.Time) bool

	// Durability says when what runs record can no longer be lost with the power. Set it before the first use.
	Durability persistence.Durability

	// PartSize is the length in bytes from which the event file of a run is full, and its next batch begins another;
	// 0 means 64 MiB. Set it before the first use.
	PartSize int64

	finishing sync.Once    // what crashes left of removals was removed
	seen      commandMarks // how far the commands of runs were read

	patience time.Duration // instead of the constant, for tests
	eager    bool          // for tests: small archives have an index, too

	// step, if not nil, is called before each step that a crash could fall behind; tests make it fail.
	step func(name string) error

	// synced, if not nil, is called with every path that is about to be made durable; tests count, and make it fail.
	synced func(path string) error
}

// Open opens the store in a .loops directory. The directory and its folders are made when the first run is.
func Open(loopsDir string) (*Store, error) {
	root, err := filepath.Abs(loopsDir)
	if err != nil {
		return nil, err
	}
	if st, err := os.Stat(root); err == nil && !st.IsDir() {
		return nil, &os.PathError{Op: "open", Path: root, Err: errors.New("not a directory")}
	}
	return &Store{
		root: root, running: filepath.Join(root, ".running"), history: filepath.Join(root, ".history"),
		runs: filepath.Join(root, "runs"),
	}, nil
}

// Close implements [Store]. It does nothing: journals are closed one by one.
func (d *Store) Close() error { return nil }

// folder makes a folder of the store. The name of a new one is durable, and so is that of the store itself.
func (d *Store) folder(path string) error {
	var made []string
	for p := path; !disk.Exists(p); p = filepath.Dir(p) {
		made = append(made, p)
		if p == d.root {
			break
		}
	}
	if err := disk.MakeFolder(d.root, path); err != nil {
		return err
	}
	for _, p := range made {
		if err := d.syncDir(filepath.Dir(p)); err != nil {
			return err
		}
	}
	return nil
}

func (d *Store) before(step string) error {
	if d.step != nil {
		return d.step(step)
	}
	return nil
}

// Create implements [Store].
func (d *Store) Create(ctx context.Context, spec persistence.Spec) (persistence.Journal, error) {
	if err := persistence.CheckLoop(spec.Loop); err != nil {
		return nil, err
	}
	if spec.StartedAt.IsZero() {
		spec.StartedAt = time.Now()
	}
	scope := persistence.ResolveScope(spec.Scope)
	var j *journal
	err := d.exclusive(ctx, func() error {
		if err := d.conflict("", "", spec, scope); err != nil {
			return err
		}
		id, at, lock, err := d.reserve(spec)
		if err != nil {
			return err
		}
		if spec.ScopeOf != nil {
			scope = append(scope, persistence.ResolveScope(spec.ScopeOf(id))...)
		}
		j = &journal{d: d, id: id, files: d.live(id), work: d.work(id), lock: lock, created: true}
		j.rec = record{
			runID: persistence.MakeRunID(at), owner: spec.Owner, options: spec.Options, file: spec.File,
			sha:      spec.SHA256,
			maxSteps: spec.MaxSteps, origin: spec.Origin, status: persistence.Running,
		}
		j.rec.Loop, j.rec.StartedAt = spec.Loop, spec.StartedAt
		err = d.own(lock, id, 0, spec, scope)
		if err == nil && spec.Definition != nil {
			err = keepDefinition(d.work(id), spec.Definition)
			j.define(spec.Definition)
		}
		if err != nil {
			j.abandon()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	j.init()
	return j, nil
}

// reserve finds a second that no run of the loop has, and takes its ID, its folder in the archive and its working
// folder. Called within exclusive.
func (d *Store) reserve(spec persistence.Spec) (persistence.ID, time.Time, *os.File, error) {
	if err := d.folder(d.runs); err != nil {
		return "", time.Time{}, nil, err
	}
	if spec.ID != "" {
		return d.reserveNamed(spec)
	}
	retired, err := d.retired(spec.Loop)
	if err != nil {
		return "", time.Time{}, nil, err
	}
	newest, err := d.newestID(spec.Owner, spec.StartedAt)
	if err != nil {
		return "", time.Time{}, nil, err
	}
	for at := persistence.FirstSecond(spec.StartedAt, newest); ; at = at.Add(time.Second) {
		id := persistence.MakeID(spec.Loop, at)
		p := d.live(id)
		if isRetired(retired, persistence.MakeRunID(at)) ||
			disk.Exists(filepath.Join(d.history, folderName(persistence.MakeRunID(at), spec.Loop))) ||
			disk.Exists(p.state) || disk.Exists(p.events) || disk.Exists(p.pid) || disk.Exists(p.lock) ||
			disk.Exists(p.removed) || disk.Exists(p.commands) || disk.Exists(d.work(id)) {
			continue
		}
		lock, err := d.claim(id) // first: it shows that there is a folder if this process dies
		if err != nil {
			return "", at, nil, err
		}
		if err = disk.Mkdir(d.work(id), disk.FolderMode); err == nil {
			d.noteNewest(max(newest, persistence.MakeRunID(at)), spec.Owner)
			return id, at, lock, nil
		}
		(&taken{d: d, lock: lock}).release()
		if !errors.Is(err, fs.ErrExist) {
			return "", at, nil, err
		}
	}
}

// reserveNamed is reserve of an id that is given. What a process left of it that died before it recorded
// anything is removed.
func (d *Store) reserveNamed(spec persistence.Spec) (persistence.ID, time.Time, *os.File, error) {
	at, err := spec.Second()
	if err != nil {
		return "", at, nil, err
	}
	not := fmt.Errorf("%s: %w", spec.ID, persistence.ErrTaken)
	p := d.live(spec.ID)
	retired, err := d.retired(spec.Loop)
	if err != nil {
		return "", at, nil, err
	}
	if isRetired(retired, persistence.MakeRunID(at)) ||
		disk.Exists(filepath.Join(d.history, folderName(persistence.MakeRunID(at), spec.Loop))) ||
		disk.Exists(p.removed) || !d.unrecorded(spec.ID) {
		return "", at, nil, not
	}
	lock, err := d.claim(spec.ID)
	if _, held := errors.AsType[*persistence.HeldError](err); held {
		return "", at, nil, not
	}
	if err != nil {
		return "", at, nil, err
	}
	err = disk.Remove(p.pid, p.events, p.state, p.state+".tmp", p.commands)
	if err == nil {
		discardWork(d.work(spec.ID), false)
		err = disk.Mkdir(d.work(spec.ID), disk.FolderMode)
	}
	if err == nil {
		if newest, e := d.newestID(spec.Owner, spec.StartedAt); e == nil {
			d.noteNewest(max(newest, persistence.MakeRunID(at)), spec.Owner)
		}
		return spec.ID, at, lock, nil
	}
	(&taken{d: d, lock: lock}).release()
	if errors.Is(err, fs.ErrExist) {
		err = not
	}
	return "", at, nil, err
}

// Resume implements [Store].
func (d *Store) Resume(ctx context.Context, id persistence.ID, spec persistence.Spec) (persistence.Journal,
	*fsm.Snapshot, error,
) {
	scope := persistence.ResolveScope(spec.Scope)
	if spec.StartedAt.IsZero() {
		spec.StartedAt = time.Now()
	}
	var j *journal
	var snap *fsm.Snapshot
	err := d.exclusive(ctx, func() error {
		t, err := d.findAndTake(id)
		if err != nil {
			return err
		}
		if err := d.conflict(t.id, "", spec, scope); err != nil {
			t.release()
			return err
		}
		if j, snap, err = d.goOn(t, spec, scope); err != nil {
			t.release()
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return j, snap, nil
}

// findAndTake takes a run where it is, even if its last owner is just archiving it.
func (d *Store) findAndTake(id persistence.ID) (*taken, error) {
	for try := 0; ; try++ {
		p, err := d.find(id)
		if err != nil {
			return nil, err
		}
		t, err := d.take(p)
		if err != nil {
			return nil, err
		}
		if again, err := d.find(id); err == nil && again == p || try == 3 {
			return t, err
		}
		t.release()
	}
}

// goOn makes a journal of a run that was taken over.
func (d *Store) goOn(t *taken, spec persistence.Spec, scope []string) (*journal, *fsm.Snapshot, error) {
	l, err := t.load(true)
	if err != nil {
		return nil, nil, err
	}
	if !l.status.CanGoOn(l.outcome().Retriable()) || t.folder != "" && l.foreign {
		return nil, nil, &persistence.NotResumableError{ID: t.id, Status: l.status}
	}
	text, inFile := t.definition(l.flat)
	if t.folder != "" {
		if err := d.unarchive(t); err != nil {
			return nil, nil, err
		}
	}
	files := d.live(t.id)
	if err := d.repair(files, l); err != nil {
		return nil, nil, err
	}
	spec.Loop = l.Loop
	if err := d.own(t.lock, t.id, l.segment+1, spec, scope); err != nil {
		return nil, nil, err
	}
	work := t.workOf(l.flat)
	if err := disk.MakeWork(d.runs, work); err != nil {
		return nil, nil, err
	}
	if !inFile {
		err = keepDefinition(work, text)
	}
	if err = errors.Join(err, keepDefinition(work, spec.Definition)); err != nil {
		return nil, nil, err
	}
	f, err := disk.OpenPrivate(files.events, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return nil, nil, err
	}
	j := &journal{
		d: d, id: t.id, files: files, work: work, lock: t.lock, events: f, resumed: true, rec: *l.record,
		damage: l.damage,
	}
	j.seq, j.offset, j.before, j.known = l.seq, l.good, l.lastBefore, true
	j.rec.part = l.before
	j.rec.owner, j.rec.reconciled, j.rec.why = spec.Owner, time.Time{}, ""
	j.rec.segment++
	if j.rec.def.sha != "" {
		j.rec.def.text = string(text)
	}
	j.define(spec.Definition)
	if spec.Options != nil {
		j.rec.options = spec.Options
	}
	if spec.MaxSteps != 0 {
		j.rec.maxSteps = spec.MaxSteps
	}
	if j.rec.sha == "" {
		j.rec.sha = spec.SHA256
	}
	if spec.File != "" { // its folder may have been moved
		j.rec.file = spec.File
	}
	j.init()
	return j, snapshot.Clone(&l.Snapshot), nil
}
