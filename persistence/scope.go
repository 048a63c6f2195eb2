package persistence

import (
	"os"
	"path/filepath"
	"strings"
)

// ResolveScope returns absolute paths without symlinks, as they are compared.
func ResolveScope(scope []string) []string {
	out := make([]string, 0, len(scope))
	for _, p := range scope {
		out = append(out, realPath(p))
	}
	return out
}

// mostLinks is how many symlinks realPath follows; the system follows 40.
const mostLinks = 40

// realPath is the absolute path that the system would come to, also where a symlink leads to what does not
// exist yet. What does not exist, or goes in circles, is taken as it is written.
func realPath(path string) string {
	if !filepath.IsAbs(path) {
		if wd, err := os.Getwd(); err == nil {
			path = wd + "/" + path
		}
	}
	at, todo := "/", strings.Split(path, "/")
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil || links == mostLinks {
			at = next
			continue
		}
		links++
		if filepath.IsAbs(target) {
			at = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return at
}

// Overlap returns the first path of holder that is, contains or lies within one of scope. Both are resolved.
func Overlap(holder, scope []string) (string, bool) {
	for _, a := range holder {
		for _, b := range scope {
			if within(a, b) || within(b, a) {
				return a, true
			}
		}
	}
	return "", false
}

// within reports whether path is root or lies in it. A work tree of git in .worktrees of a checkout is no part of that.
func within(path, root string) bool {
	const sep = string(filepath.Separator)
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+sep) &&
		!strings.HasPrefix(rel+sep, ".worktrees"+sep)
}
