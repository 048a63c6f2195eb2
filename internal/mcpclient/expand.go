package mcpclient

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/internal/humanize"
)

// expand replaces ${NAME} and ${NAME:-DEFAULT} in what the entry says about a process. It returns the first variable
// that is not set and has no default.
func (e *entry) expand(get func(string) (string, bool)) (missing string, err error) {
	texts := []*string{&e.Command, &e.Cwd}
	for i := range e.Args {
		texts = append(texts, &e.Args[i])
	}
	for _, t := range texts {
		var m string
		*t, m = expand(*t, get)
		missing = or(missing, m)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return "", fmt.Errorf("%q cannot be the name of an environment variable", name)
		}
		value, m := expand(e.Env[name], get)
		e.Env[name] = value
		missing = or(missing, m)
	}
	return missing, nil
}

// expand replaces the references in a text, once.
func expand(text string, get func(string) (string, bool)) (expanded, missing string) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "${")
		b.WriteString(before)
		if !ok {
			return b.String(), missing
		}
		inside, after, closed := strings.Cut(rest, "}")
		name, def, hasDefault := strings.Cut(inside, ":-")
		if !closed || !isName(name) {
			b.WriteString("${")
			text = rest
			continue
		}
		value, set := get(name)
		switch {
		case set:
			b.WriteString(value)
		case hasDefault:
			b.WriteString(def)
		default:
			missing = or(missing, name)
		}
		text = after
	}
}

// isName reports whether s can be the name of a variable in a shell.
func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// lookup returns a function that reads an environment, in which the last setting counts.
func lookup(env []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, kv := range slices.Backward(env) {
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

// program finds the file of a command that is started in dir.
func program(command, search, dir string) (string, error) {
	if strings.Contains(command, "/") {
		path, err := filepath.Abs(command)
		if !filepath.IsAbs(command) && dir != "" {
			path, err = filepath.Abs(filepath.Join(dir, command))
		}
		if err == nil {
			err = executable(path)
		}
		if err != nil {
			return "", fmt.Errorf("its command %s cannot be run: %w", path, err)
		}
		return path, nil
	}
	for _, d := range filepath.SplitList(search) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		path, err := filepath.Abs(filepath.Join(d, command))
		if err == nil && executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("its command %s was not found in PATH: install it, or write its full path",
		humanize.Quote(command))
}

func executable(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return errors.Unwrap(err)
	case st.IsDir():
		return errors.New("it is a directory")
	case st.Mode()&0o111 == 0:
		return errors.New("it is not executable")
	}
	return nil
}
