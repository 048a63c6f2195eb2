package dirstore

import (
	"math"
	"time"

	"loops/persistence/snapshot"
)

// The state file is written whole. So that a long run is not slower with each thing it remembers, a large file
// is only written when the journal grew by as much since it was, or a while later. A reader has the rest from
// the journal.
const (
	lagFrom      = 64 << 10 // size of a state file that is large
	lagDecisions = 4        // how often its size the journal must have grown, where decisions follow each other quickly
	lagMost      = time.Second
)

// A lag says how far a state file is after the journal. Its fields are guarded by journal.writing.
type lag struct {
	size    int64       // of the state file
	added   int64       // bytes of the journal since it was written
	timer   *time.Timer // that writes it; nil = there was none yet
	waiting bool        // the timer runs
	closed  bool        // nothing more is written
}

// lags reports whether the state file need not be written now. Then it is written at most lagMost later.
func (j *journal) lags(checkpoint bool) bool {
	l := &j.lag
	enough := l.size
	if !checkpoint {
		enough *= lagDecisions
	}
	if l.size < lagFrom || l.added >= enough {
		return false
	}
	if l.waiting {
		return true
	}
	l.waiting = true
	if l.timer == nil {
		l.timer = time.AfterFunc(lagMost, j.catchUp)
	} else {
		l.timer.Reset(lagMost)
	}
	return true
}

// catchUp is called by the timer.
func (j *journal) catchUp() {
	j.writing.Lock()
	defer j.writing.Unlock()
	switch {
	case !j.lag.waiting || j.lag.closed || j.failed != nil:
		return
	case j.anew: // the journal does not have the text yet whose checksum would be in the file
		j.lag.waiting = false
		return
	}
	if err := j.writeState(time.Now()); err != nil {
		j.lag.added = math.MaxInt64 / 2 // the journal has it; the next Record writes the file, and says what is wrong
	}
}

// end ends the lag: a state file of this size is about to be written.
func (l *lag) end(size int64) {
	if l.size, l.added = size, 0; l.waiting {
		l.timer.Stop()
		l.waiting = false
	}
}

// close has the timer write nothing more.
func (l *lag) close() {
	if l.closed = true; l.timer != nil {
		l.timer.Stop()
	}
}

// writeState brings state.json up to date. Not synced: after a power cut it is rebuilt from the journal.
func (j *journal) writeState(now time.Time) error {
	if err := j.look(now); err != nil {
		return err
	}
	e := j.state
	e.Buf, e.Err = e.Buf[:0], nil
	appendFlat(e, &j.rec, &j.rec.Snapshot, false)
	e.Sweep()
	if e.Err != nil {
		return e.Err
	}
	j.pretty = appendCheck(snapshot.AppendIndented(j.pretty[:0], e.Buf))
	j.written = now
	j.lag.end(int64(len(j.pretty)))
	err := j.beside.replace(j.pretty)
	if err != nil {
		if gone := j.there(); gone != nil {
			return gone
		}
	}
	return err
}

// look is there, at most every lookEvery.
func (j *journal) look(now time.Time) error {
	if j.beside.folder != nil && now.Sub(j.looked) < lookEvery {
		return nil
	}
	if err := j.there(); err != nil {
		return err
	}
	j.looked = now
	return nil
}
