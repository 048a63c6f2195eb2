package dirstore

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence/dirstore/segment"
	"loops/persistence/snapshot"
)

// A journalReader goes through the lines of a journal and keeps the memory up to date.
type journalReader struct {
	l    *loaded
	flat *value.Map
	file string // that is being read

	// Up to good in goodFile lie the last line with memory that was believed, and the output lines right after it.
	good     int64
	goodFile string
	goodSeq  uint64
	memories int    // lines with memory that were believed
	whole    int64  // end of the last whole line of the file
	wholeSeq uint64 // number of the last event that was believed
	open     bool   // no line since good that would need a memory after it
	lost     bool   // a line that cannot be read may have held a patch: only a whole memory helps
}

// readLog brings the memory up to date from the place of the state file in the journal on. If it has none
// there, the memory is built from the newest part alone, which begins with a whole one, or else from the part
// before it, and so on. If that comes to nothing, what the state file says is all there is. It is written after
// the journal, so where it is ahead of all events the end of the journal was lost, and what it says holds: else
// what was done since would be done again. An archived run was whole when it was put there, so there the state
// file is right in any case.
func (j *journalReader) readLog(log *segment.Log) error {
	state := j.flat
	seq, before := uint64(flatInt(state, "seq")), flatInt(state, "part")
	if state != nil && before >= int64(log.Before()) {
		from, ok, err := j.l.placeOf(log, flatInt(state, "journal"), seq)
		if err != nil {
			return err
		}
		if ok {
			return j.read(log.Newest, from, seq, true)
		}
	}
	// Or the run has begun a new part since the state file was written.
	damage, aside := len(j.l.damage), len(j.l.aside)
	j.flat = nil
	err := j.read(log.Newest, 0, segment.LastOf(log.Parts), true)
	for i := len(log.Parts) - 1; i >= 0 && j.flat == nil && err == nil; i-- {
		j.l.damage, j.l.aside = j.l.damage[:damage], j.l.aside[:aside]
		*j = journalReader{l: j.l, open: true}
		for k, p := range log.Parts[i:] {
			if err = j.readPart(p, segment.LastOf(log.Parts[:i+k]), k == 0, state); err != nil {
				return err
			}
		}
		err = j.read(log.Newest, 0, segment.LastOf(log.Parts), false)
	}
	ahead := j.wholeSeq < seq
	if state != nil && err == nil && (j.flat == nil || j.l.archived || ahead) {
		switch {
		case ahead && !j.l.archived:
			j.l.damagedAt(j.l.newest, j.whole, segment.Missing(j.wholeSeq+1, seq)+
				"; the state file is newer, and what it says holds", nil)
		case j.flat == nil:
			j.l.note(j.l.newest, "it holds no memory that can be read; what the state file says is all there is")
		}
		j.flat, j.good, j.goodFile, j.goodSeq, j.l.short = state, j.whole, j.l.newest, max(seq, j.wholeSeq), ahead
	}
	return err
}

// readPart reads a full part. The first one that is read may continue from the state file.
func (j *journalReader) readPart(p segment.Part, last uint64, first bool, state *value.Map) error {
	f, err := disk.Open(p.Path, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		j.l.note(p.Path, "%s", disk.Reason(err))
		j.lost = true
		return nil
	case err != nil:
		return err // what an older part remembers is not what the run remembers
	}
	defer f.Close()
	if !first {
		return j.read(f, 0, last, false)
	}
	if state != nil && flatInt(state, "part") == int64(p.N-1) {
		from, seq := flatInt(state, "journal"), uint64(flatInt(state, "seq"))
		ok, err := segment.Fits(f, from, seq)
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

// read reads a file from an offset on, after the event with this number; 0 = it is not known. fresh means that the
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
		return err // mostly the state file is at the end
	}
	_, sums, err := segment.LineBefore(f, at)
	if err != nil {
		return err
	}
	return j.readLines(segment.NewScanner(io.NewSectionReader(f, at, st.Size()-at),
		segment.Position{At: at, Last: last, Sums: sums}))
}

func (j *journalReader) readLines(s *segment.Scanner) error {
	s.AnyNext = s.Last == 0 && s.At > 0
	for {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		j.line(&e)
		j.whole, j.wholeSeq = e.End, s.Last
	}
}

func (j *journalReader) line(e *segment.Entry) {
	if e.Missing != "" {
		j.l.damagedAt(j.file, e.Start, e.Missing, nil)
		j.lost, j.open = true, false
	}
	if e.Bad != "" {
		j.l.damagedAt(j.file, e.Start, e.Bad, e.Raw)
		if !segment.IsOutput(e.Raw) || segment.MayHoldMemory(e.Raw) {
			j.lost = true
		}
		j.open = false
		return
	}
	if e.Memory == nil {
		if !segment.IsOutput(e.Event) {
			j.open = false
		} else if j.open {
			j.goodUpTo(e)
		}
		return
	}
	if j.lost && !e.Full {
		return
	}
	m, err := parseWhole(e.Memory)
	if err == nil && !e.Full {
		if j.flat == nil {
			return // the whole memory it builds on is not there
		}
		err = snapshot.Apply(j.flat, m)
	}
	if err != nil {
		j.l.damagedAt(j.file, e.Start, err.Error(), e.Raw)
		j.lost, j.open = true, false
		return
	}
	if e.Full {
		j.flat, j.lost = m, false
	}
	j.open = true
	j.memories++
	j.goodUpTo(e)
}

func (j *journalReader) goodUpTo(e *segment.Entry) {
	j.good, j.goodFile, j.goodSeq = e.End, j.file, e.Seq
}

// placeOf finds the place of the state file in the newest part: where it says, if the line of that event ends there,
// and otherwise, as bytes before it may be missing, after the line with that number.
func (l *loaded) placeOf(log *segment.Log, at int64, seq uint64) (int64, bool, error) {
	f := log.Newest
	if f == nil {
		l.note(l.newest, "the file is missing")
		return 0, true, nil
	}
	if ok, err := segment.Fits(f, at, seq); ok || err != nil {
		return at, ok, err
	}
	last := segment.LastOf(log.Parts)
	s := segment.NewScanner(io.NewSectionReader(f, 0, l.size),
		segment.Position{Last: last, AnyNext: last == 0 && len(log.Parts) > 0})
	damage, aside := len(l.damage), len(l.aside)
	for {
		e, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			l.damage, l.aside = l.damage[:damage], l.aside[:aside] // it is read again
			what := "it ends before the memory in the state file"
			if s.Last >= seq {
				what = "the line of the journal that the state file matches cannot be read"
			}
			switch {
			case l.archived:
				l.note(f.Name(), "%s", what)
			case s.Last >= seq:
				l.note(f.Name(), "%s; the state file is not used", what)
			}
			return 0, false, nil
		case err != nil:
			return 0, false, err
		case e.Missing != "":
			l.damagedAt(f.Name(), e.Start, e.Missing, nil)
		}
		if e.Bad != "" {
			l.damagedAt(f.Name(), e.Start, e.Bad, e.Raw)
		} else if e.Numbered && e.Seq == seq {
			l.note(f.Name(), "the state file expects event %d at byte %d, it ends at byte %d", seq, at, e.End)
			return e.End, true, nil
		}
	}
}

func flatInt(flat *value.Map, key string) int64 {
	v, _ := flat.Get(key)
	n, _ := v.(int64)
	return n
}
