package git

import (
	"os"
	"path/filepath"
)

// InGit reports whether a directory or one above it is what git works in: it has a .git, a folder or a file.
func InGit(dir string) bool { return Root(dir) != "" }

// Root returns the folder that has the .git of InGit; "" = there is none.
func Root(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
