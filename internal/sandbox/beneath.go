package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Files that an action may have changed are reached from a folder that it cannot replace, one name after the other,
// and no name may be that of a link.

var (
	errNoFolder = errors.New("there is no folder to move it to")
	errMoved    = errors.New("it is being changed")
)

// descend opens a folder that is base or below it. With made, folders that are missing are made. In the way of the
// folder there may be something else: blocked is its path.
func descend(base, path string, made bool) (dir *os.Root, blocked string, err error) {
	if dir, err = os.OpenRoot(base); err != nil {
		return nil, "", err
	}
	rel, err := filepath.Rel(base, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		_ = dir.Close()
		return nil, "", fmt.Errorf("%s is not below %s", path, base)
	}
	if rel == "." {
		return dir, "", nil
	}
	at := base
	for name := range strings.SplitSeq(rel, "/") {
		at = filepath.Join(at, name)
		next, err := below(dir, name, made)
		_ = dir.Close()
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				blocked = at
			}
			return nil, blocked, err
		}
		dir = next
	}
	return dir, "", nil
}

// below opens a folder of dir.
func below(dir *os.Root, name string, made bool) (*os.Root, error) {
	st, err := dir.Lstat(name)
	if made && errors.Is(err, fs.ErrNotExist) {
		if err = dir.Mkdir(name, 0o755); err == nil {
			st, err = dir.Lstat(name)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case !st.IsDir():
		return nil, fmt.Errorf("%s is no folder", name)
	}
	return openSame(dir, name, st)
}

// openSame opens the folder that st is of.
func openSame(dir *os.Root, name string, st fs.FileInfo) (*os.Root, error) {
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if now, err := sub.Stat("."); err != nil || !os.SameFile(now, st) {
		_ = sub.Close()
		return nil, errMoved
	}
	return sub, nil
}

// openFile opens the regular file that st is of.
func openFile(dir *os.Root, name string, st fs.FileInfo) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(now, st) {
		_ = f.Close()
		return nil, errMoved
	}
	return f, nil
}

// changedAt returns when a file last changed, in nanoseconds; 0 = that cannot be seen.
func changedAt(dir *os.Root, name string) int64 {
	f, err := dir.Open(".")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	var st unix.Stat_t
	if unix.Fstatat(int(f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return 0
	}
	return st.Ctim.Nano()
}

func readSame(dir *os.Root, name string, st fs.FileInfo) ([]byte, error) {
	f, err := openFile(dir, name, st)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, keptFile+1))
	if len(b) > keptFile {
		err = errMoved
	}
	return append([]byte{}, b...), err
}

// names returns what is in a folder, sorted.
func names(dir *os.Root) []string {
	f, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	list, _ := f.Readdirnames(-1)
	slices.Sort(list)
	return list
}

// move moves a file, link or folder from one folder to another; to another file system it is copied.
func move(from *os.Root, name string, to *os.Root, as string) error {
	a, err := from.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }()
	b, err := to.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	err = unix.Renameat(int(a.Fd()), name, int(b.Fd()), as)
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	if err := copyTo(from, name, to, as); err != nil {
		return err
	}
	return from.RemoveAll(name)
}

func copyTo(from *os.Root, name string, to *os.Root, as string) error {
	st, err := from.Lstat(name)
	switch {
	case err != nil:
		return err
	case st.Mode()&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		return to.Symlink(target, as)
	case st.Mode().IsRegular():
		return copyFile(from, name, to, as, st)
	case !st.IsDir():
		return fmt.Errorf("%s cannot be copied: %w", name, fs.ErrInvalid)
	}
	if err := to.Mkdir(as, 0o700); err != nil {
		return err
	}
	a, err := openSame(from, name, st)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }()
	b, err := below(to, as, false)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	for _, name := range names(a) {
		if err := copyTo(a, name, b, name); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from *os.Root, name string, to *os.Root, as string, st fs.FileInfo) error {
	in, err := openFile(from, name, st)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := to.OpenFile(as, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
