package process

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	mostFiles = 64       // that are open at once: as many actions side by side are followed
	mostRead  = 1 << 20  // bytes of one file in one look, so that one that writes without end lets others be read
	longLine  = 64 << 10 // a longer line is handed on in pieces
	settled   = 2 * time.Second
)

// A StderrTail reads the files of one run. The zero value with Dir set is ready. It is not safe for concurrent use.
type StderrTail struct {
	Dir   string    // the working folder of the run
	Since time.Time // files that were written last before are of earlier actions, and are not read

	listed time.Time // when the folder had changed last as it was listed
	rest   time.Time // it is not listed again before
	known  map[string]*followed
}

// A followed is one file.
type followed struct {
	f    *os.File // nil = not followed, or read to its end
	part []byte   // of a line whose end is still to come
}

// Read calls each for what was written to a file since the last call: whole lines without the last line end,
// joined by \n. What cannot be read is left out: the records show of each action what they keep of it when it
// ends.
func (t *StderrTail) Read(each func(file, text string)) {
	t.list()
	for name, n := range t.known {
		if n.f == nil {
			continue
		}
		if ended := n.read(func(text string) { each(name, text) }); ended {
			_ = n.f.Close()
			n.f = nil
			if _, err := os.Lstat(filepath.Join(t.Dir, "output", name)); err != nil {
				delete(t.known, name) // another may get its name
			}
		}
	}
}

// Close closes the files.
func (t *StderrTail) Close() {
	for _, n := range t.known {
		if n.f != nil {
			_ = n.f.Close()
		}
	}
	t.known = nil
}

// list finds files that were not there before.
func (t *StderrTail) list() {
	if time.Now().Before(t.rest) {
		return
	}
	dir := filepath.Join(t.Dir, "output")
	info, err := os.Stat(dir)
	if err != nil || info.ModTime().Equal(t.listed) && time.Since(t.listed) > settled {
		return // a folder that changed a moment ago may change again within the same tick of its clock
	}
	begun := time.Now()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	if took := time.Since(begun); took > time.Millisecond {
		t.rest = begun.Add(20 * took) // a folder of very many files takes its time
	}
	t.listed = info.ModTime()
	if t.known == nil {
		t.known = map[string]*followed{}
	}
	open := 0
	for _, n := range t.known {
		if n.f != nil {
			open++
		}
	}
	for _, e := range entries {
		if !isStderr(e) || t.known[e.Name()] != nil || open == mostFiles {
			continue
		}
		n := &followed{}
		t.known[e.Name()] = n
		if info, err := e.Info(); err != nil || info.ModTime().Before(t.Since) {
			continue
		}
		if n.f, err = os.Open(filepath.Join(dir, e.Name())); err == nil {
			open++
		}
	}
}

// isStderr reports whether a file is one that the runner keeps standard error in.
func isStderr(e fs.DirEntry) bool { return e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".err") }

// read hands on what came, and reports whether the file was removed, so that nothing more comes.
func (n *followed) read(each func(text string)) (ended bool) {
	info, err := n.f.Stat()
	gone := err != nil || removed(info) // asked before it is read: what is removed is whole
	b, err := io.ReadAll(io.LimitReader(n.f, mostRead))
	n.part = append(n.part, b...)
	if i := bytes.LastIndexByte(n.part, '\n'); i >= 0 {
		each(string(n.part[:i]))
		n.part = n.part[:copy(n.part, n.part[i+1:])]
	}
	ended = err != nil || gone && len(b) < mostRead
	if len(n.part) > longLine || ended && len(n.part) > 0 {
		each(string(n.part))
		n.part = n.part[:0]
	}
	return ended
}

// removed reports whether an open file has no name any more.
func removed(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink == 0
}

// Said keeps the end of what was shown of each file, to find what the record of an action adds to it. The zero value is
// ready.
type Said struct{ ends map[string]string }

// saidMost is how much of a text is kept, in bytes: more than the records keep.
const saidMost = 16 << 10

// Add takes a text that was shown of a file.
func (s *Said) Add(file, text string) {
	if s.ends == nil {
		s.ends = map[string]string{}
	}
	if len(s.ends) >= 2*mostFiles { // of actions that never ended
		clear(s.ends)
	}
	end := s.ends[file] + text + "\n"
	s.ends[file] = end[max(0, len(end)-saidMost):]
}

// Covers reports whether the end of what an action wrote, as its record has it, was shown already. That counts
// for one action.
func (s *Said) Covers(end string) bool {
	end = strings.TrimSpace(end)
	for file, shown := range s.ends {
		if end != "" && strings.HasSuffix(strings.TrimSpace(shown), end) {
			delete(s.ends, file)
			return true
		}
	}
	return false
}

// Heard is when an action of the run wrote to standard error last, as far as its file shows; zero = that is not known.
func Heard(dir string) (at time.Time) {
	entries, err := os.ReadDir(filepath.Join(dir, "output"))
	if err != nil {
		return at
	}
	for _, e := range entries {
		if !isStderr(e) {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}
