package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/internal/bundle"
	"loops/persistence"
)

type importOptions struct {
	maxSize string
	json    bool
}

func newImportCommand(a *app) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Take in a run that was exported",
		Long: `import takes the run in FILE, which loops export wrote, into the store: with its id, history, memory, loop file and
the files of its working folder. It can be looked at and resumed as if it had run here. The run is there whole or not
at all.

Nothing is overwritten. A run that is there already is compared: if it is the same that is said, and nothing is done;
if it is another one, or a file of another content is in its working folder, that is an error.

FILE is checked before anything of it is used. A file that is cut off or damaged, whose checksums do not hold, that
holds names leading elsewhere, links, or more than --max-size when it is unpacked, is refused with the reason. A run
of the reference tool can be imported into a database only.` +
			exitMeanings(exitMeaning{exitOK, "the run is there, also if it was before"},
				exitMeaning{exitFailed, "FILE is damaged or no archive of a run, or another run has its id or working folder"},
				exitMeaning{exitUsage, "bad command line"}, exitMeaning{exitNotFound, "there is no FILE"},
				exitMeaning{exitConflict, "the run that is there goes on"}, exitMeaning{exitRecord, "FILE cannot be read, or the records of runs cannot be used"}),
		Example: `  loops import fix-20261121T103405.tar.zst
  loops import run.tar.gz --store sqlite:.loops/runs.db`,
		Args: arguments(1, 1, "FILE, which loops export wrote"),
		RunE: func(cmd *cobra.Command, args []string) error { return runImport(cmd.Context(), a, o, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.maxSize, "max-size", "4G", "refuse a file with more than `SIZE` in it")
	flags.BoolVar(&o.json, "json", false, "print a JSON object")
	return cmd
}

func runImport(ctx context.Context, a *app, o importOptions, arg string) error {
	limit, err := parseRoom("--max-size", o.maxSize, "loops import --help")
	if err != nil {
		return err
	}
	path := a.at(arg)
	switch st, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return failure(exitNotFound, "there is no file %s", arg)
	case err == nil && !st.Mode().IsRegular():
		return failure(exitFailed, "%s is no regular file", arg)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	p, err := a.project()
	if err != nil {
		return err
	}
	store, err := a.records(ctx, p, true)
	if err != nil {
		return err
	}
	defer store.Close()
	runs := filepath.Join(p.Loops, "runs")
	if err := persistence.MakeFolder(p.Loops, runs); err != nil {
		return err
	}
	forgetImports(runs)
	dir, err := os.MkdirTemp(runs, importPrefix+"*") // on the disk where the working folder will be
	if err != nil {
		return err
	}
	defer persistence.RemoveTree(dir) //nolint:errcheck // forgetImports tries again
	b, err := bundle.Open(ctx, file, dir, limit)
	if bad, ok := errors.AsType[*bundle.Error](err); ok {
		return failure(exitFailed, "%s was not imported: %v", arg, bad)
	}
	if err != nil {
		return fmt.Errorf("%s was not imported: %w", arg, err)
	}
	digest, result, err := takeIn(ctx, store, b, filepath.Join(runs, filepath.FromSlash(string(b.Run.ID))))
	if err != nil {
		return fmt.Errorf("%s was not imported: %w", arg, err)
	}
	if o.json {
		return writeJSON(a.out, fsm.NewMap("instance_id", string(b.Run.ID), "loop", b.Run.Loop, "status", string(b.Run.Status), "result", result,
			"events", int64(digest.Events), "files", int64(b.Files), "sha256", digest.Hash))
	}
	if result == already {
		say(a.out, "%s is there already, and the same. Nothing was imported.\n", b.Run.ID)
		return nil
	}
	say(a.out, "Imported %s (%s, %s, %s).\n", b.Run.ID, b.Run.Status, count(digest.Events, "event"), count(b.Files, "file"))
	return nil
}

// takeIn imports a run whose working folder will be work. The files go there first: a run that is listed has them.
func takeIn(ctx context.Context, store records, b *bundle.Bundle, work string) (d persistence.Digest, result string, err error) {
	there, err := store.Runs(ctx, persistence.Query{ID: b.Run.ID})
	if err != nil {
		return d, "", store.failed(err)
	}
	undo := func() {}
	if len(there) == 0 {
		undo, err = placeFiles(b.Work(), work)
		if err == nil && b.Files > 0 {
			err = persistence.SyncTree(work) // before the record that names them
		}
		if err != nil {
			undo()
			return d, "", err
		}
	} else if alive(there[0]) {
		return d, "", &persistence.HeldError{ID: b.Run.ID, Owner: there[0].Owner}
	}
	d, err = persistence.Copy(ctx, b, store.importer(), b.Run)
	switch {
	case errors.Is(err, fs.ErrExist):
		return d, already, nil
	case err != nil:
		if now, e := store.Runs(ctx, persistence.Query{ID: b.Run.ID}); e == nil && len(now) == 0 {
			undo()
		}
		return d, "", err
	}
	return d, "imported", nil
}

// placeFiles gives files their places in a working folder. Those that are there must have the same content. undo takes back
// what was placed.
func placeFiles(from, work string) (undo func(), err error) {
	var placed []string
	undo = func() {
		for _, p := range placed {
			_ = os.Remove(p)
		}
		_ = os.Remove(work) // only if it is empty
	}
	var names []string
	err = filepath.WalkDir(from, func(p string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && p == from {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, p)
		names = append(names, name)
		if err != nil {
			return err
		}
		have, err := persistence.ReadRecord(filepath.Join(work, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		want, e2 := persistence.ReadRecord(p)
		if err := errors.Join(err, e2); err != nil {
			return err
		}
		if string(have) != string(want) {
			return failure(exitFailed, "%s is there with another content; move it away, then try again", filepath.Join(work, name))
		}
		return nil
	})
	if err != nil {
		return undo, err
	}
	if len(names) == 0 {
		return undo, nil
	}
	if err := persistence.MakeWork(filepath.Dir(work), work); err != nil {
		return undo, err
	}
	root, err := os.OpenRoot(work) // nothing in it leads out of it
	if err != nil {
		return undo, err
	}
	defer root.Close()
	for _, name := range names {
		to := filepath.Join(work, name)
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return undo, fmt.Errorf("%s: %w", work, err)
		}
		err := os.Link(filepath.Join(from, name), to) // never over another
		switch {
		case errors.Is(err, fs.ErrExist):
		case err != nil:
			return undo, err
		default:
			placed = append(placed, to)
		}
	}
	return undo, nil
}

// importPrefix begins the names of folders that imports unpack to.
const importPrefix = ".import-"

// forgetImports removes what imports that were killed left: nothing else has such a name, and none takes a day.
func forgetImports(runs string) {
	entries, err := os.ReadDir(runs)
	if err != nil {
		return
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), importPrefix) && time.Since(st.ModTime()) > 24*time.Hour {
			_ = persistence.RemoveTree(filepath.Join(runs, e.Name()))
		}
	}
}
