package engine

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/disk"
)

// A site is the project and the working folder of a run, as this process found them when it began to carry the
// run on. It reports whether their paths still lead to them. Its methods may be called concurrently.
type site struct{ project, work spot }

// A spot is a folder that is kept open, so that it is known again whatever becomes of its name.
type spot struct {
	path string
	dir  *os.File // nil: it cannot be opened, and is taken for what it was
	was  os.FileInfo
	real string // where it was, without symlinks; "" = this system does not report it
}

func openSite(p *project.Project, work string) *site {
	return &site{project: openSpot(p.Dir), work: openSpot(work)}
}

func openSpot(path string) spot {
	s := spot{path: path}
	dir, err := os.Open(path)
	if err != nil {
		return s
	}
	if s.was, err = dir.Stat(); err != nil {
		_ = dir.Close() // nothing was written
		return s
	}
	s.dir = dir
	s.real, _ = s.now()
	return s
}

func (s *site) close() {
	for _, spot := range []spot{s.project, s.work} {
		if spot.dir != nil {
			_ = spot.dir.Close() // nothing was written
		}
	}
}

// there reports whether the path leads to the folder.
func (s spot) there() bool {
	if s.dir == nil {
		return true
	}
	st, err := os.Stat(s.path)
	if err == nil && os.SameFile(st, s.was) {
		return true
	}
	// On a file system that numbers its files differently each time, another number means nothing.
	st, again := s.dir.Stat()
	return err == nil && again == nil && !os.SameFile(st, s.was)
}

// unlinked reports whether the folder has no name any more. It costs next to nothing.
func (s spot) unlinked() bool { return s.dir != nil && disk.Unlinked(s.dir) }

// now returns where the folder is, "" where that is not known, and whether it was removed.
func (s spot) now() (path string, removed bool) {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(s.dir.Fd())))
	if err != nil {
		return "", false
	}
	if before, deleted := strings.CutSuffix(path, " (deleted)"); deleted {
		if _, err := os.Stat(path); err != nil {
			return before, true
		}
	}
	return path, false
}

// there is a *MovedError if the folders of the run are not any more where they were. A working folder that was
// removed is none: it is made again where it is needed.
func (s *site) there() error {
	if s == nil || s.work.there() {
		return nil
	}
	if m := s.moved(); m != nil {
		return m
	}
	return nil
}

// moved returns the result of the folders, nil if nothing did that a run would not outlive.
func (s *site) moved() *MovedError {
	if s == nil || s.work.there() && s.project.there() {
		return nil
	}
	work, gone := s.work.real, false
	if s.work.dir != nil {
		work, gone = s.work.now()
	}
	if !gone && work != "" && work != s.work.real {
		return renamed(s.project, s.work.real, work)
	}
	if s.project.there() {
		if gone || s.work.there() {
			return nil
		}
		return &MovedError{from: s.work.path}
	}
	switch to, gone := s.project.now(); {
	case gone:
		return &MovedError{from: s.project.path, removed: true}
	case to == "" || to == s.project.real:
		return &MovedError{from: s.project.path, project: to}
	default:
		return renamed(s.project, s.project.real, to)
	}
}

// renamed describes a folder that was renamed, or a folder around it: the part of the path that is not the same.
func renamed(project spot, from, to string) *MovedError {
	for filepath.Base(from) == filepath.Base(to) && filepath.Dir(from) != from && filepath.Dir(to) != to {
		from, to = filepath.Dir(from), filepath.Dir(to)
	}
	m := &MovedError{from: from, to: to}
	if rel, err := filepath.Rel(from, project.real); err == nil && (rel == "." || filepath.IsLocal(rel)) {
		m.project = filepath.Join(to, rel)
	}
	return m
}

// A MovedError means that a run cannot continue here because its folder is not here any more.
type MovedError struct {
	from, to string // to is "" where that is not known
	project  string // where the project is now; "" = where it was, or it is not known
	removed  bool
}

func (e *MovedError) Error() string {
	switch {
	case e.removed:
		return e.from + " was removed while it ran"
	case e.to != "":
		return e.from + " was moved to " + e.to + " while it ran"
	}
	return e.from + " was moved away while it ran"
}

// Is makes it an [fsm.ErrMoved].
func (e *MovedError) Is(target error) bool { return target == fsm.ErrMoved }

// rebased returns a path that lay in the folder as it is now.
func (e *MovedError) rebased(path string) string {
	if rel, err := filepath.Rel(e.from, path); err == nil && filepath.IsLocal(rel) && e.to != "" {
		return filepath.Join(e.to, rel)
	}
	return path
}
