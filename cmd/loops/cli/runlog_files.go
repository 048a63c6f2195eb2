package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"loops/persistence"
)

// Size is that of the store and of the logs that the run wrote in the background.
func (r records) Size(ctx context.Context, id persistence.ID) (int64, error) {
	n, err := r.Store.Size(ctx, id)
	if err != nil {
		return n, err
	}
	for _, path := range logFiles(r.logs, id) {
		if info, err := os.Lstat(path); err == nil {
			n += info.Size()
		}
	}
	return n, nil
}

// Remove removes the logs of the run, too, when it is gone.
func (r records) Remove(ctx context.Context, id persistence.ID) error {
	err := r.Store.Remove(ctx, id)
	remains, partly := errors.AsType[*persistence.RemainsError](err)
	if err != nil && !partly {
		return err
	}
	var lost error
	for _, path := range logFiles(r.logs, id) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			lost = errors.Join(lost, err)
		}
	}
	switch {
	case lost == nil:
		return err
	case partly:
		lost = errors.Join(remains.Err, lost)
	}
	return &persistence.RemainsError{ID: id, Err: lost}
}

// logFiles returns the paths at which the logs of a run in a folder are, if it has any. No other run's can be there: what
// follows an id in the name of a file is .log.
func logFiles(folder string, id persistence.ID) (paths []string) {
	if filepath.Base(string(id)) != string(id) {
		return nil // not one that a store made
	}
	name := filepath.Join(folder, string(id)+".log")
	for n := range logKeep + 1 {
		paths = append(paths, fullLog(name, n))
	}
	return paths
}
