package persistence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"loops/internal/disk"
)

// SealedFile is in the working folder of a run, and holds what was masked in its record. It is never exported.
const SealedFile = ".sealed"

// WalkFolder is in the working folder of a run, and has what git needs to look at the files that actions change.
const WalkFolder = ".trees"

// StoreOwned reports whether a path in a working folder is a store's, and not of the actions of the run.
func StoreOwned(rel string) bool {
	if rel == "blobs" || rel == WalkFolder || rel == SealedFile || rel == SealedFile+".tmp" {
		return true
	}
	n, ok := strings.CutPrefix(rel, "definition.")
	if !ok || strings.Contains(rel, "/") {
		return false
	}
	for _, suffix := range []string{"loop", "yaml"} { // the second is that of earlier versions
		if number, found := strings.CutSuffix(n, suffix); found &&
			(number == "" || strings.HasSuffix(number, ".") &&
				strings.Trim(number[:len(number)-1], "0123456789") == "") {
			return true
		}
	}
	return false
}

// A WorkCopy says what CopyWork copied.
type WorkCopy struct {
	Files int // and links
	Bytes int64
	// what is neither a file nor a folder nor a link to something in the folder, by path: it was left out
	Left []string
}

// CopyWork copies what the actions of a run left in its working folder to that of another run, as it is now.
// Links within the folder are links within the other. A folder that is not there has nothing; files that go
// away meanwhile are as if they had not been there. Of files of which needless is true, by the path in the
// folder with slashes, nothing is said.
func CopyWork(ctx context.Context, from, to string, needless func(rel string) bool) (c WorkCopy, err error) {
	err = filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || rel == "." {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case StoreOwned(filepath.ToSlash(rel)), rel == ".paused": // which is a person's, of that run
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return disk.MkdirAll(target, disk.FolderMode)
		case needless(filepath.ToSlash(rel)):
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			if leads, ok := linkWithin(from, to, path); ok {
				c.Files++
				if err = os.Symlink(leads, target); errors.Is(err, fs.ErrExist) { // as of files
					err = errors.Join(os.Remove(target), os.Symlink(leads, target))
				}
				return err
			}
			c.Left = append(c.Left, path)
			return nil
		case !e.Type().IsRegular():
			c.Left = append(c.Left, path)
			return nil
		}
		n, err := copyWorkFile(path, target)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		c.Files++
		c.Bytes += n
		return err
	})
	return c, err
}

// linkWithin returns where the copy of a link leads, if it leads to something in the folder from.
func linkWithin(from, to, path string) (leads string, ok bool) {
	target, err := os.Readlink(path)
	if err != nil {
		return "", false
	}
	abs := target
	if !filepath.IsAbs(target) {
		abs = filepath.Join(filepath.Dir(path), target)
	}
	rel, err := filepath.Rel(from, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	if filepath.IsAbs(target) {
		return filepath.Join(to, rel), true
	}
	leads, err = filepath.Rel(filepath.Dir(path), abs) // which does not leave the folder on its way
	return leads, err == nil
}

func copyWorkFile(from, to string) (n int64, err error) {
	f, err := disk.Open(from, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	create := func() (*os.File, error) {
		return disk.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm()|0o200)
	}
	g, err := create()
	if errors.Is(err, fs.ErrExist) { // of a worker that was killed while it began the run
		if err = os.Remove(to); err == nil {
			g, err = create()
		}
	}
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(g, f)
	return n, errors.Join(err, g.Chmod(st.Mode().Perm()), g.Close())
}

// KeptLogs is how many older logs of a run in the background are kept.
const KeptLogs = 3

// LogFiles returns the paths at which the logs that a run wrote in the background are in a folder, if it has
// any, the newest first. No other run's can be there: what follows an id in the name of a file is .log.
func LogFiles(folder string, id ID) (paths []string) {
	if filepath.Base(string(id)) != string(id) {
		return nil // not one that a store made
	}
	name := filepath.Join(folder, string(id)+".log")
	paths = append(paths, name)
	for n := range KeptLogs {
		paths = append(paths, fmt.Sprintf("%s.%d", name, n+1))
	}
	return paths
}
