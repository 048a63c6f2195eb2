package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"loops/internal/disk"
	"loops/persistence"
)

// movedProjects are the names that the project of a store had where its folder was before.
type movedProjects struct {
	mu    sync.Mutex
	known bool     // guarded by mu
	names []string // guarded by mu
}

// names returns the names of the project of this store, "" among them; nil means that every run is the caller's.
func (s *Store) names(ctx context.Context) ([]string, error) {
	if len(s.Projects) == 0 {
		return nil, nil
	}
	s.moved.mu.Lock()
	defer s.moved.mu.Unlock()
	if !s.moved.known {
		names, err := s.namesBefore(ctx)
		if err != nil {
			return nil, err
		}
		s.moved.names, s.moved.known = names, true
	}
	return append(append([]string{""}, s.Projects...), s.moved.names...), nil
}

// namesBefore returns the paths that the folder of this project had, by the word in it, or has on another
// machine. Where a folder with that word is at the path, this one is a copy of it, unless the path leads here.
func (s *Store) namesBefore(ctx context.Context) (names []string, err error) {
	word, err := disk.Read(s.placeFile())
	if err != nil || !isPlace(word) {
		return nil, nil // it recorded nothing yet
	}
	rs, err := s.read.QueryContext(ctx, s.q(`SELECT project FROM projects WHERE folder = ?`), string(word))
	all, err := collect(rs, err, scanText)
	for _, name := range all {
		if filepath.IsAbs(name) && !slices.Contains(s.Projects, name) &&
			(!isHome(name, word) || sameFolder(name, s.root())) {
			names = append(names, name)
		}
	}
	return names, err
}

// isHome reports whether a folder has the word of a project, as the folder itself and copies of it have.
func isHome(folder string, word []byte) bool {
	there, err := disk.Read(filepath.Join(folder, ".loops", "runs", ".place"))
	return err != nil && !errors.Is(err, fs.ErrNotExist) || bytes.Equal(there, word)
}

// sameFolder reports whether two paths lead to one folder, as they do where it is mounted twice.
func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func (s *Store) admitted() map[persistence.ID]bool {
	if s.Admitted == nil {
		return nil
	}
	return s.Admitted()
}

// ours returns the condition on the table runs, named by an alias with its dot, that only runs of this project meet.
func (s *Store) ours(ctx context.Context, alias string) (where string, args []any, err error) {
	own, err := s.names(ctx)
	if err != nil || own == nil {
		return "", nil, err
	}
	for _, name := range own {
		args = append(args, name)
	}
	where = alias + `project IN (` + marks(len(own)) + `)`
	if admitted := s.admitted(); len(admitted) > 0 {
		for id := range admitted {
			args = append(args, string(id))
		}
		where += ` OR ` + alias + `id IN (` + marks(len(admitted)) + `)`
	}
	return ` AND (` + where + `)`, args, nil
}

// marks returns the places of n arguments.
func marks(n int) string { return strings.TrimPrefix(strings.Repeat(", ?", n), ", ") }

// checkOwn returns an error unless a run is one of this project, or admitted.
func (s *Store) checkOwn(ctx context.Context, r *row) error {
	own, err := s.names(ctx)
	if err != nil || own == nil || slices.Contains(own, r.project) {
		return err
	}
	if _, ok := s.admitted()[r.ID]; ok {
		return nil
	}
	return &persistence.ElsewhereError{ID: r.ID, Project: r.project}
}

// project returns the project that new runs are recorded with.
func (s *Store) project() string {
	if len(s.Projects) == 0 {
		return ""
	}
	return s.Projects[0]
}

// carriedBy returns the project of a run from when this process carries it: a worker that carries a run of
// another project leaves it that.
func (s *Store) carriedBy(r *row) string {
	if adopts, ok := s.admitted()[r.ID]; len(s.Projects) == 0 || ok && !adopts {
		return r.project
	}
	return s.project()
}

// recordProject notes that the project of a run records from this folder, so that its runs are found after the
// folder was moved.
func (s *Store) recordProject(ctx context.Context, tx *sql.Tx, r *row, place string) error {
	if r.project == "" || !slices.Contains(s.Projects, r.project) {
		return nil
	}
	_, err := tx.ExecContext(ctx, s.q(`INSERT INTO projects (folder, project) VALUES (?, ?) ON CONFLICT DO NOTHING`),
		place, r.project)
	return err
}
