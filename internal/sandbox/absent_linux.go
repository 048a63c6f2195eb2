package sandbox

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// An absence finds out that there is nothing at protected paths, by one system call each: most of them are of
// agents that a project does not use. Folders that they are reached from stay open until close.
type absence map[string]int

// holds reports whether nothing is at the path of a root, and no link is in the way. Where it reports false,
// that has to be found out otherwise.
func (a absence) holds(root keptRoot) bool {
	dir, open := a[root.base]
	if !open {
		var err error
		if dir, err = unix.Open(root.base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			dir = -1
		}
		a[root.base] = dir
	}
	rel, err := filepath.Rel(root.base, root.path)
	if dir < 0 || err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return false
	}
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := unix.Openat2(dir, rel, &how)
	if err == nil {
		_ = unix.Close(fd)
	}
	return errors.Is(err, unix.ENOENT)
}

func (a absence) close() {
	for _, dir := range a {
		if dir >= 0 {
			_ = unix.Close(dir)
		}
	}
}
