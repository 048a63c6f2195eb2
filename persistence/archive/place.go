package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

// Records are the recorded runs that an archive is imported to.
type Records interface {
	Runs(ctx context.Context, q persistence.Query) ([]persistence.Run, error)
	Key() string // distinguishes the store from others, the same in every process
}

// folderPrefix begins the names of folders that imports unpack to.
const folderPrefix = ".import-"

// NewFolder makes a folder for an import to unpack to, on the disk where the working folder will be. Its lock
// says that the import lives; done removes it.
func NewFolder(runs string) (dir string, done func(), err error) {
	for {
		if dir, err = disk.MkdirTemp(runs, folderPrefix+"*"); err != nil {
			return "", nil, err
		}
		lock, err := lockFolder(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, errors.Join(err, os.Remove(dir))
		}
		if _, gone := os.Lstat(dir); err != nil || lock == nil || gone != nil {
			_ = lock.Close() // ForgetDead was quicker: it takes what has no lock for dead
			continue
		}
		return dir, func() {
			_ = disk.RemoveTree(dir) // ForgetDead tries again
			_ = disk.Release(lock)
		}, nil
	}
}

// lockFolder takes the lock of a folder; it is nil where another process has it.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, f.Close()
	case err != nil:
		return nil, errors.Join(&os.PathError{Op: "flock", Path: dir, Err: err}, f.Close())
	}
	return f, nil
}

// A placing says, in the folder of an import, which run the files are about to be placed for.
type placing struct {
	Run   persistence.ID `json:"run"`
	Store string         `json:"store"`
	Work  string         `json:"work"` // the folder the files are in
}

// placingFile is the name of the file with the placing. No file of an archive can have it.
const placingFile = ".placing"

// WillPlace records what an import is about to do, for the process that finds that it died.
func WillPlace(store Records, from string, id persistence.ID) error {
	b, err := json.Marshal(placing{Run: id, Store: store.Key(), Work: filepath.Base(from)})
	if err != nil {
		return err
	}
	return disk.WriteFile(filepath.Join(filepath.Dir(from), placingFile), b, 0o600)
}

// Place gives the files of the folder from their places in a working folder. Those that are there must have the
// same content.
func Place(from, work string) error {
	names, err := filesIn(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		have, err := disk.Read(filepath.Join(work, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		want, e2 := disk.Read(filepath.Join(from, name))
		if err := errors.Join(err, e2); err != nil {
			return err
		}
		if string(have) != string(want) {
			return fmt.Errorf("%s exists with other content; move it away, then try again", filepath.Join(work, name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	if err := disk.MakeWork(filepath.Dir(work), work); err != nil {
		return err
	}
	root, err := os.OpenRoot(work) // nothing in it leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range names {
		to := filepath.Join(work, name)
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return fmt.Errorf("%s: %w", work, err)
		}
		if err := placeFile(from, name, to); err != nil && !errors.Is(err, fs.ErrExist) { // never over another
			return err
		}
	}
	return nil
}

// placeFile gives a file a second name, or a copy where the file system has no second names. Which are copies
// is on record before they are there: TakeBack does not know them by what they are.
func placeFile(from, name, to string) error {
	if err := os.Link(filepath.Join(from, name), to); err == nil || errors.Is(err, fs.ErrExist) ||
		errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	if err := addCopied(from, name); err != nil {
		return err
	}
	in, err := disk.Open(filepath.Join(from, name), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	out, err := disk.Open(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if st, e := in.Stat(); err == nil && e == nil {
		_ = out.Chmod(st.Mode().Perm()) // some of these file systems have no modes either
	}
	return errors.Join(err, out.Close())
}

// copiedFile is the name of the file with the names of those files that were placed as copies, each after the
// one before, with a zero byte at its end.
const copiedFile = ".copied"

func addCopied(from, name string) error {
	f, err := disk.Open(filepath.Join(filepath.Dir(from), copiedFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	_, err = f.WriteString(name + "\x00")
	return errors.Join(err, f.Close())
}

// copiedNames returns the names of the files that were placed as copies, and perhaps that of one that was about to be.
func copiedNames(from string) map[string]bool {
	names := map[string]bool{}
	b, err := disk.Read(filepath.Join(filepath.Dir(from), copiedFile))
	if err != nil {
		return names
	}
	for name := range strings.SplitSeq(string(b), "\x00") {
		names[name] = true
	}
	return names
}

// filesIn returns the names of all files in a folder, relative to it; none if it is not there.
func filesIn(folder string) (names []string, err error) {
	err = filepath.WalkDir(folder, func(p string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && p == folder {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, p)
		names = append(names, name)
		return err
	})
	return names, err
}

// TakeBack removes what Place placed, and the folders that are empty then. Another file of the same name stays.
func TakeBack(from, work string) {
	names, _ := filesIn(from)
	folders, copies := []string{work}, copiedNames(from)
	for _, name := range names {
		ours, err := os.Lstat(filepath.Join(from, name))
		placed, e2 := os.Lstat(filepath.Join(work, name))
		// A copy may not have come to its end.
		if err == nil && e2 == nil &&
			(os.SameFile(ours, placed) || copies[name] &&
				disk.SameContent(filepath.Join(work, name), filepath.Join(from, name), true)) {
			_ = os.Remove(filepath.Join(work, name))
		}
		for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
			folders = append(folders, filepath.Join(work, dir))
		}
	}
	slices.SortFunc(folders, func(a, b string) int { return len(b) - len(a) })
	for _, dir := range folders {
		_ = os.Remove(dir) // only if it is empty
	}
}

// ForgetDead takes back what imports that died placed of a run that then was not recorded, and removes what
// they unpacked. What was placed for a run of another store only a command with that store can judge; it is
// left for a day.
func ForgetDead(ctx context.Context, store Records, runs string) {
	folders, _ := filepath.Glob(filepath.Join(runs, folderPrefix+"*"))
	for _, dir := range folders {
		if lock, err := lockFolder(dir); err == nil && lock != nil {
			if forgetDead(ctx, store, runs, dir) {
				_ = disk.RemoveTree(dir)
			}
			_ = disk.Release(lock)
		}
	}
}

// forgetDead takes back what an import that died placed. It reports whether its folder can go.
func forgetDead(ctx context.Context, store Records, runs, dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, placingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return true // it placed nothing
	}
	if err != nil {
		return false
	}
	var p placing
	if json.Unmarshal(b, &p) != nil || !p.Run.Valid() || !filepath.IsLocal(p.Work) ||
		strings.ContainsRune(p.Work, filepath.Separator) {
		return len(b) == 0 || old(dir) // it was about to say what it would place
	}
	if p.Store != store.Key() {
		return old(dir)
	}
	there, err := store.Runs(ctx, persistence.Query{ID: p.Run})
	if err != nil {
		return false
	}
	if len(there) == 0 {
		TakeBack(filepath.Join(dir, p.Work), filepath.Join(runs, filepath.FromSlash(string(p.Run))))
	}
	return true
}

// old reports whether a folder was made more than a day ago.
func old(dir string) bool {
	st, err := os.Lstat(dir)
	return err == nil && time.Since(st.ModTime()) > 24*time.Hour
}
