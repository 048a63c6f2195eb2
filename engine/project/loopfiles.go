package project

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/disk"
)

// CountErrors returns how many of the problems keep a loop from running.
func CountErrors(problems []fsm.Problem) int {
	n := 0
	for _, p := range problems {
		if p.Severity == fsm.SeverityError {
			n++
		}
	}
	return n
}

// NotFound makes a failed search for a loop an error of a project.
func NotFound(p *Project, err error) error {
	missing, ok := errors.AsType[*loopfile.NotFoundError](err)
	if !ok {
		return &NoFileError{Path: "cannot look for the loop", What: ": " + err.Error()}
	}
	var tried []string
	for _, path := range missing.Tried {
		if loopfile.IsSuite(path) && disk.Exists(path) {
			return &LoopNotFoundError{Name: missing.Name, Tests: p.Short(path)}
		}
		if absent, what := noFile(path); what != "" {
			return noLoopFile(p, path, absent, what)
		}
		if !strings.HasSuffix(path, ".yaml.yaml") && !strings.HasSuffix(path, ".yaml.fsm.yaml") {
			tried = append(tried, p.Short(path))
		}
	}
	return &LoopNotFoundError{Name: missing.Name, Tried: tried, Near: missing.Near}
}

func noLoopFile(p *Project, path string, missing bool, what string) error {
	return &NoFileError{p.Short(path), what, p.Short(filepath.Join(p.Loops, "NAME.yaml")), missing}
}

// noFile says what is at a path that is no regular file, and whether there is as good as nothing; "" if there
// is nothing.
func noFile(path string) (missing bool, what string) {
	if _, err := os.Lstat(path); err != nil {
		return false, ""
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		to, _ := os.Readlink(path)
		return true, "is a link to " + to + ", which does not exist"
	case errors.Is(err, syscall.ELOOP):
		return false, "is a link that leads back to itself"
	case err != nil:
		return false, "cannot be looked at: " + Cause(err).Error()
	case info.IsDir():
		return true, "is a folder"
	case info.Mode()&fs.ModeNamedPipe != 0:
		return false, "is a pipe"
	case info.Mode()&(fs.ModeDevice|fs.ModeSocket|fs.ModeIrregular) != 0:
		return false, "is a device or a socket"
	}
	return false, ""
}

// Unreadable makes what is wrong with the file of a loop an error of a project.
func Unreadable(p *Project, path string, err error) error {
	if missing, what := noFile(path); what != "" {
		return noLoopFile(p, path, missing, what)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &NoFileError{Path: p.Short(path), What: ": there is no such loop file", Missing: true}
	}
	why := Cause(err).Error()
	if rest, ok := strings.CutPrefix(why, path); ok {
		return &NoFileError{Path: p.Short(path), What: rest}
	}
	return &NoFileError{Path: p.Short(path), What: ": cannot be read as a loop: " + why}
}

// ByPlace orders problems as they stand in their files.
func ByPlace(a, b fsm.Problem) int {
	return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
		cmp.Compare(a.Pos.Col, b.Pos.Col))
}
