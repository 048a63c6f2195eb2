package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"loops/internal/disk"
	"loops/persistence"
)

// The log of a run in the background: how large one file gets, in bytes, and how many older ones are kept.
const (
	logSize = 8 << 20
	logKeep = persistence.KeptLogs
)

// A runLog is a file that is moved aside when it is full. It is not safe for concurrent use.
type runLog struct {
	path string
	most int64 // bytes of one file; a longer text stays in one piece
	keep int   // older files

	file *os.File
	size int64
}

// openLog goes on with the log at path, and makes it and its folder if need be.
func openLog(path string, most int64, keep int) (*runLog, error) {
	l := &runLog{path: path, most: most, keep: keep}
	if err := makeLogs(path); err != nil {
		return nil, err
	}
	return l, l.open()
}

// makeLogs makes the folder of a log in a .loops folder.
func makeLogs(path string) error {
	dir := filepath.Dir(path)
	return disk.MakeFolder(filepath.Dir(dir), dir)
}

func (l *runLog) open() error {
	f, err := disk.Open(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // nothing was written
		return err
	}
	l.file, l.size = f, info.Size()
	// What the Go runtime says when it gives up goes here too.
	return debug.SetCrashOutput(f, debug.CrashOptions{})
}

func (l *runLog) Write(b []byte) (int, error) {
	if l.size > 0 && l.size+int64(len(b)) > l.most {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(b)
	l.size += int64(n)
	return n, err
}

// fullLog returns where the log at path went when it was full, n logs ago; 0 is the log itself.
func fullLog(path string, n int) string {
	if n == 0 {
		return path
	}
	return fmt.Sprintf("%s.%d", path, n)
}

// rotate moves the full file to NAME.1, the one there to NAME.2 and so on, and begins a new one.
func (l *runLog) rotate() error {
	for n := l.keep - 1; n > 0; n-- {
		if err := os.Rename(fullLog(l.path, n), fullLog(l.path, n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(l.path, fullLog(l.path, 1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	full := l.file
	if err := l.open(); err != nil {
		return err
	}
	return full.Close()
}

func (l *runLog) close() error { return l.file.Close() }
