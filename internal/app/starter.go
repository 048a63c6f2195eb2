package app

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/disk"
	"loops/internal/humanize"
)

// maxName is the length of the longest name that new accepts, in bytes; runs have file names made of it.
const maxName = 100

// BadLoopName explains why a name is not fit for a new loop, "" if it is. Loops with other names can be run; these are
// the ones that need no quotes anywhere.
func BadLoopName(name string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	if len(name) > maxName {
		return fmt.Sprintf("it is longer than %d characters", maxName)
	}
	if bare := strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml"); bare != name {
		return "give the name without the end of the file name: " + bare
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return "a part between slashes is empty"
		case strings.ContainsFunc(part, func(r rune) bool { return !strings.ContainsRune(allowed, r) }):
			return "expected letters, digits, - _ . and slashes between folders"
		case part[0] == '.' || part[0] == '-':
			return "no part may begin with " + part[:1]
		}
	}
	return ""
}

// StarterText returns a pattern as a loop of a name. The error is a refusal where the name is not fit for one,
// or there is no such pattern.
func StarterText(from, name string) (string, error) {
	if why := BadLoopName(name); why != "" {
		return "", engine.Misuse("new", "%s cannot be the name of a loop: %s", humanize.Quote(name), why)
	}
	text, ok := PatternText(from, name)
	if !ok {
		return "", &engine.Refusal{
			Kind: engine.Usage,
			Text: engine.Text{
				Format: "there is no pattern %s%s",
				Args:   []any{humanize.Quote(from), humanize.DidYouMean(from, StarterNames)},
			},
			See: engine.Do("new", "", engine.Setting{Name: "list"}),
		}
	}
	return text, nil
}

// WriteLoop writes the file of a new loop, and the schema its first line names. The loops that its pattern runs
// are written before it; those that are there already as they would be written stay. It returns the paths, that
// of the loop first.
func WriteLoop(p *project.Project, from, name, text string) ([]string, error) {
	files, err := writeLoop(p, from, name, text)
	if mistakes, ok := errors.AsType[*MistakesError](err); ok {
		return nil, engine.Refuse(engine.Invalid, "nothing was written: %v", mistakes)
	}
	return files, err
}

// writeLoop is WriteLoop whose error is a *MistakesError where the loop would have mistakes.
func writeLoop(p *project.Project, from, name, text string) ([]string, error) {
	refuse := func(err error) ([]string, error) {
		return nil, engine.Refuse(engine.Failed, "the loop cannot be written: %v", err)
	}
	path := filepath.Join(p.Loops, filepath.FromSlash(name)+".yaml")
	// also where this one is refused, because the one that was killed gave the loop its name
	disk.TidyBeside(filepath.Dir(path))
	if there, err := p.Resolve(name); err == nil {
		return nil, engine.Refuse(engine.Failed, "there is a loop %s: %s; nothing was written", name, p.Short(there))
	}
	parts := PatternParts(from, name)
	if err := checkNew(p, path, text, parts); err != nil {
		return nil, err
	}
	if err := disk.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return refuse(err)
	}
	if err := refreshSchema(p); err != nil {
		return refuse(err)
	}
	written := []string{path}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		file := filepath.Join(p.Loops, filepath.FromSlash(part)+".yaml")
		if have, err := disk.Read(file); err != nil || string(have) != parts[part] {
			if err := write(p, file, parts[part]); err != nil {
				return nil, err
			}
		}
		written = append(written, file)
	}
	return written, write(p, path, text)
}

// A MistakesError means that a loop would have mistakes, so that it was not written.
type MistakesError struct {
	Name     string
	Problems []fsm.Problem // errors alone
}

func (e *MistakesError) Error() string { return "the loop " + e.Name + " is not valid: " + e.text() }

func (e *MistakesError) text() string {
	var texts []string
	for _, p := range e.Problems {
		texts = append(texts, p.Message)
	}
	return strings.Join(texts, "; ")
}

func (e *MistakesError) has(rule string) bool {
	return slices.ContainsFunc(e.Problems, func(p fsm.Problem) bool { return p.Rule == rule })
}

// checkNew returns a *MistakesError of a loop that would have mistakes if it was written. Parts are the loops
// that would be written with it.
func checkNew(p *project.Project, path, text string, parts map[string]string) error {
	lib := project.NewLibrary(p)
	lib.Files.With(path, []byte(text))
	loaded, err := lib.Load(path)
	if err != nil {
		return engine.Refuse(engine.Failed, "the loop cannot be written: %v", err)
	}
	var wrong []fsm.Problem
	for _, problem := range loaded.All() {
		if problem.Severity == fsm.SeverityError && (problem.Rule != "unknown-loop" || len(parts) == 0) {
			wrong = append(wrong, problem)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return &MistakesError{strings.TrimSuffix(filepath.Base(path), ".yaml"), wrong}
}

// write writes a loop file that is not there yet, below the project's .loops.
func write(p *project.Project, path, text string) error {
	refuse := func(err error) error {
		return engine.Refuse(engine.Failed, "the loop cannot be written: %v", err)
	}
	if err := disk.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return refuse(err)
	}
	if err := p.IgnoreRecords(); err != nil {
		return refuse(err)
	}
	f, err := disk.CreateBeside(path) // half a loop is worse than none
	if err != nil {
		return refuse(err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has its name
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = disk.LinkNew(f.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		return engine.Refuse(engine.Failed, "%s already exists; nothing was written", p.Short(path))
	}
	if err != nil {
		return refuse(err)
	}
	return nil
}

// schemaFile is where new keeps the schema, below the project's .loops.
const schemaFile = ".schema/loop.schema.json"

// refreshSchema writes the schema that this program knows, unless that is what is there.
func refreshSchema(p *project.Project) error {
	path, want := filepath.Join(p.Loops, filepath.FromSlash(schemaFile)), loopfile.Schema(p.ActionTypes())
	if have, err := (action.Files{}).ReadFile(path); err == nil && string(have) == string(want) {
		return nil
	}
	if err := disk.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// An editor may be reading it: it is replaced in one go.
	temp, err := disk.CreateBeside(path)
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // is gone if all went well
	_, err = temp.Write(want)
	if err = errors.Join(err, temp.Chmod(0o644), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
