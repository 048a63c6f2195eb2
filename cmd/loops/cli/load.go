package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/plain"
)

// loadNamed finds and reads a loop by name or path. Problems are printed on standard error; a loop with errors
// is not returned. With quiet, warnings are not printed.
func (a *app) loadNamed(p project, name string, quiet bool) (*fsm.Loop, error) {
	lib, err := a.library(p)
	if err != nil {
		return nil, err
	}
	path, err := lib.find(name)
	if err != nil {
		return nil, err
	}
	return a.loadFile(p, path, quiet)
}

// loadFile is loadNamed of a file. Of advice that keeps nothing from running it only says that there is some: whoever
// runs a loop is seldom about to edit it.
func (a *app) loadFile(p project, path string, quiet bool) (*fsm.Loop, error) {
	lib, err := a.library(p)
	if err != nil {
		return nil, err
	}
	f, err := lib.load(path)
	if err != nil {
		return nil, unreadable(p, path, err)
	}
	if f.loop == nil {
		fmt.Fprint(a.Err, a.render(p, f.all()))
		return nil, failure(exitInvalid, "%s has %s; nothing was started", p.short(path), count(countErrors(f.all()), "error"))
	}
	if quiet {
		return f.loop, nil
	}
	fmt.Fprint(a.Err, a.render(p, f.problems))
	if n := len(f.advice); n > 0 {
		say(a.Err, "loops: %s about %s: %s\n", count(n, "warning"), p.short(path), a.command("validate", p.short(path)))
	}
	return f.loop, nil
}

// render writes problems with their source lines, files as a person in the project would write them.
func (a *app) render(p project, problems []fsm.Problem) string {
	short := make([]fsm.Problem, len(problems))
	long := make(map[string]string)
	for i, pr := range problems {
		name := p.short(pr.Pos.File)
		long[name] = pr.Pos.File
		pr.Pos.File = name
		short[i] = pr
	}
	text := loopfile.Render(short, func(name string) []byte {
		data, err := os.ReadFile(long[name])
		if err != nil {
			return nil // the problem is still said, without its source line
		}
		return data
	}, a.coloured(a.Err))
	text = plain.Ours(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

func countErrors(problems []fsm.Problem) int {
	n := 0
	for _, p := range problems {
		if p.Severity == fsm.SeverityError {
			n++
		}
	}
	return n
}

// notFound turns a failed search for a loop into an exit.
func notFound(p project, err error) error {
	missing, ok := errors.AsType[*loopfile.NotFoundError](err)
	if !ok {
		return failure(exitInvalid, "cannot look for the loop: %v", err)
	}
	text := fmt.Sprintf("there is no loop %q", missing.Name)
	var tried []string
	for _, path := range missing.Tried {
		if code, what := noFile(path); what != "" {
			return noLoopFile(p, path, code, what)
		}
		if !strings.HasSuffix(path, ".yaml.yaml") && !strings.HasSuffix(path, ".yaml.fsm.yaml") {
			tried = append(tried, p.short(path))
		}
	}
	if len(tried) > 0 {
		text += " (looked for " + strings.Join(tried, ", ") + ")"
	}
	if len(missing.Near) > 0 {
		return failure(exitNotFound, "%s; did you mean %s?", text, strings.Join(missing.Near, " or "))
	}
	return failure(exitNotFound, "%s; see: loops list", text)
}

func noLoopFile(p project, path string, code int, what string) error {
	return failure(code, "%s %s; a loop is a file, such as %s", p.short(path), what, p.short(filepath.Join(p.Loops, "NAME.yaml")))
}

// noFile says what stands at a path that is no regular file, and the exit code for it; "" if there is nothing.
func noFile(path string) (code int, what string) {
	if _, err := os.Lstat(path); err != nil {
		return 0, ""
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		to, _ := os.Readlink(path)
		return exitNotFound, "is a link to " + to + ", which is not there"
	case errors.Is(err, syscall.ELOOP):
		return exitInvalid, "is a link that leads back to itself"
	case err != nil:
		return exitInvalid, "cannot be looked at: " + errnoText(err).Error()
	case info.IsDir():
		return exitNotFound, "is a folder"
	case info.Mode()&fs.ModeNamedPipe != 0:
		return exitInvalid, "is a pipe"
	case info.Mode()&(fs.ModeDevice|fs.ModeSocket|fs.ModeIrregular) != 0:
		return exitInvalid, "is a device or a socket"
	}
	return 0, ""
}

// unreadable turns a loop file that cannot be read into an exit.
func unreadable(p project, path string, err error) error {
	if code, what := noFile(path); what != "" {
		return noLoopFile(p, path, code, what)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return failure(exitNotFound, "%s: there is no such loop file", p.short(path))
	}
	why := errnoText(err).Error()
	if rest, ok := strings.CutPrefix(why, path); ok {
		return failure(exitInvalid, "%s%s", p.short(path), rest)
	}
	return failure(exitInvalid, "%s: cannot be read as a loop: %s", p.short(path), why)
}
