package dirstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/internal/disk"
	"loops/persistence/snapshot"
)

// A journal that grows beyond Dir.PartSize is cut into parts, so that a loop without end makes no file that nobody can
// open. The newest part is always events.jsonl; the full ones before it lie in a folder beside it: 000001.jsonl,
// 000002.jsonl … and index.jsonl, a line for each of them. Every part begins with a whole memory.
//
// The names of the parts are the truth: what the index says is only believed of a file that has the recorded size, and
// what it does not say is found in the files.

const (
	partSuffix = ".jsonl"
	indexName  = "index.jsonl"
)

// A part is one full file of a journal.
type part struct {
	Name  string `json:"file"`
	First uint64 `json:"first"` // numbers of its events
	Last  uint64 `json:"last"`
	Bytes int64  `json:"bytes"`
	Whole int64  `json:"whole"`         // where the batch with its last whole memory begins
	Sum   string `json:"crc,omitempty"` // of the line of the index, without this key

	n       int
	path    string
	indexed bool // the index has it, and the file is as long as it says
}

func partName(n int) string { return fmt.Sprintf("%06d%s", n, partSuffix) }

// partNumber is 0 for a name that is none of a part.
func partNumber(name string) int {
	digits, ok := strings.CutSuffix(name, partSuffix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || partName(n) != name {
		return 0
	}
	return n
}

// readParts lists the full parts in a folder, oldest first, and what is wrong with them.
func readParts(dir string) (parts []part, damage []string, err error) {
	names, err := disk.RealNames(dir)
	if err != nil || len(names) == 0 {
		return nil, nil, err
	}
	index, damage := readIndex(filepath.Join(dir, indexName))
	for _, name := range names {
		if n := partNumber(name); n > 0 {
			p := part{n: n, Name: name, path: filepath.Join(dir, name)}
			if x, ok := index[name]; ok {
				st, err := os.Lstat(p.path)
				switch {
				case err != nil:
					damage = append(damage, p.path+": "+errText(err))
				case st.Size() != x.Bytes:
					damage = append(damage, fmt.Sprintf("%s: it has %d bytes, %d were recorded", p.path, st.Size(), x.Bytes))
				default:
					p.First, p.Last, p.Bytes, p.Whole, p.indexed = x.First, x.Last, x.Bytes, x.Whole, true
				}
			}
			if !p.indexed {
				if p.Last, err = lastSeq(p.path); err != nil {
					return nil, nil, err
				}
			}
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return a.n - b.n })
	for i, p := range parts {
		// A crash leaves the last out, and takeover puts it in.
		if _, ok := index[p.Name]; !ok && i < len(parts)-1 {
			damage = append(damage, fmt.Sprintf("%s: it does not know %s", filepath.Join(dir, indexName), p.Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(index)) {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.Name == name }) {
			damage = append(damage, filepath.Join(dir, name)+": the file is missing")
		}
	}
	return parts, damage, nil
}

func readIndex(path string) (index map[string]part, damage []string) {
	b, err := disk.Read(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			damage = append(damage, path+": "+errText(err))
		}
		return nil, damage
	}
	index = make(map[string]part)
	at := 0
	for line := range strings.Lines(string(b)) {
		var p part
		err := json.Unmarshal([]byte(line), &p)
		if again, _ := json.Marshal(p); err != nil || p.Sum != p.sum() || string(again)+"\n" != line || partNumber(p.Name) == 0 {
			damage = append(damage, fmt.Sprintf("%s: damaged at byte %d; the parts are read without it", path, at))
		} else {
			index[p.Name] = p
		}
		at += len(line)
	}
	return index, damage
}

func (p part) sum() string {
	text := fmt.Sprint(p.Name, p.First, p.Last, p.Bytes, p.Whole)
	return string(snapshot.AppendHex(nil, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))))
}

// appendIndex adds a part to an index.
func appendIndex(path string, p part) error {
	p.Sum = p.sum()
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f, err := disk.Open(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// A log is the whole journal of a run as it is on disk at one moment.
type log struct {
	parts  []part
	newest *os.File // nil if it is not there, as after a crash between two parts
	damage []string
}

func (l *log) close() {
	if l.newest != nil {
		_ = l.newest.Close()
	}
}

// before is how many parts come before the newest.
func (l *log) before() int {
	if len(l.parts) == 0 {
		return 0
	}
	return l.parts[len(l.parts)-1].n
}

// openLog opens the journal of a run, whose owner may just be beginning a new part. It is fs.ErrNotExist if there is none.
func (p place) openLog() (*log, error) {
	for try := 0; ; try++ {
		f, err := disk.Open(p.events, os.O_RDONLY)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		parts, damage, err2 := readParts(p.parts)
		if err2 != nil {
			if f != nil {
				f.Close()
			}
			return nil, err2
		}
		switch {
		case f != nil:
			return &log{parts: olderThan(f, parts), newest: f, damage: damage}, nil
		case len(parts) == 0:
			return nil, err
		case try == 3:
			return &log{parts: parts, damage: damage}, nil
		}
		time.Sleep(time.Millisecond)
	}
}

// olderThan returns the parts before an open file, which may have become one of them since it was opened.
func olderThan(f *os.File, parts []part) []part {
	if len(parts) == 0 {
		return nil
	}
	st, err := f.Stat()
	if err != nil {
		return parts
	}
	for i, p := range parts {
		if other, err := os.Lstat(p.path); err == nil && os.SameFile(st, other) {
			return parts[:i]
		}
	}
	return parts
}

// lineBefore reads the line that ends at an offset: its event's number, 0 if that cannot be told, and whether it has a
// checksum. The error is that of reading.
func lineBefore(f *os.File, end int64) (seq uint64, sums bool, err error) {
	for n := int64(4 << 10); ; n *= 4 {
		if n > mostLine {
			return 0, false, nil
		}
		start := max(0, end-n)
		b := make([]byte, end-start)
		if _, err := f.ReadAt(b, start); err != nil && !errors.Is(err, io.EOF) {
			return 0, false, err
		} else if err != nil || len(b) == 0 || b[len(b)-1] != '\n' {
			return 0, false, nil
		}
		b = b[:len(b)-1]
		i := bytes.LastIndexByte(b, '\n')
		if i < 0 && start > 0 {
			continue
		}
		object, sum := snapshot.Cut(b[i+1:])
		if sum == snapshot.Spoilt {
			return 0, true, nil
		}
		return seqOf(splitLine(object).event), sum != snapshot.Unsummed, nil
	}
}

// lastSeq reads the number of the last event of a part; 0 = it cannot be told, or the part is gone. The error is that of
// reading.
func lastSeq(path string) (uint64, error) {
	f, err := disk.Open(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	seq, _, err := lineBefore(f, st.Size())
	return seq, err
}

// mend prepares the files of a run that was taken over for going on: damaged lines are kept aside, an unfinished batch
// is cut off, and the index names all parts.
func (d *Store) mend(files livePaths, l *loaded) error {
	err := errors.Join(d.keepAside(files.aside, l), d.cutTail(files, l), mendIndex(files.parts))
	if err == nil && l.before > 0 && !disk.Exists(files.events) { // a crash between two parts
		err = disk.Write(files.events, nil)
	}
	return err
}

// mendIndex writes an index again that is damaged, or lacks a part that a crash came after. What it says of parts that
// are not as it says stays: it is what is known of them.
func mendIndex(dir string) error {
	parts, _, err := readParts(dir)
	if err != nil || len(parts) == 0 {
		return err
	}
	index, damage := readIndex(filepath.Join(dir, indexName))
	whole := len(damage) == 0
	if index == nil {
		index = make(map[string]part)
	}
	last := uint64(0)
	for _, p := range parts {
		if _, ok := index[p.Name]; !ok {
			whole = false
			st, err := os.Lstat(p.path)
			if err != nil {
				return err
			}
			p.First, p.Bytes = last+1, st.Size()
			index[p.Name] = p
		}
		last = index[p.Name].Last
	}
	if whole {
		return nil
	}
	tmp := filepath.Join(dir, indexName+".tmp")
	if err := disk.Remove(tmp); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(index))
	slices.SortFunc(names, func(a, b string) int { return partNumber(a) - partNumber(b) })
	for _, name := range names {
		if err := appendIndex(tmp, index[name]); err != nil {
			return err
		}
	}
	return os.Rename(tmp, filepath.Join(dir, indexName))
}
