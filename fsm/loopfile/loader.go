package loopfile

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"loops/fsm"
)

// Limits of what a loop may be made of. Whatever is larger is refused with a message.
const (
	// MaxSize is the size of the largest file that is read, in bytes.
	MaxSize = 16 << 20
	// MaxTotal is the size of all files of one loop together: its own, those it inherits from and those it imports.
	MaxTotal = 32 << 20
	// MaxFiles is how many files that may be.
	MaxFiles = 256
	// MaxParents is how many files may inherit from each other in a row.
	MaxParents = 16
)

// A Loader reads loops and everything they are made of: the loop a file inherits from, the fragments it imports,
// and the loops its states run. It keeps every file it has read for as long as it lives, so that a library is
// parsed once however many loops import it, and so that a change on disk is not seen by a Loader that has read the
// file before. It is safe for concurrent use.
//
// The names that from, import and loop hold are looked up by one rule, by [Loader.Child].
type Loader struct {
	Loops   string // the project's folder of loops, such as .loops; "" = none
	Catalog string // a folder of loops and libraries that every project may use; "" = none
	Types   Types  // action types besides those of the language; nil = none

	mu      sync.Mutex
	sources map[string]func() (*source, error) // by path; guarded by mu
	units   map[string]*unit                   // by path; guarded by mu
	uppers  map[string][]string                // folders above a folder; guarded by mu
}

// Load reads the loop file at path with everything it is made of. It reports everything it finds, sorted by
// position: errors and warnings, of each up to 500 and then how many more there are. The loop is nil if there is an
// error among them, and shared with every other caller otherwise. A loop that a state runs is read too, to see
// whether it takes what it is given; that it has mistakes of its own is only a warning here.
//
// The error is about the file, never about what it says: it is missing, is not a regular file, cannot be read or is
// larger than [MaxSize].
func (l *Loader) Load(path string) (*fsm.Loop, []fsm.Problem, error) {
	u := l.unit(path)
	u.check()
	if u.err != nil {
		return nil, nil, u.err
	}
	return u.loop, u.problems, nil
}

func (l *Loader) unit(path string) *unit {
	path = filepath.Clean(path)
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.units[path]
	if u == nil {
		if l.units == nil {
			l.units = map[string]*unit{}
		}
		u = newUnit(l, path)
		l.units[path] = u
	}
	return u
}

// source reads and parses a file, once.
func (l *Loader) source(path string) (*source, error) {
	path = filepath.Clean(path)
	l.mu.Lock()
	get := l.sources[path]
	if get == nil {
		if l.sources == nil {
			l.sources = map[string]func() (*source, error){}
		}
		get = sync.OnceValues(func() (*source, error) {
			data, info, err := readFile(path)
			if err != nil {
				return nil, err
			}
			return newSource(path, info, data), nil
		})
		l.sources[path] = get
	}
	l.mu.Unlock()
	return get()
}

// Read returns the SHA-256 of each file that the loader has read, by its path.
func (l *Loader) Read() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	sums := map[string]string{}
	for path, get := range l.sources {
		if s, err := get(); err == nil {
			sums[path] = hex.EncodeToString(s.sum[:])
		}
	}
	return sums
}

// With has the loader read a text instead of the file at path, which need not be there, and which it has not read yet.
func (l *Loader) With(path string, text []byte) {
	path = filepath.Clean(path)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sources == nil {
		l.sources = map[string]func() (*source, error){}
	}
	l.sources[path] = sync.OnceValues(func() (*source, error) {
		info, err := os.Stat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return newSource(path, info, text), nil
	})
}

func read(path string) ([]byte, error) {
	data, _, err := readFile(path)
	return data, err
}

func readFile(path string) ([]byte, os.FileInfo, error) {
	// Stat first: opening a named pipe would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is %s; expected a loop file", path, irregular(info))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), MaxSize)) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(f, MaxSize+1)); err != nil {
		return nil, nil, err
	}
	if data.Len() > MaxSize {
		return nil, nil, fmt.Errorf("%s is larger than %d MiB; a loop file is some kilobytes of YAML", path,
			MaxSize>>20)
	}
	return data.Bytes(), info, nil
}

func irregular(info os.FileInfo) string {
	if info.IsDir() {
		return "a directory"
	}
	return "not a regular file"
}
