package loopfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A NotFoundError says that no loop file has a name. It is an [fs.ErrNotExist].
type NotFoundError struct {
	Name  string
	Tried []string // the files that were looked for
	Near  []string // names of loops that are like it, the most likely first
}

func (e *NotFoundError) Error() string {
	if e.Name == "" {
		return "a loop needs a name"
	}
	msg := "no loop called " + quote(e.Name)
	if len(e.Tried) > 0 {
		msg += " (looked for " + strings.Join(e.Tried, ", ") + ")"
	}
	if len(e.Near) > 0 {
		msg += "; did you mean " + strings.Join(e.Near, " or ") + "?"
	}
	return msg
}

// Is makes errors.Is(err, fs.ErrNotExist) true.
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// Resolve finds the file of a loop. A name with a path separator or the suffix .yaml or .yml is first tried
// as a path, relative to cwd. Then it is loopsDir/NAME.fsm.yaml or loopsDir/NAME.yaml, where a name may have
// parts (team/deploy) but cannot leave the directory. Only regular files, and links to them, are found.
// The error is a *[NotFoundError], or that of a file that cannot be looked at.
func Resolve(name, loopsDir, cwd string) (path string, err error) {
	missing := &NotFoundError{Name: name}
	var candidates []string
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) || hasYAMLSuffix(name) {
		p := name
		if !filepath.IsAbs(p) {
			p = filepath.Join(cwd, p)
		}
		candidates = append(candidates, p)
	}
	if filepath.IsLocal(name) && !strings.ContainsRune(name, 0) {
		p := filepath.Join(loopsDir, filepath.FromSlash(name))
		candidates = append(candidates, p+".fsm.yaml", p+".yaml")
	}
	for _, c := range candidates {
		info, err := os.Stat(c)
		if err == nil && info.Mode().IsRegular() {
			return c, nil
		}
		if err != nil && errors.Is(err, fs.ErrPermission) {
			return "", err
		}
		missing.Tried = append(missing.Tried, c)
	}
	missing.Near = nearNames(name, loopsDir)
	return "", missing
}

func hasYAMLSuffix(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

// nearNames returns up to three loops with a name like this one.
func nearNames(name, loopsDir string) []string {
	entries, err := List(loopsDir)
	if err != nil {
		return nil
	}
	bare := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), ".fsm")
	if !hasYAMLSuffix(name) {
		bare = name
	}
	var names, out []string
	for _, e := range entries {
		names = append(names, e.Name)
		// A file suffix or a missing folder is no typing mistake, but easily made.
		if e.Name == bare || filepath.Base(e.Name) == bare {
			out = append(out, e.Name)
		}
	}
	for len(out) < 3 {
		s := near(bare, names)
		if s == "" {
			break
		}
		out = append(out, s)
		for i, n := range names {
			if n == s {
				names = append(names[:i], names[i+1:]...)
				break
			}
		}
	}
	return out[:min(3, len(out))]
}
