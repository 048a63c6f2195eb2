package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"loops/internal/disk"
)

// A Log is a file that is moved aside when it is full. It is not safe for concurrent use.
type Log struct {
	Path   string
	most   int64                // bytes of one file; a longer text stays in one piece
	keep   int                  // older files
	opened func(*os.File) error // is called with each file

	file *os.File
	size int64
}

// OpenLog continues with the log at path, and makes it and its folder if need be. opened is called with each
// file that it begins, or continues with.
func OpenLog(path string, most int64, keep int, opened func(*os.File) error) (*Log, error) {
	l := &Log{Path: path, most: most, keep: keep, opened: opened}
	if err := MakeLogFolder(path); err != nil {
		return nil, err
	}
	return l, l.open()
}

// MakeLogFolder makes the folder of a log in a .loops folder.
func MakeLogFolder(path string) error {
	dir := filepath.Dir(path)
	return disk.MakeFolder(filepath.Dir(dir), dir)
}

func (l *Log) open() error {
	f, err := disk.Open(l.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // nothing was written
		return err
	}
	l.file, l.size = f, info.Size()
	return l.opened(f)
}

func (l *Log) Write(b []byte) (int, error) {
	if l.size > 0 && l.size+int64(len(b)) > l.most {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(b)
	l.size += int64(n)
	return n, err
}

// FullLog returns where the log at path went when it was full, n logs ago; 0 is the log itself.
func FullLog(path string, n int) string {
	if n == 0 {
		return path
	}
	return fmt.Sprintf("%s.%d", path, n)
}

// rotate moves the full file to NAME.1, the one there to NAME.2 and so on, and begins a new one.
func (l *Log) rotate() error {
	for n := l.keep - 1; n > 0; n-- {
		if err := os.Rename(FullLog(l.Path, n), FullLog(l.Path, n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(l.Path, FullLog(l.Path, 1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	full := l.file
	if err := l.open(); err != nil {
		return err
	}
	return full.Close()
}
