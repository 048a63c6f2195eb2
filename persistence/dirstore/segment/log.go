package segment

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"loops/internal/disk"
)

// A Log is the whole journal of a run as it is on disk at one moment.
type Log struct {
	Parts  []Part   // full ones, oldest first
	Newest *os.File // nil if it is not there, as after a crash between two parts
	Damage []string // what is wrong with the parts and their index
}

// Close closes the newest file.
func (l *Log) Close() {
	if l.Newest != nil {
		_ = l.Newest.Close()
	}
}

// Before is how many parts come before the newest.
func (l *Log) Before() int {
	if len(l.Parts) == 0 {
		return 0
	}
	return l.Parts[len(l.Parts)-1].N
}

// OpenLog opens the journal whose newest file and whose folder of older parts are these. Its owner may just be
// beginning a new part. It is fs.ErrNotExist if there is none.
func OpenLog(newest, older string) (*Log, error) {
	for try := 0; ; try++ {
		f, err := disk.Open(newest, os.O_RDONLY)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		parts, damage, err2 := Parts(older)
		if err2 != nil {
			if f != nil {
				f.Close()
			}
			return nil, err2
		}
		switch {
		case f != nil:
			return &Log{Parts: olderThan(f, parts), Newest: f, Damage: damage}, nil
		case len(parts) == 0:
			return nil, err
		case try == 3 || rested(older): // else it may just be moved
			return &Log{Parts: parts, Damage: damage}, nil
		}
		time.Sleep(time.Millisecond)
	}
}

// rested reports whether no file has come to a folder, or left it, for a while.
func rested(folder string) bool {
	s, ok := disk.FolderStamp(folder)
	return ok && s.Rested()
}

// olderThan returns the parts before an open file, which may have become one of them since it was opened.
func olderThan(f *os.File, parts []Part) []Part {
	if len(parts) == 0 {
		return nil
	}
	st, err := f.Stat()
	if err != nil {
		return parts
	}
	for i, p := range parts {
		if other, err := os.Lstat(p.Path); err == nil && os.SameFile(st, other) {
			return parts[:i]
		}
	}
	return parts
}

// LastOf is the number of the last event in these parts; 0 = there is none, or it is not known.
func LastOf(parts []Part) uint64 {
	if len(parts) == 0 {
		return 0
	}
	return parts[len(parts)-1].Last
}
