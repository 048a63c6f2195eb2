package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"loops/fsm"
	"loops/fsm/loopfile"
)

// loadNamed finds and reads a loop by name or path. Problems are printed on standard error; a loop with errors
// is not returned. With quiet, warnings are not printed.
func (a *app) loadNamed(p project, name string, quiet bool) (*fsm.Loop, error) {
	path, err := loopfile.Resolve(name, p.Loops, p.Cwd)
	if err != nil {
		return nil, notFound(p, err)
	}
	return a.loadFile(p, path, quiet)
}

func (a *app) loadFile(p project, path string, quiet bool) (*fsm.Loop, error) {
	l, problems, err := loopfile.Load(path)
	if err != nil {
		return nil, unreadable(p, path, err)
	}
	if n := countErrors(problems); n > 0 || !quiet && len(problems) > 0 {
		fmt.Fprint(a.Err, a.render(p, problems))
	}
	if n := countErrors(problems); n > 0 {
		return nil, failure(exitInvalid, "%s has %s; nothing was started", p.short(path), count(n, "error"))
	}
	return l, nil
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
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return failure(exitNotFound, "%s is a folder; a loop is a file, such as %s", p.short(path), p.short(filepath.Join(p.Loops, "NAME.yaml")))
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

// unreadable turns a loop file that cannot be read into an exit.
func unreadable(p project, path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return failure(exitNotFound, "%s: there is no such loop file", p.short(path))
	}
	return failure(exitInvalid, "%s: cannot be read as a loop: %v", p.short(path), errnoText(err))
}
