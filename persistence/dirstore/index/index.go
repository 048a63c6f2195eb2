// Package index remembers what listings read of an archive of runs, so that the next one need not read it
// again: which folders there are, and of the newest runs what a listing shows of their state files.
//
// It is a copy that may be missing, old or damaged at any time, and is never believed over the folders. The
// names hold as long as the archive has the stamp it had when they were read, and what was read of a state file
// holds as long as the file has its stamp. A stamp is only written down if the clock of the file system had
// advanced since: otherwise a later change might not show in it.
//
// Any number of processes may use one index. A writer holds its flock, and one that cannot get it does not write. It is
// written in place: a process that is killed meanwhile, or one that reads meanwhile, leaves or sees a file whose
// checksum does not hold, which counts as missing.
package index

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"loops/internal/disk"
)

// Bounds of an index. Older runs are read from their files.
const (
	mostEntries = 2000
	mostBytes   = 8 << 20
	mostFile    = 64 << 20
)

// Clocks of file systems advance in ticks: of at most 10 ms, or of up to two seconds where times are whole seconds.
const (
	tick       = 100 * time.Millisecond
	coarseTick = 3 * time.Second
)

// An Index is what one file held when it was read. The zero Index is empty.
type Index struct {
	folder  disk.Stamp
	names   string // each with a line end
	listed  bool
	entries map[string]Entry
	full    bool
	oldest  string // of the entries
}

// An Entry is what was read of one state file.
type Entry struct {
	State disk.Stamp
	Ended bool // permanently: the run is whole and cannot be resumed
	Text  string
}

// A Listing is the names in the archive, and its stamp from before they were read.
type Listing struct {
	Folder disk.Stamp
	Names  []string
}

// Names returns the names in the archive in the order of the listing, each with a line end, if it still has this stamp.
func (x *Index) Names(folder disk.Stamp) (names string, ok bool) {
	return x.names, x.listed && x.folder == folder
}

// Text returns what was read of the state file of a run, if that still has this stamp.
func (x *Index) Text(name string, state disk.Stamp) (string, bool) {
	e, ok := x.entries[name]
	return e.Text, ok && e.State == state
}

// Ended reports whether what was read of the state file of a run, if that still has this stamp, says that it finished.
func (x *Index) Ended(name string, state disk.Stamp) bool {
	e := x.entries[name]
	return e.Ended && e.State == state
}

// Wants reports whether what is read of a run would be kept: there is room for it, or it is newer than another.
func (x *Index) Wants(name string) bool { return !x.full || name > x.oldest }

// The file begins with this, and then the checksum and the length of the rest.
const magic = "loops archive index 2 "

var table = crc32.MakeTable(crc32.Castagnoli)

// Read reads an index; one that is missing or damaged is empty.
func Read(path string) *Index {
	b, err := disk.Read(path)
	if err != nil || len(b) > mostFile {
		return &Index{}
	}
	x, ok := parse(b)
	if !ok {
		return &Index{}
	}
	return x
}

func parse(b []byte) (*Index, bool) {
	head, rest, ok := bytes.Cut(b, []byte("\n"))
	if !ok || string(head) != headOf(rest) {
		return nil, false
	}
	p := parser{text: unsafe.String(unsafe.SliceData(rest), len(rest))} // nothing changes the bytes any more
	x := &Index{folder: p.stamp()}
	x.listed = p.number() == 1
	x.names = p.take(p.number())
	n := p.number()
	if p.bad || n > mostEntries {
		return nil, false
	}
	x.entries = make(map[string]Entry, n)
	x.full = n == mostEntries || len(rest)-len(x.names) > mostBytes*9/10
	for range n {
		name := p.take(p.number())
		state := p.stamp()
		ended := p.number() == 1
		x.entries[name], x.oldest = Entry{state, ended, p.take(p.number())}, name
	}
	return x, !p.bad && p.text == ""
}

func headOf(rest []byte) string {
	return fmt.Sprintf("%s%08x %d", magic, crc32.Checksum(rest, table), len(rest))
}

// A parser takes an index apart. The checksum of what it reads holds, so all it has to do about mistakes is not
// to fail.
type parser struct {
	text string
	bad  bool
}

func (p *parser) number() int64 {
	word, rest, ok := strings.Cut(p.text, " ")
	n, err := strconv.ParseInt(word, 10, 64)
	if !ok || err != nil {
		p.bad, p.text = true, ""
		return 0
	}
	p.text = rest
	return n
}

func (p *parser) take(n int64) string {
	if n < 0 || n > int64(len(p.text)) {
		p.bad, p.text = true, ""
		return ""
	}
	s := p.text[:n]
	p.text = p.text[n:]
	return s
}

func (p *parser) stamp() disk.Stamp {
	return disk.Stamp{
		Dev: uint64(p.number()), Ino: uint64(p.number()), Size: p.number(), Modified: p.number(),
		Changed: p.number(),
	}
}

func appendStamp(b []byte, s disk.Stamp) []byte {
	for _, n := range []int64{int64(s.Dev), int64(s.Ino), s.Size, s.Modified, s.Changed} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	return b
}

func appendBit(b []byte, set bool) []byte {
	if set {
		return append(b, "1 "...)
	}
	return append(b, "0 "...)
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(append(strconv.AppendInt(b, int64(len(s)), 10), ' '), s...)
}

// News is what a listing read of an archive.
type News struct {
	Began   time.Time // before anything was read
	Listing *Listing  // nil = the names were not read
	Read    map[string]Entry
}

// Save writes an index with what x has and what was read since, as far as that still holds: stamp returns the stamp of
// a state file. If another process writes, or it cannot be written, nothing happens.
func (x *Index) Save(path string, news News, stamp func(name string) (disk.Stamp, bool)) {
	f, err := disk.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return
	}
	defer disk.Release(f) //nolint:errcheck // what was not written is read again
	if disk.Flock(f, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	if err := f.Truncate(0); err != nil { // a process that reads now finds nothing
		return
	}
	c, ok := clockOf(f, news.Began)
	if !ok {
		return
	}
	rest := x.with(c, news, stamp)
	if _, err := f.WriteAt(append([]byte(headOf(rest)+"\n"), rest...), 0); err != nil {
		_ = f.Truncate(0)
	}
}

// A clock knows which stamps of a file system were settled when a listing began.
type clock struct {
	dev   uint64
	began int64 // by the clock of the file system, which need not be that of the machine
}

// clockOf asks the file system for the time by what it says of a file that was changed just now.
func clockOf(f *os.File, began time.Time) (clock, bool) {
	if _, err := f.WriteAt([]byte{'\n'}, 0); err != nil {
		return clock{}, false
	}
	took := time.Since(began)
	s, err := disk.StampOfFile(f)
	return clock{s.Dev, s.Changed - int64(took)}, err == nil
}

// settled reports whether any change since the listing began gives other stamps.
func (c clock) settled(stamps ...disk.Stamp) bool {
	for _, s := range stamps {
		wait := tick
		if s.Changed%int64(time.Second) == 0 {
			wait = coarseTick
		}
		if s.Dev != c.dev || s.Changed+int64(wait) > c.began {
			return false
		}
	}
	return true
}

// with is the text of an index that has what x has and what was read.
func (x *Index) with(c clock, news News, stamp func(string) (disk.Stamp, bool)) []byte {
	names, folder, listed := x.names, x.folder, x.listed
	if l := news.Listing; l != nil {
		names, folder, listed = "", disk.Stamp{}, false
		if c.settled(l.Folder) &&
			!slices.ContainsFunc(l.Names, func(n string) bool { return strings.Contains(n, "\n") }) {
			names, folder, listed = strings.Join(l.Names, "\n")+"\n", l.Folder, true
		}
	}
	b := appendStamp(nil, folder)
	b = appendBit(b, listed)
	b = appendText(b, names)
	kept := x.newest(c, news.Read, stamp)
	b = append(strconv.AppendInt(b, int64(len(kept)), 10), ' ')
	for _, e := range kept {
		b = appendText(b, e.name)
		b = appendStamp(b, e.State)
		b = appendBit(b, e.Ended)
		b = appendText(b, e.Text)
	}
	return b
}

type named struct {
	name string
	Entry
}

// newest returns the entries that are kept, newest first: those of runs that are as they were. A run may be
// removed, and its index with it, while this process lists; the run is gone before the index is, so nothing
// comes back.
func (x *Index) newest(c clock, read map[string]Entry, stamp func(string) (disk.Stamp, bool)) []named {
	all := make([]named, 0, len(x.entries)+len(read))
	for name, e := range x.entries {
		if _, again := read[name]; !again {
			all = append(all, named{name, e})
		}
	}
	for name, e := range read {
		if c.settled(e.State) {
			all = append(all, named{name, e})
		}
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Compare(b.name, a.name) })
	kept, size := all[:0], 0
	for _, e := range all {
		if now, ok := stamp(e.name); !ok || now != e.State {
			continue
		}
		if size += len(e.name) + len(e.Text); len(kept) == mostEntries || size > mostBytes {
			break
		}
		kept = append(kept, e)
	}
	return kept
}

// Drop removes an index: what it says of runs does not outlive them.
func Drop(path string) error { return disk.Remove(path) }
