package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A disk changes files so that each is old or new after a crash, never half.
type disk struct {
	step     func(what string) error // asked before each change; nil outside tests
	noSync   bool                    // nothing is synced: for tests in which no power is lost
	patience time.Duration           // how long lock waits; 0 = 30 s
	dirMode  fs.FileMode             // of folders it makes
	fileMode fs.FileMode             // of files that were not there before
}

func (d *disk) next(what, path string) error {
	if d.step == nil {
		return nil
	}
	return d.step(what + " " + filepath.Base(path))
}

// replace makes path hold data, durably, and keeps its mode if it was there.
func (d *disk) replace(path string, data []byte) error {
	tmp, err := d.stage(path, data)
	if err != nil {
		return err
	}
	return d.install(tmp, path)
}

// stage writes data, durably, to the file that install puts instead of path.
func (d *disk) stage(path string, data []byte) (tmp string, err error) {
	tmp = tmpOf(path)
	if err := d.remove(tmp); err != nil {
		return "", err
	}
	if err := d.next("create", tmp); err != nil {
		return "", err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, d.fileMode)
	if err != nil {
		return "", err
	}
	if st, e := os.Lstat(path); e == nil && st.Mode().IsRegular() {
		err = f.Chmod(st.Mode().Perm())
	}
	if err == nil {
		err = d.next("write", tmp)
	}
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = d.flush(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(tmp) // a full disk needs the room
		return "", err
	}
	return tmp, nil
}

// install puts a staged file instead of path, durably.
func (d *disk) install(tmp, path string) error {
	err := d.next("rename", path)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return d.sync(filepath.Dir(path))
}

// tmpSuffix ends the names of files that are being written.
const tmpSuffix = ".loops-tmp"

func tmpOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+tmpSuffix)
}

// keep gives the content of from a second name, instead of what was there. from stays.
func (d *disk) keep(from, to string) error {
	tmp := tmpOf(to)
	if err := d.remove(tmp); err != nil {
		return err
	}
	if err := d.next("link", to); err != nil {
		return err
	}
	if err := linkOrCopy(from, tmp); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	err := d.next("rename", to)
	if err == nil {
		err = os.Rename(tmp, to)
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return err
}

// linkOrCopy makes to a second name of from, or a copy where the file system has no second names.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := openRegular(from, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// remove removes files; those that are not there are no error.
func (d *disk) remove(paths ...string) error {
	for _, p := range paths {
		if _, err := os.Lstat(p); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := d.next("remove", p); err != nil {
			return err
		}
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// sync makes the names in a folder durable, where the file system can.
func (d *disk) sync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.flush(f)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // this file system syncs no folders
	}
	return errors.Join(err, f.Close())
}

// flush makes what was written to f durable.
func (d *disk) flush(f *os.File) error {
	if err := d.next("sync", f.Name()); err != nil {
		return err
	}
	if d.noSync {
		return nil
	}
	return f.Sync()
}

// mkdir makes a folder and those above it, durably.
func (d *disk) mkdir(dir string) error {
	if st, err := os.Stat(dir); err == nil {
		if !st.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := d.mkdir(parent); err != nil {
			return err
		}
	}
	if err := d.next("mkdir", dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, d.dirMode); err != nil {
		if st, e := os.Stat(dir); e == nil && st.IsDir() {
			return nil // another process made it just now
		}
		return err
	}
	return d.sync(filepath.Dir(dir))
}

const patience = 30 * time.Second

// lock opens a file for reading and writing and takes its flock, which lasts until the file is closed or the process
// dies. With make the file and its folder are made if need be; without, it is fs.ErrNotExist if there is no file.
// The holder of the lock may remove the file. shared is for readers, who wait for writers only.
func (d *disk) lock(ctx context.Context, path string, how lockMode) (*os.File, error) {
	giveUp := time.Now().Add(cmp.Or(d.patience, patience))
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 5*time.Millisecond) {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		f, err := d.tryLock(path, how)
		if err == nil || !errors.Is(err, errRetry) {
			return f, err
		}
		if time.Now().After(giveUp) {
			return nil, fmt.Errorf("%s: %w", path, ErrBusy)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

type lockMode int

const (
	lockMake   lockMode = iota // exclusive; the file is made if need be
	lockWrite                  // exclusive; the file must be there
	lockShared                 // for reading; the file must be there
)

// errRetry means that another process has the lock, or removed the file just now.
var errRetry = errors.New("again")

func (d *disk) tryLock(path string, how lockMode) (*os.File, error) {
	flag, op := os.O_RDWR, syscall.LOCK_EX
	switch how {
	case lockMake:
		if err := d.mkdir(filepath.Dir(path)); err != nil {
			return nil, err
		}
		flag |= os.O_CREATE
	case lockShared:
		flag, op = os.O_RDONLY, syscall.LOCK_SH
	}
	f, err := openRegular(path, flag, d.fileMode)
	if errors.Is(err, fs.ErrNotExist) && how == lockMake {
		return nil, errRetry // the folder was removed just now
	}
	if err != nil {
		return nil, err
	}
	if err := d.next("lock", path); err != nil {
		_ = f.Close()
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), op|syscall.LOCK_NB)
	if err == nil {
		a, e1 := f.Stat()
		b, e2 := os.Stat(path)
		if e1 == nil && e2 == nil && os.SameFile(a, b) {
			return f, nil
		}
		err = errRetry // the last holder removed it
	}
	_ = f.Close()
	if errors.Is(err, errRetry) || errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, errRetry
	}
	return nil, &fs.PathError{Op: "flock", Path: path, Err: err}
}
