package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

// placeWait is how long the lock on the place is waited for. It is held while a run is removed, but for its files.
const placeWait = 30 * time.Second

// placeFile holds the word that distinguishes this project from all others that record in the database, also when it
// was moved, or its machine has another name.
func (s *Store) placeFile() string { return filepath.Join(s.Folder, ".place") }

// logs is the folder of the logs of runs in the background.
func (s *Store) logs() string { return filepath.Join(filepath.Dir(s.Folder), "logs") }

// here does f while no other process of this project removes files of runs, with the word of the project.
func (s *Store) here(ctx context.Context, f func(place string) error) error {
	if err := disk.MakeFolder(filepath.Dir(s.Folder), s.Folder); err != nil {
		return err
	}
	file, err := disk.Open(s.placeFile(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer disk.Release(file) //nolint:errcheck // it is read again
	if err := lockFile(ctx, file); err != nil {
		return err
	}
	word, err := readPlace(file)
	if err != nil {
		return err
	}
	return f(word)
}

// FolderWord implements [persistence.Placer].
func (s *Store) FolderWord(ctx context.Context) (string, error) { return s.place(ctx) }

// place returns the word of this project.
func (s *Store) place(ctx context.Context) (word string, err error) {
	if b, err := disk.Read(s.placeFile()); err == nil && isPlace(b) {
		return string(b), nil
	}
	err = s.here(ctx, func(w string) error {
		word = w
		return nil
	})
	return word, err
}

// root is the folder of this project.
func (s *Store) root() string {
	return persistence.ResolveScope([]string{filepath.Dir(filepath.Dir(s.Folder))})[0]
}

// shared returns what a scope means to another machine that has the folder of this project, perhaps at another
// path: its paths inside of the folder, which is / there. What lies outside of it is on this machine alone.
func (s *Store) shared(scope []string) (inside []string) {
	root := s.root()
	for _, p := range scope {
		switch rel, err := filepath.Rel(root, p); {
		case err != nil:
		case filepath.IsLocal(rel):
			inside = append(inside, filepath.Join("/", rel))
		case strings.Trim(rel, "./") == "": // ../..: the folder is inside of p
			inside = append(inside, "/")
		}
	}
	return inside
}

// stay records that this project has files of a run.
func (s *Store) stay(ctx context.Context, tx *sql.Tx, r *row, place string) error {
	_, err := tx.ExecContext(ctx, s.q(`INSERT INTO places (run, place) VALUES (?, ?) ON CONFLICT DO NOTHING`), r.n,
		place)
	return err
}

func lockFile(ctx context.Context, f *os.File) error {
	for giveUp := time.Now().Add(placeWait); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		case time.Now().After(giveUp):
			return &os.PathError{Op: "flock", Path: f.Name(), Err: persistence.ErrBusy}
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

const placeBytes = 16

func isPlace(b []byte) bool {
	_, err := hex.DecodeString(string(b))
	return err == nil && len(b) == 2*placeBytes
}

// readPlace reads the word of a project, and makes one up where there is none, or only a part of one.
func readPlace(f *os.File) (string, error) {
	have, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil || isPlace(have) {
		return string(have), err
	}
	raw := make([]byte, placeBytes)
	if _, err := rand.Read(raw); err != nil {
		return "", err
	}
	word := hex.EncodeToString(raw)
	if _, err := f.WriteAt([]byte(word), 0); err != nil {
		return "", err
	}
	if err := errors.Join(f.Truncate(int64(len(word))), f.Sync()); err != nil {
		return "", err
	}
	return word, disk.SyncFolder(filepath.Dir(f.Name())) // records name it: if lost, their files would stay
}
