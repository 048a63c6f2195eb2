package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore"
	"loops/persistence/sqlstore"
	"loops/reconcile"
)

// EnvStore says where runs are recorded, unless --store does.
const EnvStore = "LOOPS_STORE"

// StoreFiles is the store in files, and the default.
const StoreFiles = "dir"

// A Records is the store of a project's runs.
type Records struct {
	persistence.Store
	Project *Project
	Files   bool   // it is in files under .loops
	Name    string // for a person, without a password
	Logs    string // folder of the logs of runs in the background

	damage *damageMarks // nil = it has none
}

// Locate returns where the runs of a project are recorded: dir, or the URL of a database, in which a path is
// absolute. given is what the command line or the environment says, and from which of them it is.
func (p *Project) Locate(given, from string) (string, error) {
	scheme, path, _ := strings.Cut(given, ":")
	switch {
	case given == "" || given == StoreFiles:
		return StoreFiles, nil
	case scheme == "sqlite" && path != "" && !strings.HasPrefix(path, "?"):
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.Dir, path)
		}
		return "sqlite:" + path, nil
	case scheme == "postgres", scheme == "postgresql":
		return given, nil
	}
	return "", &StoreURLError{from, persistence.Redacted(given) +
		": expected dir, sqlite:PATH or postgres://USER@HOST/NAME"}
}

// Location returns where the runs of the project are recorded, and what says so: the caller, the environment or a file.
func (p *Project) Location() (location, from string, err error) {
	given, from := p.Store, "--store"
	if given == "" {
		given, _ = p.getenv(EnvStore)
		from = EnvStore
	}
	if given == "" {
		if given, from, err = p.configuredStore(); err != nil {
			return "", "", err
		}
	}
	location, err = p.Locate(given, from)
	return location, from, err
}

// Records opens the recorded runs of the project. create reports whether one may be added: only then a database
// of SQLite is made, so that a mistyped path does not look like a store without runs.
func (p *Project) Records(ctx context.Context, create bool) (*Records, error) {
	location, from, err := p.Location()
	if err != nil {
		return nil, err
	}
	return p.RecordsAt(ctx, location, from, create)
}

// RecordsAt opens the store at a location. It is the only place that knows which stores there are.
func (p *Project) RecordsAt(ctx context.Context, location, from string, create bool) (*Records, error) {
	if location == StoreFiles {
		store, err := dirstore.Open(p.Loops)
		if err != nil {
			return nil, p.CannotOpen(err)
		}
		store.Liveness = reconcile.OwnerAlive
		return &Records{
			Store: store, Project: p, Files: true, Name: p.Short(p.Loops), Logs: p.LogsDir(),
			damage: new(damageMarks),
		}, nil
	}
	if path, missing := MissingFile(location); missing && !create {
		return nil, &NoDatabaseError{p.Short(path), from}
	}
	if path, ok := SQLiteFile(location); ok {
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			return nil, &StoreURLError{from, location + ": it is a folder; expected a file, such as sqlite:" +
				filepath.Join(path, "runs.db")}
		}
	}
	store, err := sqlstore.Open(ctx, location)
	if bad, ok := errors.AsType[*sqlstore.URLError](err); ok {
		return nil, &StoreURLError{from, strings.TrimPrefix(bad.Error(), "store ")}
	}
	if err != nil {
		return nil, DatabaseError{Err: err}
	}
	store.Liveness, store.Sight, store.Folder = reconcile.OwnerAlive, reconcile.Sight, p.RunsDir()
	if !p.AllProjects {
		store.Projects, store.Admitted = p.Names(), p.admitted
	}
	files, err := dirstore.Open(p.Loops)
	if err != nil {
		return nil, errors.Join(p.CannotOpen(err), store.Close())
	}
	files.Liveness = reconcile.OwnerAlive
	store.Paths = files.PathLocks(persistence.Redacted(location))
	return &Records{
		Store: Database{store}, Project: p, Name: store.Name(), Logs: p.LogsDir(),
		damage: new(damageMarks),
	}, nil
}

// Key is the store, by the same word from every folder that a command may work in.
func (r *Records) Key() string {
	if r.Files {
		return StoreFiles
	}
	return r.Name
}

// Runs has the loop files of the runs where they are now. A run that is recorded as running and whose owner is
// dead is read once more: its owner may have recorded its end, and died, between the look at the record and the
// look at the owner. Damage that was found in events before is among that of the runs.
func (r *Records) Runs(ctx context.Context, q persistence.Query) ([]persistence.Run, error) {
	runs, err := r.Store.Runs(ctx, q)
	for i := range runs {
		r.complete(ctx, q, &runs[i])
	}
	r.addMarks(ctx, runs)
	return runs, err
}

// Each yields the runs that Runs returns.
func (r *Records) Each(ctx context.Context, q persistence.Query) iter.Seq2[persistence.Run, error] {
	return func(yield func(persistence.Run, error) bool) {
		one := make([]persistence.Run, 1)
		for run, err := range r.Store.Each(ctx, q) {
			if err == nil {
				one[0] = run
				r.complete(ctx, q, &one[0])
				r.addMarks(ctx, one)
				run = one[0]
			}
			if !yield(run, err) {
				return
			}
		}
	}
}

// complete reads a run again whose owner ended since it was listed, and makes the path of its file absolute.
func (r *Records) complete(ctx context.Context, q persistence.Query, run *persistence.Run) {
	if run.Status == persistence.Running && !Alive(*run) {
		if again, err := r.Store.Runs(ctx, persistence.Query{
			ID: run.ID, Anywhere: q.Anywhere, Readings: q.Readings,
			HeldReadings: q.HeldReadings,
		}); err == nil && len(again) == 1 {
			*run = again[0]
		}
	}
	run.File = r.Project.Absolute(run.File)
}

// SQLiteFile returns the path of a database of SQLite.
func SQLiteFile(location string) (path string, ok bool) {
	path, ok = strings.CutPrefix(location, "sqlite:")
	path, _, _ = strings.Cut(path, "?")
	return path, ok
}

// MissingFile reports whether a location is a file of SQLite that is not there.
func MissingFile(location string) (path string, missing bool) {
	path, ok := SQLiteFile(location)
	if !ok {
		return "", false
	}
	_, err := os.Stat(path)
	return path, errors.Is(err, fs.ErrNotExist)
}

// SetDurability has runs recorded as the command line says; "" leaves it as it is. An unknown name, of a later version
// perhaps, is strict.
func (r *Records) SetDurability(name string) {
	if name == "" {
		return
	}
	d, _ := persistence.ParseDurability(name)
	switch s := r.Store.(type) {
	case *dirstore.Store:
		s.Durability = d
	case Database:
		s.Durability = d
	}
}

// Level is when what runs record here can no longer be lost with the power.
func (r *Records) Level() persistence.Durability {
	switch s := r.Store.(type) {
	case *dirstore.Store:
		return s.Durability
	case Database:
		return s.Durability
	}
	return persistence.None
}

// Place names, for a person, what holds the record of a run that has not been archived.
func (r *Records) Place(p *Project, run persistence.Run) string {
	if r.Files {
		return p.Short(filepath.Dir(run.Log))
	}
	return r.Name
}

// Failed says that the records cannot be used.
func (r *Records) Failed(err error) error {
	if !r.Files {
		return err // it names the database
	}
	return fmt.Errorf("%s: %w", r.Name, err)
}

// A DatabaseError is a failure of a database that holds runs.
type DatabaseError struct{ Err error }

func (e DatabaseError) Error() string { return e.Err.Error() }
func (e DatabaseError) Unwrap() error { return e.Err }

// A Database is a store whose errors are known to be about it, whatever the driver calls them.
type Database struct{ *sqlstore.Store }

// Create is that of the store.
func (d Database) Create(ctx context.Context, spec persistence.Spec) (persistence.Journal, error) {
	j, err := d.Store.Create(ctx, spec)
	return j, aboutDatabase(err)
}

// Resume is that of the store.
func (d Database) Resume(ctx context.Context, id persistence.ID, spec persistence.Spec) (persistence.Journal,
	*fsm.Snapshot, error,
) {
	j, m, err := d.Store.Resume(ctx, id, spec)
	return j, m, aboutDatabase(err)
}

// Runs is that of the store.
func (d Database) Runs(ctx context.Context, q persistence.Query) ([]persistence.Run, error) {
	runs, err := d.Store.Runs(ctx, q)
	for i := range runs {
		if r := runs[i].Reading; r != nil {
			runs[i].Reading = databaseReading{r}
		}
	}
	return runs, aboutDatabase(err)
}

// Each is that of the store.
func (d Database) Each(ctx context.Context, q persistence.Query) iter.Seq2[persistence.Run, error] {
	return func(yield func(persistence.Run, error) bool) {
		for r, err := range d.Store.Each(ctx, q) {
			if r.Reading != nil {
				r.Reading = databaseReading{r.Reading}
			}
			if !yield(r, aboutDatabase(err)) {
				return
			}
		}
	}
}

// A databaseReading is a reading whose errors are known to be about the database.
type databaseReading struct{ persistence.Reading }

// Memory is that of the store.
func (d databaseReading) Memory(ctx context.Context) (*fsm.Snapshot, error) {
	m, err := d.Reading.Memory(ctx)
	return m, aboutDatabase(err)
}

// Events is that of the store.
func (d databaseReading) Events(ctx context.Context, after uint64) iter.Seq2[fsm.Event, error] {
	return aboutDatabaseEach(d.Reading.Events(ctx, after))
}

// Snapshot is that of the store.
func (d Database) Snapshot(ctx context.Context, id persistence.ID) (*fsm.Snapshot, error) {
	m, err := d.Store.Snapshot(ctx, id)
	return m, aboutDatabase(err)
}

// Events is that of the store.
func (d Database) Events(ctx context.Context, id persistence.ID, after uint64) iter.Seq2[fsm.Event, error] {
	return aboutDatabaseEach(d.Store.Events(ctx, id, after))
}

// Track is that of the store.
func (d Database) Track(r persistence.Run, after uint64) persistence.Track {
	return persistence.TrackEvents(d, r, after)
}

// aboutDatabaseEach has the errors among events known to be about the database.
func aboutDatabaseEach(events iter.Seq2[fsm.Event, error]) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		events(func(e fsm.Event, err error) bool { return yield(e, aboutDatabase(err)) })
	}
}

// Tidy is that of the store.
func (d Database) Tidy(ctx context.Context, todo []persistence.Tidying) []error {
	errs := d.Store.Tidy(ctx, todo)
	for i := range errs {
		errs[i] = aboutDatabase(errs[i])
	}
	return errs
}

// Interrupt is that of the store.
func (d Database) Interrupt(ctx context.Context, id persistence.ID, at time.Time, why string) error {
	return aboutDatabase(d.Store.Interrupt(ctx, id, at, why))
}

// Archive is that of the store.
func (d Database) Archive(ctx context.Context, id persistence.ID) error {
	return aboutDatabase(d.Store.Archive(ctx, id))
}

// Remove is that of the store.
func (d Database) Remove(ctx context.Context, id persistence.ID) error {
	err := d.Store.Remove(ctx, id)
	if _, gone := errors.AsType[*persistence.RemainsError](err); gone {
		return err // the database did its part
	}
	return aboutDatabase(err)
}

// FinishRemovals is that of the store.
func (d Database) FinishRemovals(ctx context.Context) ([]persistence.ID, error) {
	ids, err := d.Store.FinishRemovals(ctx)
	return ids, aboutDatabase(err)
}

// Sizes are those of the store.
func (d Database) Sizes(ctx context.Context, ids []persistence.ID, listed []int64) ([]int64, error) {
	sizes, err := d.Store.Sizes(ctx, ids, listed)
	return sizes, aboutDatabase(err)
}

// Import is that of the store.
func (d Database) Import(ctx context.Context, r persistence.Recorded) error {
	return aboutDatabase(d.Store.Import(ctx, r))
}

func aboutDatabase(err error) error {
	if err == nil {
		return nil
	}
	return DatabaseError{Err: err}
}

// CannotOpen says that the records of a project cannot be used.
func (p *Project) CannotOpen(err error) error { return fmt.Errorf("%s: %w", p.Short(p.Loops), err) }

// IsDamage reports whether an error names damaged bytes, behind which reading continues.
func IsDamage(err error) bool {
	_, ok := errors.AsType[*persistence.DamageError](err)
	return ok
}

// Passing reports whether an error of the store may be gone the next time.
func (r *Records) Passing(err error) bool {
	if db, ok := r.Store.(Database); ok {
		return db.Passing(err)
	}
	return errors.Is(err, persistence.ErrBusy)
}

// Owned reports whether a run that was in the way still is.
func (r *Records) Owned(ctx context.Context, id persistence.ID) bool {
	if files, ok := r.Store.(interface{ Owned(persistence.ID) bool }); ok {
		return files.Owned(id)
	}
	run, found := r.Anywhere(ctx, id)
	return found && run.Held
}

// Newest gives the events of a run from the newest backwards, until each wants no more. The error is that of
// reading; what is damaged is left out.
func (r *Records) Newest(ctx context.Context, id persistence.ID, each func(fsm.Event) bool) error {
	for e, err := range r.Tail(ctx, id) {
		if err != nil || !each(e) {
			return err
		}
	}
	return nil
}

// manyLogs is for how many runs the names of all logs are read.
const manyLogs = 100

// Sizes are those of the store and of the logs that the runs wrote in the background.
func (r *Records) Sizes(ctx context.Context, ids []persistence.ID, listed []int64) ([]int64, error) {
	sizes, err := r.Store.Sizes(ctx, ids, listed)
	if err != nil {
		return nil, err
	}
	var logs map[string]bool // by name; nil = each is looked for
	if len(ids) > manyLogs {
		logs = map[string]bool{}
		_ = disk.EachName(r.Logs, func(name string) { logs[name] = true })
	}
	for i, id := range ids {
		if logs != nil && len(logs) == 0 {
			break
		}
		for _, path := range persistence.LogFiles(r.Logs, id) {
			if logs != nil && !logs[filepath.Base(path)] {
				continue
			}
			if info, err := os.Lstat(path); err == nil {
				sizes[i] += info.Size()
			}
		}
	}
	return sizes, nil
}

// RecordsMark distinguishes where the runs of a project are recorded from any other place: there an id is of one run. A
// database may have the runs of several projects.
func (p *Project) RecordsMark() string {
	location, _, err := p.Location()
	if err != nil || location == StoreFiles {
		return p.Mark()
	}
	if path, ok := SQLiteFile(location); ok {
		return markOf("sqlite:", path)
	}
	return markOf("", persistence.Redacted(location))
}
