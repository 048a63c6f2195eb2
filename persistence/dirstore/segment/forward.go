package segment

import (
	"errors"
	"io"
	"math"
	"os"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
)

// Forward reads the files of a journal, oldest first, and yields the events in them without their memory, and a
// [persistence.DamageError] where something cannot be believed or is missing. Events that carry no number, as
// those of little-loops, are numbered by their place. Lines of a batch whose memory never came are left out,
// unless it is there and cannot be read.
type Forward struct {
	Yield func(fsm.Event, error) bool // returns whether it wants more
	After uint64                      // only events with a higher number are yielded

	stand   Position // in the file that is read, after the last event that was yielded; see Position
	stands  bool
	last    uint64 // number of the last event that was believed
	sums    bool   // and whether its line has a checksum
	waiting []fsm.Event
	spoilt  bool // a line after the first of them cannot be read
	stopped bool // yield wants no more
}

func (r *Forward) give(e fsm.Event, err error) {
	if err == nil && e.Seq <= r.After {
		return
	}
	r.stopped = r.stopped || !r.Yield(e, err)
}

// Done reports whether no more events are wanted.
func (r *Forward) Done() bool { return r.stopped }

// Pass passes over a part none of whose events is wanted, and reports whether it did.
func (r *Forward) Pass(p Part) bool {
	if p.Indexed && p.Last <= r.After {
		r.last = p.Last
		return true
	}
	return false
}

// Gone reports that a file of the journal is missing.
func (r *Forward) Gone(path string, err error) {
	r.give(fsm.Event{}, &persistence.DamageError{File: path, Offset: -1, What: disk.Reason(err)})
}

func (r *Forward) giveWaiting() {
	for _, e := range r.waiting {
		r.give(e, nil)
	}
	r.waiting, r.spoilt = r.waiting[:0], false
}

// Read goes through one file. Its error is that of reading.
func (r *Forward) Read(f io.Reader, path string) error {
	r.stand, r.stands = Position{Last: r.last, Sums: r.sums}, len(r.waiting) == 0
	return r.read(f, path)
}

// ReadBehind is Read of what a file holds after the event After, as far as that is found without reading what is
// before it: damage there is not reported.
func (r *Forward) ReadBehind(f *os.File, path string) error {
	if r.After > r.last && len(r.waiting) == 0 {
		from, err := behind(f, r.After)
		if err != nil {
			return err
		}
		if from.At > 0 {
			r.last, r.sums = from.Last, from.Sums
			r.stand, r.stands = from, true
			return r.read(io.NewSectionReader(f, from.At, math.MaxInt64-from.At), path)
		}
	}
	return r.Read(f, path)
}

// ReadOn is Read of what was added to a file since another Forward read it: f begins where that one ended.
func (r *Forward) ReadOn(f io.Reader, path string, from Position) error {
	r.last, r.sums = from.Last, from.Sums
	r.stand, r.stands = from, true
	return r.read(f, path)
}

// Position returns where in the file that was read last another Forward can read on, if nothing that it read
// before that is wanted again.
func (r *Forward) Position() (at Position, ok bool) { return r.stand, r.stands && !r.stopped }

func (r *Forward) read(f io.Reader, path string) error {
	s := NewScanner(f, r.stand)
	s.parse = true
	for !r.stopped {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if e.Missing != "" || e.Bad != "" {
			r.spoilt = len(r.waiting) > 0
		}
		if e.Missing != "" {
			r.give(fsm.Event{}, &persistence.DamageError{File: path, Offset: e.Start, What: e.Missing})
		}
		if e.Bad != "" {
			r.give(fsm.Event{}, &persistence.DamageError{File: path, Offset: e.Start, What: e.Bad})
			continue
		}
		r.last, r.sums = s.Last, s.Sums
		e.parsed.Seq = e.Seq
		r.waiting = append(r.waiting, e.parsed)
		if !e.Numbered || e.Memory != nil || len(r.waiting) == 1 && e.parsed.Kind == fsm.EventActionOutput {
			r.giveWaiting()
			r.stand, r.stands = s.Position, true
		}
	}
	return nil
}

// End is called after the last file. want is the number of the last event that is known to have been there.
func (r *Forward) End(path string, want uint64) {
	if r.spoilt || r.last < want {
		r.giveWaiting()
	}
	if r.stopped || r.last >= want {
		return
	}
	what := Missing(r.last+1, want)
	size := int64(0)
	if st, err := os.Lstat(path); err == nil {
		size = st.Size()
	}
	r.give(fsm.Event{}, &persistence.DamageError{File: path, Offset: size, What: what})
}
