package persistence

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"loops/fsm"
)

// A place is where the files of one run are: among the running ones, or in the archive.
type place struct {
	id     ID
	state  string
	events string
	runs   string // holds the working folders
	folder string // in the archive; "" for running ones
}

// A loaded run is what its files say.
type loaded struct {
	*record
	flat    *fsm.Map
	foreign bool     // written by the reference tool
	damage  []string // what could not be read, each with its file
	gap     bool     // the log of a sub-loop is among it
	good    int64    // length of the event file up to which it agrees with the memory
	size    int64    // length of the event file
}

func (l *loaded) note(path, format string, args ...any) {
	l.damage = append(l.damage, path+": "+fmt.Sprintf(format, args...))
}

// load reads a run: state.json, then what the journal knows behind it. If state.json is missing or damaged, or
// tells of more than the journal, the memory is rebuilt from the journal alone. Nothing is changed. Large texts
// are read only if asked for. With an error comes what could be read, if anything.
func (p place) load(texts bool) (*loaded, error) {
	l := &loaded{}
	flat, ours := l.readState(p.state)
	l.foreign = flat != nil && !ours

	f, err := openFile(p.events, os.O_RDONLY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if flat == nil && len(l.damage) == 0 {
			return nil, ErrNotFound
		}
		if flat != nil && ours {
			l.note(p.events, "the file is missing")
		}
	case err == nil:
		defer f.Close()
		var got *fsm.Map
		if got, err = l.readJournal(f, flat, ours); err == nil {
			flat = got
		}
	}
	var closed error // why the events cannot be read: what the state file says is shown, but not relied upon
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		closed = err
		l.note(p.events, "%s", errText(err))
	}
	if flat == nil {
		if len(l.damage) == 0 {
			l.note(p.state, "the file is missing, and the event file holds no memory")
		}
		return l, &DamageError{File: p.state, What: "the memory of the run cannot be read: " + l.damage[0]}
	}
	l.flat = flat
	if texts {
		l.fillLogs(p.events, flat)
		b := blobs{dir: filepath.Join(p.workOf(flat), "blobs")}
		if _, err := b.fill(flat); err != nil {
			l.damage = append(l.damage, err.Error())
			return l, err
		}
	}
	if l.record, err = takeFlat(flat); err != nil {
		l.note(p.state, "%s", err)
		return l, &DamageError{File: p.state, What: err.Error()}
	}
	if l.foreign {
		l.adopt(p)
	}
	if closed != nil {
		return l, closed
	}
	l.seq = max(l.seq, l.lastSeq(p.events))
	return l, nil
}

// glance is load for a listing: what an archive says of itself is believed without looking at its events if its
// checksum holds.
func (p place) glance() (*loaded, error) {
	l := &loaded{}
	if flat, ours := l.readState(p.state); flat != nil && ours {
		if rec, err := takeFlat(flat); err == nil {
			l.flat, l.record = flat, rec
			return l, nil
		}
	}
	return p.load(false)
}

// readState reads state.json into a flat object, nil if that is not possible.
//
// A file that was opened just before its run went two checkpoints on may be rewritten while it is read, so a
// damaged one is looked at again.
func (l *loaded) readState(path string) (flat *fsm.Map, ours bool) {
	for try := 0; ; try++ {
		b, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false
		}
		if err != nil {
			l.note(path, "%s", errText(err))
			return nil, false
		}
		ours, ok := checked(b)
		if !ours || ok {
			if flat, err = parseMemory(b); err == nil {
				return flat, ours
			}
		} else {
			err = errors.New("the checksum does not hold")
		}
		if try == 2 {
			l.note(path, "%s", err)
			return nil, ours
		}
		time.Sleep(time.Millisecond)
	}
}

// readJournal brings a flat object up to date, or builds it if there is none, and finds out how far the event
// file is good.
func (l *loaded) readJournal(f *os.File, flat *fsm.Map, ours bool) (*fsm.Map, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	l.size = st.Size()
	from := int64(0)
	if flat != nil && ours {
		n, _ := flat.Get("journal")
		from, _ = n.(int64)
		if !lineEnd(f, from) {
			l.note(f.Name(), "it ends before the memory in the state file; the state file is not used")
			flat, from = nil, 0
		}
	}
	state := flat
	j := journalReader{l: l, name: f.Name(), flat: flat, good: from, open: true}
	if !ours {
		j.flat = nil // only a whole memory may follow
	}
	if err := j.read(io.NewSectionReader(f, from, l.size-from), from); err != nil {
		return nil, err
	}
	l.good = j.good
	switch {
	case j.flat != nil && state != nil && !ours:
		// The reference tool has rewritten our state file and lost what it does not know. The journal has
		// it; but if the tool stopped the run, that is new.
		l.foreign = false
		for _, k := range []string{"status", "reconciled_at"} {
			if v, _ := state.Get(k); v != nil && v != string(Running) {
				j.flat.Set(k, v)
			}
		}
		return fillStatus(j.flat), nil
	case j.flat != nil:
		return fillStatus(j.flat), nil
	case state != nil && !ours:
		l.good = j.whole
	}
	return state, nil
}

// fillStatus adds the required keys that a memory from the journal lacks, or brings them up to date.
func fillStatus(flat *fsm.Map) *fsm.Map {
	if v, _ := flat.Get("outcome"); v != nil {
		r := &record{}
		if takeOutcome(r, v) == nil {
			if s, _ := flat.Get("status"); s == nil || s == string(Running) {
				flat.Set("status", string(StatusOf(*r.Outcome)))
			}
		}
	} else if s, _ := flat.Get("status"); s == nil {
		flat.Set("status", string(Running))
	}
	return flat
}

// lineEnd says whether a line of f ends at offset n.
func lineEnd(f *os.File, n int64) bool {
	if n <= 0 {
		return n == 0
	}
	var b [1]byte
	_, err := f.ReadAt(b[:], n-1)
	return err == nil && b[0] == '\n'
}

// A journalReader goes through lines and keeps the memory up to date.
type journalReader struct {
	l     *loaded
	name  string
	flat  *fsm.Map
	good  int64 // end of the last line with memory, and of the output lines right behind it
	whole int64 // end of the last whole line
	open  bool  // no line since good that would need a memory behind it
	lost  bool  // a damaged line may have held a patch: only a whole memory helps
}

func (j *journalReader) read(r io.Reader, at int64) error {
	j.whole = at
	br := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for {
		b, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, b...)
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil // what is left is no whole line
		}
		if len(long) > 0 {
			long = append(long, b...)
			b = long
		}
		start := at
		at += int64(len(b))
		j.whole = at
		j.line(bytes.TrimRight(b, "\r\n"), start, at)
		long = long[:0]
	}
}

func (j *journalReader) line(b []byte, start, end int64) {
	if len(bytes.TrimSpace(b)) == 0 {
		return
	}
	ln := splitLine(b)
	if ln.memory == nil {
		switch {
		case isOutput(ln.event):
			if j.open {
				j.good = end
			}
		default:
			if _, err := fsm.ParseEvent(ln.event); err != nil {
				j.l.note(j.name, "damaged at byte %d: %s", start, err)
				if bytes.Contains(b, []byte("memory")) {
					j.lost = true
				}
			}
			j.open = false
		}
		return
	}
	if j.lost && !ln.full {
		return
	}
	m, err := parseMemory(ln.memory)
	if err == nil && !ln.full {
		if j.flat == nil {
			return // the whole memory it builds on is not there
		}
		err = applyPatch(j.flat, m)
	}
	if err != nil {
		j.l.note(j.name, "damaged at byte %d: %s", start, err)
		j.lost, j.open = true, false
		return
	}
	if ln.full {
		j.flat, j.lost = m, false
	}
	j.good, j.open = end, true
}

// lastSeq finds the number of the last event within the good part: the one it carries, or, for files of the
// reference tool, how many there are.
func (l *loaded) lastSeq(path string) uint64 {
	f, err := openFile(path, os.O_RDONLY, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	var last []byte
	for n := int64(4 << 10); ; n *= 4 {
		start := max(0, l.good-n)
		b := make([]byte, l.good-start)
		if _, err := f.ReadAt(b, start); err != nil {
			return 0
		}
		b = bytes.TrimRight(b, "\n")
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 || start == 0 {
			last = b[i+1:]
			break
		}
	}
	if e, err := fsm.ParseEvent(splitLine(last).event); err == nil && e.Seq > 0 {
		return e.Seq
	}
	var n uint64
	_ = eachEvent(io.NewSectionReader(f, 0, l.good), path, func(e fsm.Event, err error) bool {
		if err == nil {
			n = max(n+1, e.Seq)
		}
		return true
	})
	return n
}

// workOf is the working folder of a run, which keeps the name it had when the run was made.
func (p place) workOf(flat *fsm.Map) string {
	v, _ := flat.Get("instance")
	if s, ok := v.(string); ok && ID(s).valid() {
		return filepath.Join(p.runs, filepath.FromSlash(s))
	}
	return filepath.Join(p.runs, filepath.FromSlash(string(p.id)))
}
