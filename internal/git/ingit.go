package git

import (
	"os"
	"path/filepath"
)

// InGit reports whether a directory or one above it is what git works in: it has a .git, a folder or a file.
func InGit(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}
