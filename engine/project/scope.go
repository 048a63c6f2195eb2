package project

import (
	"path/filepath"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
)

// Scopes returns the absolute paths that a loop locks: its scope, with ${context.KEY} filled in and what is not
// known left as it is, or the project directory. Of a run in a work tree they are those in the tree; a relative path
// that leads out of it means what it means in the main checkout.
func Scopes(p *Project, l *fsm.Loop, values *value.Map) []string {
	if len(l.Scope) == 0 {
		if p.Tree != "" {
			return []string{p.Tree}
		}
		return []string{p.Dir}
	}
	paths := make([]string, len(l.Scope))
	for i, path := range l.Scope {
		path = fillContext(path, values)
		if !filepath.IsAbs(path) {
			inside := filepath.Join(p.WorkDir(), path)
			if path = filepath.Join(p.Dir, path); p.Tree != "" && IsIn(inside, p.Tree) {
				path = inside
			}
		}
		paths[i] = filepath.Clean(path)
	}
	return paths
}

// fillContext replaces ${context.KEY} by the value of a top-level key.
func fillContext(s string, values *value.Map) string {
	const open = "${context."
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, open)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		key, after, closed := strings.Cut(rest, "}")
		if !closed {
			return b.String() + open + rest
		}
		if v, ok := values.Get(key); ok {
			b.WriteString(value.Text(v))
		} else {
			b.WriteString(open + key + "}")
		}
		s = after
	}
}

// IsIn reports whether an absolute path is dir or lies in it.
func IsIn(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
