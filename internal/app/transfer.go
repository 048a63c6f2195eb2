package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/disk"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
	"loops/persistence/archive"
	"loops/reconcile"
)

// RecordedRun is a run as it is recorded, and not as it is seen: an import compares with that. One that a
// process owns is an error.
func RecordedRun(ctx context.Context, store *project.Records, run persistence.Run) (persistence.Run, error) {
	if project.Alive(run) || run.Held {
		return run, &persistence.HeldError{ID: run.ID, Owner: run.Owner}
	}
	recorded, err := store.Store.Runs(ctx, persistence.Query{ID: run.ID})
	if err != nil {
		return run, store.Failed(err)
	}
	if len(recorded) == 1 {
		run = recorded[0]
	}
	return run, nil
}

// CopyRuns copies the runs that a project has in the store at one location to the store at another, and tells
// page the result of each. set gets how many of them are done; end is called before page gets anything.
func CopyRuns(ctx context.Context, p *project.Project, fromAt, toAt string, page *view.Page, asJSON bool,
	set func(done, all int64), end func(),
) error {
	from, err := p.RecordsAt(ctx, fromAt, "FROM", false)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := p.RecordsAt(ctx, toAt, "TO", true)
	if err != nil {
		return err
	}
	defer to.Close()
	runs, err := from.Store.Runs(ctx, persistence.Query{})
	if err != nil {
		return from.Failed(err)
	}
	slices.Reverse(runs) // the oldest first: if the user stops it, the beginning is there
	results := make([]CopiedRun, 0, len(runs))
	for i, r := range runs {
		set(int64(i), int64(len(runs)))
		results = append(results, CopyRun(ctx, from, to, r))
	}
	end()
	return TellCopied(page, asJSON, from, to, results)
}

// WorkFolderOf is the working folder of a run.
func WorkFolderOf(p *project.Project, run persistence.Run) string {
	return filepath.Join(p.Loops, "runs", filepath.FromSlash(string(run.ID)))
}

// A WriteError means that an archive cannot be written.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("%s cannot be written: %v", e.Path, project.Cause(e.Err))
}

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// An archiveFile is a file that keeps the error of a write apart from those of what is written.
type archiveFile struct {
	*os.File
	failed error
}

func (a *archiveFile) Write(b []byte) (n int, err error) {
	if n, err = a.File.Write(b); err != nil {
		a.failed = err
	}
	return n, err
}

// ExportRun writes a run with its working folder work into an archive at path, under another name first.
// through sees what is written; nil = nothing does. A run that is damaged is a *persistence.DamageError,
// because nothing could import it, and an archive that cannot be written a *WriteError. lessons are the files of the
// memories that the archive is to have.
func ExportRun(ctx context.Context, path string, useZstd bool, through func(io.Writer) io.Writer,
	store *project.Records, run persistence.Run, work string,
	lessons []string,
) (w archive.Written, size int64, err error) {
	if err := damageOf(run); err != nil {
		return w, 0, err
	}
	file, err := disk.CreateBeside(path)
	if err != nil {
		return w, 0, &WriteError{path, err}
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it has its name, or is of no use
	f := &archiveFile{File: file}
	out := io.Writer(f)
	if through != nil {
		out = through(f)
	}
	undo := file.Name() + ".undo"
	defer os.Remove(undo) //nolint:errcheck // the archive has it
	kept, err := engine.WriteSnapshots(ctx, store.Project, run.ID, undo)
	if err != nil {
		return w, 0, fmt.Errorf("the snapshots of its files cannot be read: %w", err)
	}
	if !kept {
		undo = ""
	}
	w, err = archive.Write(ctx, out, useZstd, store.Store, run, work, undo, lessons)
	w.Snapshots = kept
	if m, e := store.Snapshot(ctx, run.ID); e == nil && m != nil && m.Outcome != nil && m.Outcome.Receipt != nil {
		w.Receipt = m.Outcome.Receipt.Tree != ""
	}
	if err == nil {
		f.failed = f.Sync()
	}
	st, e := f.Stat()
	f.failed = errors.Join(f.failed, e, f.Chmod(0o600), f.Close())
	if f.failed == nil && err == nil {
		f.failed = os.Rename(f.Name(), path)
	}
	switch {
	case f.failed != nil:
		return w, 0, &WriteError{path, f.failed}
	case err != nil:
		store.MarkDamage(ctx, run.ID, err)
		return w, 0, err
	}
	store.UnmarkDamage(ctx, run.ID, false)
	return w, st.Size(), disk.SyncFolder(filepath.Dir(path))
}

// damageOf is what is damaged of the records of a run, nil for nothing.
func damageOf(r persistence.Run) error {
	if len(r.Damage) == 0 {
		return nil
	}
	return &persistence.DamageError{File: r.Log, Offset: -1, What: r.Damage[0]}
}

// MemoriesOf returns the files of the memories that a run began with, and that are there.
func MemoriesOf(ctx context.Context, store *project.Records, run persistence.Run) (files []string, err error) {
	folder := persistence.ProjectLessons(store.Project.Loops)
	for ev, err := range store.Events(ctx, run.ID, 0) {
		if err != nil {
			return nil, err
		}
		name, _ := ev.Get("memory").(string)
		if ev.Kind != fsm.EventMemoryRead || persistence.LessonName(name) != nil {
			continue
		}
		if file := folder.Path(name); !slices.Contains(files, file) && disk.Exists(file) {
			files = append(files, file)
		}
	}
	return files, nil
}

// ImportFile imports the run of an archive, which may be so large, and its memories where they are asked for. read is
// called when it has been read.
func ImportFile(ctx context.Context, store *project.Records, file io.Reader, limit int64, memories bool,
	read func(),
) (api.Imported, error) {
	p := store.Finder().Project
	runs := p.RunsDir()
	if err := disk.MakeFolder(p.Loops, runs); err != nil {
		return api.Imported{}, err
	}
	if _, err := engine.FinishRemovals(ctx, store); err != nil { // it could remove what is about to be placed
		return api.Imported{}, err
	}
	dir, done, err := archive.NewFolder(runs)
	if err != nil {
		return api.Imported{}, err
	}
	defer done()
	b, err := archive.Open(ctx, file, dir, limit)
	if read(); err != nil {
		return api.Imported{}, &notImportedError{err}
	}
	digest, result, err := importRun(ctx, store, b, filepath.Join(runs, filepath.FromSlash(string(b.Run.ID))))
	if err != nil {
		return api.Imported{}, &notImportedError{err}
	}
	snapshots, lost := false, ""
	if file := b.Undo(); file != "" {
		if err := engine.ReadSnapshots(ctx, p, b.Run.ID, file); err != nil {
			lost = humanize.OneLine(err)
		}
		snapshots = lost == ""
	}
	for _, name := range b.Lessons() {
		if !memories {
			break
		}
		text, err := b.Lesson(name)
		if err == nil {
			err = persistence.ProjectLessons(p.Loops).Join(ctx, name, text)
		}
		if err != nil {
			return api.Imported{}, fmt.Errorf("the run is imported, and its memory %s is not: %w", name, err)
		}
	}
	run := reconcile.View(b.Run, project.Alive(b.Run)) // it may have been exported when its process was dead
	return api.Imported{
		Instance: string(b.Run.ID), Loop: b.Run.Loop, Status: string(run.Status), Result: result,
		Events: digest.Events, Files: b.Files, SHA256: digest.Hash,
		Snapshots: snapshots, SnapshotsLost: lost, Memories: b.Lessons(), MemoriesTaken: memories &&
			len(b.Lessons()) > 0,
	}, nil
}

// A notImportedError is one of the archive, or of a run that could not be placed.
type notImportedError struct{ error }

func (e *notImportedError) Unwrap() error { return e.error }

// NotImported names the file whose run was not imported in an error of [ImportFile].
func NotImported(name string, err error) error {
	if bad, ok := errors.AsType[*archive.Error](err); ok {
		return engine.Refuse(engine.Failed, "%s was not imported: %v", name, bad)
	}
	if not, ok := errors.AsType[*notImportedError](err); ok {
		return fmt.Errorf("%s was not imported: %w", name, not.error)
	}
	return err
}

// importRun imports a run whose working folder will be work. The files go there first: a run that is listed has them.
func importRun(ctx context.Context, store *project.Records, b *archive.Bundle, work string) (d persistence.Digest,
	result string, err error,
) {
	there, err := store.Runs(ctx, persistence.Query{ID: b.Run.ID})
	if err != nil {
		return d, "", store.Failed(err)
	}
	undo := func() {}
	if len(there) == 0 {
		undo = func() { archive.TakeBack(b.Work(), work) }
		err = errors.Join(archive.WillPlace(store, b.Work(), b.Run.ID), archive.Place(b.Work(), work))
		if err == nil && b.Files > 0 {
			err = disk.SyncTree(work) // before the record that names them
		}
		if err != nil {
			undo()
			return d, "", err
		}
	} else if project.Alive(there[0]) {
		return d, "", &persistence.HeldError{ID: b.Run.ID, Owner: there[0].Owner}
	}
	d, err = persistence.Copy(ctx, b, store.Store, b.Run)
	switch {
	case errors.Is(err, fs.ErrExist):
		return d, Already, nil
	case err != nil:
		if now, e := store.Runs(ctx, persistence.Query{ID: b.Run.ID}); e == nil && len(now) == 0 {
			undo()
		}
		return d, "", err
	}
	return d, "imported", nil
}

// What became of a run.
const (
	copied   = "copied"
	Already  = "already there"
	leftOut  = "is running"
	differs  = "another one is there"
	notTaken = "not copied"
)

// A CopiedRun reports the result of a run.
type CopiedRun struct {
	run    persistence.Run
	result string
	digest persistence.Digest
	err    error
}

// CopyRun copies one run, or finds that it is there.
func CopyRun(ctx context.Context, from, to *project.Records, r persistence.Run) CopiedRun {
	c := CopiedRun{run: r}
	if project.Alive(r) {
		c.result = leftOut
		return c
	}
	err := damageOf(r)
	if err != nil {
		c.result, c.err = notTaken, err
		return c
	}
	c.digest, err = persistence.Copy(ctx, from.Store, to.Store, r)
	var held *persistence.HeldError
	var different *persistence.DifferentError
	switch {
	case err == nil:
		c.result = copied
	case errors.Is(err, fs.ErrExist):
		c.result = Already
	case errors.As(err, &held):
		c.result = leftOut // it was resumed since it was listed
	case errors.As(err, &different):
		c.result, c.err = differs, err
	default:
		c.result, c.err = notTaken, err
	}
	return c
}

// TellCopied reports the result of the runs.
func TellCopied(page *view.Page, asJSON bool, from, to *project.Records, results []CopiedRun) error {
	var errs []error
	n, events, there, left := 0, 0, 0, 0
	for _, c := range results {
		switch c.result {
		case copied:
			n, events = n+1, events+c.digest.Events
		case Already:
			there++
		case leftOut:
			left++
			terminal.Say(page.Err, "loops: run %s is running (%s) and was left out; stop it, or copy again later\n",
				c.run.ID, c.run.Owner)
		case differs:
			errs = append(errs, fmt.Errorf("%w; it was left unchanged", c.err))
		default:
			errs = append(errs, fmt.Errorf("run %s was not copied: %w", c.run.ID, c.err))
		}
	}
	if left > 0 {
		errs = append(errs, engine.Refuse(engine.Conflict, "%s left out", wereRuns(left)))
	}
	if asJSON {
		err := terminal.WriteJSON(page.Out, terminal.List(results, func(c CopiedRun) any {
			o := api.Copied{
				Instance: string(c.run.ID), Loop: c.run.Loop, Result: c.result,
				SHA256: api.Text(c.digest.Hash),
			}
			if c.digest.Hash != "" {
				o.Events = &c.digest.Events
			}
			if c.err != nil {
				o.Error = api.Text(humanize.OneLine(c.err))
			}
			return o
		}))
		return errors.Join(joinedErrors(errs), err)
	}
	if len(results) == 0 {
		terminal.Say(page.Out, "There are no runs in %s.\n", from.Name)
		return nil
	}
	switch {
	case n > 0:
		terminal.Say(page.Out, "Copied %s with %s from %s to %s, and compared them there.\n",
			humanize.Count(n, "run"), humanize.Count(events, "event"), from.Name, to.Name)
		terminal.Say(page.Out, "Folders of runs, with sealed secrets, and their snapshots in git are not copied: "+
			"both stores use the same.\n")
	default:
		terminal.Say(page.Out, "Nothing was copied from %s to %s.\n", from.Name, to.Name)
	}
	if there > 0 {
		terminal.Say(page.Out, "%s there already, and the same.\n", wereRuns(there))
	}
	return joinedErrors(errs)
}

func wereRuns(n int) string {
	if n == 1 {
		return "1 run was"
	}
	return fmt.Sprintf("%d runs were", n)
}

// joinedErrors returns errors as one; nil where there is none.
func joinedErrors(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return engine.Several(errs)
}
