package cli

import (
	"path/filepath"
	"strings"

	"loops/fsm"
)

// scopes returns the absolute paths that a loop locks: its scope, with ${context.KEY} filled in and what is not
// known left as it stands, or the project directory.
func scopes(p project, l *fsm.Loop, values *fsm.Map) []string {
	if len(l.Scope) == 0 {
		return []string{p.Dir}
	}
	paths := make([]string, len(l.Scope))
	for i, path := range l.Scope {
		path = fillContext(path, values)
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.Dir, path)
		}
		paths[i] = filepath.Clean(path)
	}
	return paths
}

// fillContext replaces ${context.KEY} by the value of a top-level key.
func fillContext(s string, values *fsm.Map) string {
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
			b.WriteString(fsm.Str(v))
		} else {
			b.WriteString(open + key + "}")
		}
		s = after
	}
}
