package cli

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

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/sqlstore"
	"loops/reconcile"
)

// envStore says where runs are recorded, unless --store does.
const envStore = "LOOPS_STORE"

// storeFiles is the store in files, and the default.
const storeFiles = "dir"

// addStore gives a command that touches runs its flag --store.
func (a *app) addStore(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.store, "store", "", "where runs are recorded: `URL` is dir, sqlite:PATH or postgres://USER@HOST/NAME (default: $"+envStore+", the config, or dir)")
	return cmd
}

// A records is the store of a project's runs.
type records struct {
	persistence.Store
	project project
	files   bool   // it is in files under .loops
	name    string // for a person, without a password
	logs    string // folder of the logs of runs in the background
}

// location returns where the runs of a project are recorded: dir, or the URL of a database, in which a path is
// absolute. given is what the command line or the environment says, and from which of them it is.
func (p project) location(given, from string) (string, error) {
	scheme, path, _ := strings.Cut(given, ":")
	switch {
	case given == "" || given == storeFiles:
		return storeFiles, nil
	case scheme == "sqlite" && path != "" && !strings.HasPrefix(path, "?"):
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.Dir, path)
		}
		return "sqlite:" + path, nil
	case scheme == "postgres", scheme == "postgresql":
		return given, nil
	}
	return "", usageError{fmt.Sprintf("%s %s: expected dir, sqlite:PATH or postgres://USER@HOST/NAME", from, sqlstore.Redacted(given)), "loops store --help"}
}

// location returns where the runs of a project are recorded, and whether the flag, the environment or a file says so.
func (a *app) location(p project) (location, from string, err error) {
	given, from := a.store, "--store"
	if given == "" {
		given, _ = a.getenv(envStore)
		from = envStore
	}
	if given == "" {
		if given, from, err = a.configuredStore(p); err != nil {
			return "", "", err
		}
	}
	location, err = p.location(given, from)
	return location, from, err
}

// open returns the project and its records, to look at.
func (a *app) open(ctx context.Context) (project, records, error) {
	p, err := a.project()
	if err != nil {
		return p, records{}, err
	}
	r, err := a.records(ctx, p, false)
	return p, r, err
}

// records opens the recorded runs of a project. create says whether one may be added: only then a database of SQLite is
// made, so that a mistyped path does not look like a store without runs.
func (a *app) records(ctx context.Context, p project, create bool) (records, error) {
	location, from, err := a.location(p)
	if err != nil {
		return records{}, err
	}
	return p.records(ctx, location, from, create)
}

// records opens the store at a location. It is the only place that knows which stores there are.
func (p project) records(ctx context.Context, location, from string, create bool) (records, error) {
	if location == storeFiles {
		store, err := persistence.OpenDir(p.Loops)
		if err != nil {
			return records{}, cannotOpen(p, err)
		}
		store.Liveness = reconcile.OwnerAlive
		return records{Store: store, project: p, files: true, name: p.short(p.Loops), logs: p.logs()}, nil
	}
	if path, missing := missingFile(location); missing && !create {
		return records{}, failure(exitNotFound, "there is no database %s (%s); if the path is right nothing was recorded there yet: loops run makes it", p.short(path), from)
	}
	store, err := sqlstore.Open(ctx, location)
	if bad, ok := errors.AsType[*sqlstore.URLError](err); ok {
		return records{}, usageError{from + " " + strings.TrimPrefix(bad.Error(), "store "), "loops store --help"}
	}
	if err != nil {
		return records{}, databaseError{err}
	}
	store.Liveness, store.Sight, store.Folder = reconcile.OwnerAlive, reconcile.Sight, p.runs()
	return records{Store: database{store}, project: p, name: store.Name(), logs: p.logs()}, nil
}

// key is the store, by the same word from every folder that a command may work in.
func (r records) key() string {
	if r.files {
		return storeFiles
	}
	return r.name
}

// Runs has the loop files of the runs where they are now.
func (r records) Runs(ctx context.Context, q persistence.Query) ([]persistence.Run, error) {
	runs, err := r.Store.Runs(ctx, q)
	for i := range runs {
		runs[i].File = r.project.absolute(runs[i].File)
	}
	return runs, err
}

// sqliteFile returns the path of a database of SQLite.
func sqliteFile(location string) (path string, ok bool) {
	path, ok = strings.CutPrefix(location, "sqlite:")
	path, _, _ = strings.Cut(path, "?")
	return path, ok
}

// missingFile says whether a location is a file of SQLite that is not there.
func missingFile(location string) (path string, missing bool) {
	path, ok := sqliteFile(location)
	if !ok {
		return "", false
	}
	_, err := os.Stat(path)
	return path, errors.Is(err, fs.ErrNotExist)
}

// setDurability has runs recorded as the command line says; "" leaves it as it is. An unknown name, of a later version
// perhaps, is strict.
func (r records) setDurability(name string) {
	if name == "" {
		return
	}
	d, _ := persistence.ParseDurability(name)
	switch s := r.Store.(type) {
	case *persistence.Dir:
		s.Durability = d
	case database:
		s.Durability = d
	}
}

// durability is when what runs record here can no longer be lost with the power.
func (r records) durability() persistence.Durability {
	switch s := r.Store.(type) {
	case *persistence.Dir:
		return s.Durability
	case database:
		return s.Durability
	}
	return persistence.None
}

// place names, for a person, what holds the record of a run that has not been archived.
func (r records) place(p project, run persistence.Run) string {
	if r.files {
		return p.short(filepath.Dir(run.Log))
	}
	return r.name
}

// failed says that the records cannot be used.
func (r records) failed(err error) error {
	if !r.files {
		return err // it names the database
	}
	return fmt.Errorf("%s: %w", r.name, err)
}

// A databaseError is a failure of a database that holds runs.
type databaseError struct{ err error }

func (e databaseError) Error() string { return e.err.Error() }
func (e databaseError) Unwrap() error { return e.err }

// A database is a store whose errors are known to be about it, whatever the driver calls them.
type database struct{ *sqlstore.Store }

func (d database) Create(ctx context.Context, spec persistence.Spec) (persistence.Journal, error) {
	j, err := d.Store.Create(ctx, spec)
	return j, aboutDatabase(err)
}

func (d database) Resume(ctx context.Context, id persistence.ID, spec persistence.Spec) (persistence.Journal, *fsm.Snapshot, error) {
	j, m, err := d.Store.Resume(ctx, id, spec)
	return j, m, aboutDatabase(err)
}

func (d database) Runs(ctx context.Context, q persistence.Query) ([]persistence.Run, error) {
	runs, err := d.Store.Runs(ctx, q)
	return runs, aboutDatabase(err)
}

func (d database) Snapshot(ctx context.Context, id persistence.ID) (*fsm.Snapshot, error) {
	m, err := d.Store.Snapshot(ctx, id)
	return m, aboutDatabase(err)
}

func (d database) Events(ctx context.Context, id persistence.ID, after uint64) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		d.Store.Events(ctx, id, after)(func(e fsm.Event, err error) bool { return yield(e, aboutDatabase(err)) })
	}
}

func (d database) Interrupt(ctx context.Context, id persistence.ID, at time.Time, why string) error {
	return aboutDatabase(d.Store.Interrupt(ctx, id, at, why))
}

func (d database) Archive(ctx context.Context, id persistence.ID) error {
	return aboutDatabase(d.Store.Archive(ctx, id))
}

func (d database) Remove(ctx context.Context, id persistence.ID) error {
	err := d.Store.Remove(ctx, id)
	if _, gone := errors.AsType[*persistence.RemainsError](err); gone {
		return err // the database did its part
	}
	return aboutDatabase(err)
}

func (d database) FinishRemovals(ctx context.Context) ([]persistence.ID, error) {
	ids, err := d.Store.FinishRemovals(ctx)
	return ids, aboutDatabase(err)
}

func (d database) Size(ctx context.Context, id persistence.ID) (int64, error) {
	n, err := d.Store.Size(ctx, id)
	return n, aboutDatabase(err)
}

func (d database) Import(ctx context.Context, r persistence.Recorded) error {
	return aboutDatabase(d.Store.Import(ctx, r))
}

func aboutDatabase(err error) error {
	if err == nil {
		return nil
	}
	return databaseError{err}
}
