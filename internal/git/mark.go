package git

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loops/internal/disk"
)

// A Mark says whose a work tree is.
type Mark struct {
	Run  string `json:"run"`
	Kept bool   `json:"kept,omitempty"` // the run has ended, and left the tree as it is
	Tree Tree   `json:"tree"`
}

// admin returns git's own folder for the work tree at path; "" if there is none.
func admin(path string) string {
	b, err := os.ReadFile(filepath.Join(path, ".git"))
	if err != nil {
		return "" // of a main checkout it is a folder
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(path, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "" // git pruned it
	}
	return dir
}

func markFile(path string) string {
	if dir := admin(path); dir != "" {
		return filepath.Join(dir, "loops-run")
	}
	return ""
}

// ReadMark returns the mark of the work tree at path. A tree without one that can be read has the zero Mark.
func ReadMark(path string) (Mark, error) {
	var m Mark
	file := markFile(path)
	if file == "" {
		return m, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	defer f.Close()
	if json.NewDecoder(f).Decode(&m) != nil {
		return Mark{}, nil // its writer was killed
	}
	return m, nil
}

// Around returns the mark of the work tree of a run that dir is in, and false if it is in none.
func Around(dir string) (Mark, bool) {
	for {
		if info, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			if info.IsDir() || filepath.Base(filepath.Dir(dir)) != TreesFolder {
				return Mark{}, false
			}
			m, err := ReadMark(dir)
			m.Tree.Path = dir // it may have been moved with everything around it
			return m, err == nil && m.Run != ""
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Mark{}, false
		}
		dir = parent
	}
}

// A Hold is a work tree that this process uses.
type Hold struct {
	Tree
	file *os.File
	mark Mark
}

// hold takes the lock of a tree, which lasts until Release or the death of this process, and writes whose it is.
func (t Tree) hold(run string) (*Hold, error) {
	path := markFile(t.Path)
	if path == "" {
		return nil, refuse("%s is no longer a work tree of git; fix that (git worktree repair) or remove it", t.Path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if !lock(f) {
		f.Close()
		m, err := ReadMark(t.Path)
		if err != nil {
			return nil, err
		}
		return nil, refuse("another process works in the work tree %s (run %s); wait for it", t.Path, m.Run)
	}
	h := &Hold{Tree: t, file: f, mark: Mark{Run: run, Tree: t}}
	if err := h.write(); err != nil {
		f.Close()
		return nil, err
	}
	return h, nil
}

// lock takes a file's lock. A process that was just killed may have left it for a moment to a child that starts.
func lock(f *os.File) bool {
	for range 100 {
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// write writes the mark in its place, because the lock is on that file. A reader takes the first object there is.
func (h *Hold) write() error {
	b, err := json.Marshal(h.mark)
	if err != nil {
		return err
	}
	if _, err := h.file.WriteAt(append(b, '\n'), 0); err != nil {
		return err
	}
	return h.file.Truncate(int64(len(b)) + 1)
}

// Release lets others use the tree. A nil Hold holds nothing.
func (h *Hold) Release() {
	if h != nil {
		_ = disk.Release(h.file) // nothing is written any more
	}
}

// guestFile is locked by those who are in the tree of another run.
const guestFile = "loops-guests"

// Enter says that this process carries on a run in the tree of another one, until what it returns is closed or
// this process ends. The tree is not removed meanwhile.
func Enter(path string) (io.Closer, error) {
	f, shut, err := door(path, syscall.LOCK_SH)
	if err != nil {
		return nil, err
	}
	if shut {
		return nil, refuse("%s is being removed", path)
	}
	return f, nil
}

// door locks the file of those who are in the tree of another run, or says that others have it locked.
func door(path string, how int) (f *os.File, shut bool, err error) {
	dir := admin(path)
	if dir == "" {
		return nil, false, refuse("%s is gone", path)
	}
	if f, err = os.OpenFile(filepath.Join(dir, guestFile), os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, false, err
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		return nil, true, f.Close()
	}
	return f, false, nil
}

// busy reports whether a process uses the work tree at path.
func busy(path string) bool {
	file := markFile(path)
	if file == "" {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}
