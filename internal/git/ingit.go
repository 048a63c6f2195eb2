package git

import (
	"os"
	"path/filepath"
	"strings"
)

// IndexSize returns the size of the index of the repository that a directory is in, in bytes; 0 = it is not known.
func IndexSize(dir string) int64 {
	for ; ; dir = filepath.Dir(dir) {
		place := filepath.Join(dir, ".git")
		info, err := os.Lstat(place)
		if err != nil && dir != filepath.Dir(dir) {
			continue
		}
		if err == nil && info.Mode().IsRegular() { // of a work tree: it names the folder
			text, _ := os.ReadFile(place)
			if place = strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir:")); !filepath.IsAbs(place) {
				place = filepath.Join(dir, place)
			}
		}
		if info, err = os.Stat(filepath.Join(place, "index")); err != nil {
			return 0
		}
		return info.Size()
	}
}

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
