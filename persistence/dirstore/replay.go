package dirstore

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence/snapshot"
)

// A journalReader goes through the lines of a journal and keeps the memory up to date.
type journalReader struct {
	l    *loaded
	flat *value.Map
	file string // that is being read

	// Up to good in goodFile lie the last line with memory that was believed, and the output lines right behind it.
	good     int64
	goodFile string
	goodSeq  uint64
	memories int    // lines with memory that were believed
	whole    int64  // end of the last whole line of the file
	wholeSeq uint64 // number of the last event that was believed
	open     bool   // no line since good that would need a memory behind it
	lost     bool   // a line that cannot be read may have held a patch: only a whole memory helps
}

// readLog brings the memory up to date from the place of the state file in the journal on. If it has none there, the
// memory is built from the newest part alone, which begins with a whole one, or else from the part before it, and so on.
// If that comes to nothing, what the state file says is all there is. It is written after the journal, so where it is ahead
// of all events the end of the journal was lost, and what it says holds: else what was done since would be done again. An
// archived run was whole when it was put there, so there the state file is right in any case.
func (j *journalReader) readLog(log *log) error {
	state := j.flat
	seq, before := uint64(flatInt(state, "seq")), flatInt(state, "part")
	if state != nil && before >= int64(log.before()) {
		from, ok, err := j.l.placeOf(log, flatInt(state, "journal"), seq)
		if err != nil {
			return err
		}
		if ok {
			return j.read(log.newest, from, seq, true)
		}
	}
	// Or the run has begun a new part since the state file was written.
	damage, aside := len(j.l.damage), len(j.l.aside)
	j.flat = nil
	err := j.read(log.newest, 0, lastOf(log.parts), true)
	for i := len(log.parts) - 1; i >= 0 && j.flat == nil && err == nil; i-- {
		j.l.damage, j.l.aside = j.l.damage[:damage], j.l.aside[:aside]
		*j = journalReader{l: j.l, open: true}
		for k, p := range log.parts[i:] {
			if err = j.readPart(p, lastOf(log.parts[:i+k]), k == 0, state); err != nil {
				return err
			}
		}
		err = j.read(log.newest, 0, lastOf(log.parts), false)
	}
	ahead := j.wholeSeq < seq
	if state != nil && err == nil && (j.flat == nil || j.l.archived || ahead) {
		switch {
		case ahead && !j.l.archived:
			j.l.damagedAt(j.l.newest, j.whole, missing(j.wholeSeq+1, seq)+"; the state file is newer, and what it says holds", nil)
		case j.flat == nil:
			j.l.note(j.l.newest, "it holds no memory that can be read; what the state file says is all there is")
		}
		j.flat, j.good, j.goodFile, j.goodSeq, j.l.short = state, j.whole, j.l.newest, max(seq, j.wholeSeq), ahead
	}
	return err
}

// readPart reads a full part. The first one that is read may go on from the state file.
func (j *journalReader) readPart(p part, last uint64, first bool, state *value.Map) error {
	f, err := disk.Open(p.path, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		j.l.note(p.path, "%s", errText(err))
		j.lost = true
		return nil
	case err != nil:
		return err // what an older part remembers is not what the run remembers
	}
	defer f.Close()
	if !first {
		return j.read(f, 0, last, false)
	}
	if state != nil && flatInt(state, "part") == int64(p.n-1) {
		from, seq := flatInt(state, "journal"), uint64(flatInt(state, "seq"))
		ok, err := fits(f, from, seq)
		if err != nil {
			return err
		}
		if ok {
			j.flat = state
			return j.read(f, from, seq, true)
		}
	}
	return j.read(f, p.Whole, 0, true) // what comes before the last whole memory is of no use
}

// read reads a file from an offset on, behind the event with this number; 0 = it is not known. fresh means that the
// memory, if there is one, is that of this place.
func (j *journalReader) read(f *os.File, at int64, last uint64, fresh bool) error {
	j.whole, j.wholeSeq = at, max(j.wholeSeq, last)
	if fresh {
		j.good, j.goodSeq = at, last
	}
	if f == nil {
		return nil
	}
	if j.file = f.Name(); fresh {
		j.goodFile = j.file
	}
	st, err := f.Stat()
	if err != nil || st.Size() == at {
		return err // mostly the state file stands at the end
	}
	_, sums, err := lineBefore(f, at)
	if err != nil {
		return err
	}
	return j.readLines(newScanner(io.NewSectionReader(f, at, st.Size()-at), at, last, sums))
}

func (j *journalReader) readLines(s *lineScanner) error {
	s.anyNext = s.last == 0 && s.at > 0
	for {
		e, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		j.line(&e)
		j.whole, j.wholeSeq = e.end, s.last
	}
}

func (j *journalReader) line(e *entry) {
	if e.missing != "" {
		j.l.damagedAt(j.file, e.start, e.missing, nil)
		j.lost, j.open = true, false
	}
	if e.bad != "" {
		j.l.damagedAt(j.file, e.start, e.bad, e.raw)
		if !isOutput(e.raw) || containsMemory(e.raw) {
			j.lost = true
		}
		j.open = false
		return
	}
	if e.memory == nil {
		if !isOutput(e.event) {
			j.open = false
		} else if j.open {
			j.goodUpTo(e)
		}
		return
	}
	if j.lost && !e.full {
		return
	}
	m, err := parseWhole(e.memory)
	if err == nil && !e.full {
		if j.flat == nil {
			return // the whole memory it builds on is not there
		}
		err = snapshot.Apply(j.flat, m)
	}
	if err != nil {
		j.l.damagedAt(j.file, e.start, err.Error(), e.raw)
		j.lost, j.open = true, false
		return
	}
	if e.full {
		j.flat, j.lost = m, false
	}
	j.open = true
	j.memories++
	j.goodUpTo(e)
}

func (j *journalReader) goodUpTo(e *entry) { j.good, j.goodFile, j.goodSeq = e.end, j.file, e.seq }

// placeOf finds the place of the state file in the newest part: where it says, if the line of that event ends there,
// and otherwise, as bytes before it may be missing, behind the line with that number.
func (l *loaded) placeOf(log *log, at int64, seq uint64) (int64, bool, error) {
	f := log.newest
	if f == nil {
		l.note(l.newest, "the file is missing")
		return 0, true, nil
	}
	if ok, err := fits(f, at, seq); ok || err != nil {
		return at, ok, err
	}
	s := newScanner(io.NewSectionReader(f, 0, l.size), 0, lastOf(log.parts), false)
	s.anyNext = s.last == 0 && len(log.parts) > 0
	damage, aside := len(l.damage), len(l.aside)
	for {
		e, err := s.next()
		switch {
		case errors.Is(err, io.EOF):
			l.damage, l.aside = l.damage[:damage], l.aside[:aside] // it is read again
			what := "it ends before the memory in the state file"
			if s.last >= seq {
				what = "the line at which the state file stands cannot be read"
			}
			switch {
			case l.archived:
				l.note(f.Name(), "%s", what)
			case s.last >= seq:
				l.note(f.Name(), "%s; the state file is not used", what)
			}
			return 0, false, nil
		case err != nil:
			return 0, false, err
		case e.missing != "":
			l.damagedAt(f.Name(), e.start, e.missing, nil)
		}
		if e.bad != "" {
			l.damagedAt(f.Name(), e.start, e.bad, e.raw)
		} else if e.numbered && e.seq == seq {
			l.note(f.Name(), "the state file expects event %d at byte %d, it ends at byte %d", seq, at, e.end)
			return e.end, true, nil
		}
	}
}

// fits reports whether a line ends at an offset, and is that of this event. If it is damaged, its place counts. The error is
// that of reading.
func fits(f *os.File, at int64, seq uint64) (bool, error) {
	if ok, err := lineEnd(f, at); !ok {
		return false, err
	}
	got, _, err := lineBefore(f, at)
	return got == 0 || got == seq, err
}

// lineEnd reports whether a line of f ends at an offset. The error is that of reading.
func lineEnd(f *os.File, at int64) (bool, error) {
	if at <= 0 {
		return at == 0, nil
	}
	var b [1]byte
	_, err := f.ReadAt(b[:], at-1)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil && b[0] == '\n', err
}

// lastOf is the number of the last event in these parts; 0 = there is none, or it cannot be told.
func lastOf(parts []part) uint64 {
	if len(parts) == 0 {
		return 0
	}
	return parts[len(parts)-1].Last
}

func flatInt(flat *value.Map, key string) int64 {
	v, _ := flat.Get(key)
	n, _ := v.(int64)
	return n
}
