package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// TreeSize returns how many bytes the files at and below some paths hold, each once, however many names it has. What is
// not there, or in a folder that cannot be read, holds none.
func TreeSize(paths ...string) (int64, error) {
	type inode struct{ dev, ino uint64 }
	seen := make(map[inode]bool)
	var n int64
	for _, path := range paths {
		err := filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil
			}
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			st, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Nlink > 1 {
				i := inode{uint64(sys.Dev), sys.Ino}
				if seen[i] {
					return nil
				}
				seen[i] = true
			}
			n += st.Size()
			return nil
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// RemoveTree removes a path and all below it, also folders that forbid it, such as those that Go keeps modules in. A
// symlink is removed, not what it leads to.
func RemoveTree(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(p string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(p, 0o700) // what still forbids it, RemoveAll names
		}
		return nil
	})
	return os.RemoveAll(path)
}
