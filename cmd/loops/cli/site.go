package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/plain"
	"loops/persistence"
)

// A site is the project and the working folder of a run, as this process found them when it began to carry the run on. It
// reports whether their paths still lead to them. Its methods may be called concurrently.
type site struct{ project, work spot }

// A spot is a folder that is kept open, so that it is known again whatever becomes of its name.
type spot struct {
	path string
	dir  *os.File // nil: it cannot be opened, and is taken for what it was
	was  os.FileInfo
	real string // where it was, without symlinks; "" = this system does not tell
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
	// A file system that numbers its files anew each time says nothing by that.
	st, again := s.dir.Stat()
	return err == nil && again == nil && !os.SameFile(st, s.was)
}

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

// there is a *movedError if the folders of the run are not any more where they were. A working folder that was removed is
// none: it is made again where it is needed.
func (s *site) there() error {
	if s == nil || s.work.there() {
		return nil
	}
	if m := s.moved(); m != nil {
		return m
	}
	return nil
}

// moved returns what became of the folders, nil if nothing did that a run would not outlive.
func (s *site) moved() *movedError {
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
		return &movedError{from: s.work.path}
	}
	switch to, gone := s.project.now(); {
	case gone:
		return &movedError{from: s.project.path, removed: true}
	case to == "" || to == s.project.real:
		return &movedError{from: s.project.path, project: to}
	default:
		return renamed(s.project, s.project.real, to)
	}
}

// renamed describes a folder that was renamed, or a folder around it: the part of the path that is not the same.
func renamed(project spot, from, to string) *movedError {
	for filepath.Base(from) == filepath.Base(to) && filepath.Dir(from) != from && filepath.Dir(to) != to {
		from, to = filepath.Dir(from), filepath.Dir(to)
	}
	m := &movedError{from: from, to: to}
	if rel, err := filepath.Rel(from, project.real); err == nil && (rel == "." || filepath.IsLocal(rel)) {
		m.project = filepath.Join(to, rel)
	}
	return m
}

// A movedError means that a run cannot go on here because its folder is not here any more.
type movedError struct {
	from, to string // to is "" where that is not known
	project  string // where the project is now; "" = where it was, or it is not known
	removed  bool
}

func (e *movedError) Error() string {
	switch {
	case e.removed:
		return e.from + " was removed while it ran"
	case e.to != "":
		return e.from + " was moved to " + e.to + " while it ran"
	}
	return e.from + " was moved away while it ran"
}

// Is makes it an [fsm.ErrMoved].
func (e *movedError) Is(target error) bool { return target == fsm.ErrMoved }

// rebased returns a path that lay in the folder as it is now.
func (e *movedError) rebased(path string) string {
	if rel, err := filepath.Rel(e.from, path); err == nil && filepath.IsLocal(rel) && e.to != "" {
		return filepath.Join(e.to, rel)
	}
	return path
}

// leftBehind says what a person can do about a run whose folder was moved.
func (a *app) leftBehind(ctx context.Context, d driveSpec, run persistence.Run, m *movedError) error {
	id := string(run.ID)
	text := fmt.Sprintf("run %s was stopped: %s\n", plain.Line(id), plain.Line(m.Error()))
	if m.to == "" {
		_, lost := d.store.Snapshot(ctx, run.ID)
		return failure(exitRecord, "%s", block(text+a.leftSomewhere(id, m, lost == nil)))
	}
	there, memory, err := a.foundAgain(ctx, d.project.Main(), run.ID, m)
	recorded := !errors.Is(err, persistence.ErrNotFound)
	switch {
	case memory != nil && memory.Outcome != nil:
		return a.endedThere(d, there, *memory.Outcome, m)
	case !recorded && m.project != "":
		text += "Nothing of it is on record, so it cannot be resumed. Start anew there with: " + there.command("run", run.Loop)
	case !recorded:
		text += "Nothing of it is on record, so it cannot be resumed. Move the folder back, then start anew with: " + a.command("run", run.Loop)
	case m.project != "":
		text += "Nothing recorded before is lost. Go on there with: " + there.command("resume", id)
	default:
		text += "Nothing recorded before is lost. Move the folder back, then: " + a.command("resume", id)
	}
	return failure(exitRecord, "%s", block(text))
}

// leftSomewhere is what can be done where it is not known where the folder is. here reports whether the records of the run
// are where they were.
func (a *app) leftSomewhere(id string, m *movedError, here bool) string {
	switch {
	case m.removed && !here:
		return "Its records went with it. If it was moved to another disk, go on there with: loops resume " + quote(id)
	case m.removed:
		return "Nothing recorded before is lost. Put the folder back, or go on where it is now, with: " + a.command("resume", id)
	case m.project != "": // its path leads elsewhere
		return "Nothing recorded before is lost. Go on there with: loops -C " + quote(m.project) + " resume " + quote(id)
	}
	return "Nothing recorded before is lost. Move it back, or go on where it is now, with: " + a.command("resume", id)
}

// endedThere tells of a run that has ended on record, which was moved in that moment.
func (a *app) endedThere(d driveSpec, there *app, o fsm.Outcome, m *movedError) error {
	resume := ""
	if persistence.StatusOf(o).CanGoOn(o.Limited) {
		resume = there.command("resume", string(d.journal.Run().ID))
	}
	d.printer.finish(o, resume)
	d.printer.note(fmt.Sprintf("loops: %v; that the run has ended is on record there", m))
	if code := codeOf(o); code != exitOK {
		return exitError{code: code}
	}
	return nil
}

// foundAgain returns an app that works where a project is now, and what is on record of the run there.
func (a *app) foundAgain(ctx context.Context, p *project.Project, id persistence.ID, m *movedError) (there *app, memory *fsm.Snapshot, err error) {
	other := *a
	there = &other
	if m.project != "" {
		there.dir = m.project
		p.Dir = m.project
	}
	p.Loops = m.rebased(p.Loops)
	location, from, err := p.Location()
	if err != nil {
		return there, nil, err
	}
	if path, ok := project.SQLiteFile(location); ok {
		if now := m.rebased(path); now != path {
			location = strings.Replace(location, path, now, 1)
			there.store = location
		}
	}
	store, err := p.RecordsAt(ctx, location, from, false)
	if err != nil {
		return there, nil, err
	}
	defer store.Close()
	memory, err = store.Snapshot(ctx, id)
	return there, memory, err
}
