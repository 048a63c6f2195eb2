package dirstore

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
	"loops/persistence/snapshot"
)

// A place is where the files of one run are: among the running ones, or in the archive.
type place struct {
	id     persistence.ID
	state  string
	events string // the newest part of the journal
	parts  string // holds the parts before it
	aside  string // holds damaged lines
	runs   string // holds the working folders
	folder string // in the archive; "" for running ones

	commands string
}

// A loaded run is what its files say.
type loaded struct {
	*record
	flat     *value.Map
	archived bool
	foreign  bool     // written by little-loops
	damage   []string // what could not be read, each with its file
	whole    bool     // its journal was found to be as long as its state file says, and was not read
	gap      bool     // the log of a sub-loop is among it
	short    bool     // the memory is that of the state file, and the journal ends before it
	notes    int      // how much is damaged: the list names only the first
	aside    []damaged

	state      string // the state file
	newest     string // the newest file of the journal, which may not be there
	before     int    // parts of the journal before it
	lastBefore uint64 // number of the last event in them
	good       int64  // length of it up to which it agrees with the memory
	size       int64  // length of it
	last       uint64 // number of the last event up to good
	logFile    string // in which the logs that are only counted are; see childlog.go
	logEnd     int64
	closed     error      // why the events cannot be read: what the state file says is shown, but not relied upon
	view       error      // why what the state file holds cannot be believed
	unreadable bool       // the state file was not read: another look, or another user, may read it
	skimmed    bool       // of whole: the values of heavy keys were not read
	viewed     bool       // the state file holds an object
	stamp      disk.Stamp // of the state file
	opened     bool       // the newest file of its journal was
}

// noteView notes what is wrong with the state file.
func (l *loaded) noteView(p place) {
	if l.view != nil {
		l.note(p.state, "%s", l.view)
	}
}

// load reads a run: state.json, then what the journal knows after it. If state.json is missing or damaged, or
// has more than the journal, the memory is rebuilt from the journal alone. Nothing is changed. Large texts
// are read only if asked for. With an error comes what could be read, if anything.
func (p place) load(texts bool) (*loaded, error) {
	l := &loaded{archived: p.folder != "", state: p.state, newest: p.events}
	flat, ours := l.readState(p.state)
	l.viewed, l.foreign = flat != nil, flat != nil && !ours

	log, err := segment.OpenLog(p.events, p.parts)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.noteView(p)
		if flat == nil && len(l.damage) == 0 {
			return nil, persistence.ErrNotFound
		}
		if flat != nil && ours {
			l.note(p.events, "the file is missing")
		}
	case err == nil:
		defer log.Close()
		var got *value.Map
		if got, err = l.readJournal(log, flat, ours); err == nil {
			flat = got
		}
		// else it was a view that nothing syncs: a loss of power may leave anything in its place
		if flat == nil || l.archived {
			l.noteView(p)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.closed = err
		l.note(fileOf(err, p.events), "%s", disk.Reason(err))
	}
	if flat == nil && l.closed != nil {
		return l, l.closed
	}
	if flat == nil {
		if len(l.damage) == 0 {
			l.note(p.state, "the file is missing, and the event file holds no memory")
		}
		return l, &persistence.DamageError{File: p.state, Offset: -1, What: "the memory of the run cannot be read: " +
			l.damage[0]}
	}
	l.flat = flat
	if texts && !l.foreign { // little-loops keeps every text in its place
		if err := l.fillTexts(p); err != nil {
			return l, err
		}
	}
	if l.record, err = takeFlat(flat); err != nil {
		l.note(p.state, "%s", err)
		return l, &persistence.DamageError{File: p.state, Offset: -1, What: err.Error()}
	}
	if l.foreign {
		l.adopt(p)
	}
	if l.closed != nil {
		return l, l.closed
	}
	l.seq = max(l.seq, l.last)
	return l, nil
}

// fillTexts puts the texts that are kept apart, and the logs that are only counted, in their places.
func (l *loaded) fillTexts(p place) error {
	if err := l.fillLogs(l.flat); err != nil {
		l.note(fileOf(err, p.events), "%s", disk.Reason(err))
		return err
	}
	b := blobs{dir: filepath.Join(p.workOf(l.flat), "blobs")}
	if _, err := b.fill(l.flat); err != nil {
		l.damage = append(l.damage, err.Error())
		return err
	}
	return nil
}

// fileOf returns the file that an error of reading names, or else this one.
func fileOf(err error, path string) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Path
	}
	return path
}

// glance is load for a listing: what an archive says of itself is believed without looking at its events if its
// checksum holds.
// Unless it is to be read whole, heavy keys are missing in it, and it may come from the cache.
func (p place) glance(whole bool, c *cache) (*loaded, error) {
	l := &loaded{skimmed: !whole}
	var text []byte
	part := func(b []byte) []byte {
		text = skim(b)
		return text
	}
	if whole {
		part = func(b []byte) []byte { return b }
	} else if l := c.recall(p); l != nil {
		return l, nil
	}
	if flat, ours := l.readStateBy(p.state, part); flat != nil && ours {
		if rec, err := takeFlat(flat); err == nil && rec.complete(p) {
			l.flat, l.record, l.whole, l.viewed = flat, rec, true, true
			c.note(p, l.stamp, text, !l.status.CanGoOn(l.outcome().Retriable()))
			return l, nil
		}
	}
	return p.load(false)
}

// complete reports whether the journal of an archived run is as long as its state file says.
func (r *record) complete(p place) bool {
	size, ok := disk.IsRegular(p.events)
	if !ok || size != r.journal {
		return false
	}
	if r.part == 0 {
		return true
	}
	parts, damage, err := segment.Parts(p.parts)
	return err == nil && len(damage) == 0 && len(parts) > 0 && parts[len(parts)-1].N == r.part
}

// readState reads state.json into a flat object, nil if that is not possible.
//
// A file that was opened just before its run went two checkpoints on may be rewritten while it is read, so a
// damaged one is looked at again if it has just changed.
func (l *loaded) readState(path string) (flat *value.Map, ours bool) {
	return l.readStateBy(path, func(b []byte) []byte { return b })
}

// readStateBy is readState of what part returns of the bytes of a file of this program whose checksum holds.
func (l *loaded) readStateBy(path string, part func([]byte) []byte) (flat *value.Map, ours bool) {
	for try := 0; ; try++ {
		b, stamp, err := disk.ReadStamped(path)
		l.stamp = stamp
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false
		}
		if err != nil {
			l.unreadable = true
			l.note(path, "%s", disk.Reason(err))
			return nil, false
		}
		ours, ok := checked(b)
		if !ours || ok {
			if ours {
				b = part(b)
			}
			if flat, err = snapshot.Parse(b); err == nil {
				if _, mark := flat.Get("journal"); ours || !mark {
					return flat, ours
				}
				ours, err = true, errors.New("the checksum is missing") // little-loops drops this key
			}
		} else {
			err = errors.New("the checksum does not hold")
		}
		if try == 2 || stamp.Whole(path) {
			l.view = err
			return nil, ours
		}
		time.Sleep(time.Millisecond)
	}
}

// stateSeq is the number of the last event that a state file knows; 0 if that is not known.
func stateSeq(path string) (seq uint64) {
	b, err := disk.Read(path)
	if err != nil {
		return 0
	}
	if ours, ok := checked(b); !ours || !ok {
		return 0
	}
	_, rest, _ := bytes.Cut(b, []byte("\n  \"seq\": ")) // only keys of the object itself are indented so
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		seq = 10*seq + uint64(c-'0')
	}
	return seq
}

// readJournal brings a flat object up to date, or builds it if there is none, and finds out how far the newest file of
// the journal is good.
func (l *loaded) readJournal(log *segment.Log, flat *value.Map, ours bool) (*value.Map, error) {
	l.damage = append(l.damage, log.Damage...)
	if log.Newest != nil {
		st, err := log.Newest.Stat()
		if err != nil {
			return nil, err
		}
		l.size, l.opened = st.Size(), true
	}
	l.before, l.lastBefore = log.Before(), segment.LastOf(log.Parts)
	state := flat
	if !ours {
		flat = nil // only a whole memory may follow
	}
	j := &journalReader{l: l, flat: flat, open: true}
	if err := j.readLog(log); err != nil {
		return nil, err
	}
	if state == nil && l.view == nil && l.archived && len(l.damage) == 0 {
		l.note(l.state, "the file is missing; what it said was taken from the journal")
	}
	l.last, l.logFile, l.logEnd = j.goodSeq, j.goodFile, j.good
	if j.goodFile == l.newest {
		l.good = j.good
	} else {
		l.last = max(l.last, l.lastBefore)
	}
	switch {
	case j.flat != nil && state != nil && !ours:
		// little-loops has rewritten our state file and lost what it does not know. The journal has
		// it; but if the tool stopped the run, that is new.
		l.foreign = false
		for _, k := range []string{"status", "reconciled_at"} {
			if v, _ := state.Get(k); v != nil && v != string(persistence.Running) {
				j.flat.Set(k, v)
			}
		}
		return fillStatus(j.flat), nil
	case j.flat != nil:
		return fillStatus(j.flat), nil
	case state != nil && !ours:
		l.good, l.last = j.whole, j.wholeSeq
		return state, nil
	}
	return nil, nil
}

// fillStatus adds the required keys that a memory from the journal lacks, or brings them up to date.
func fillStatus(flat *value.Map) *value.Map {
	if v, _ := flat.Get("outcome"); v != nil {
		var o *fsm.Outcome
		if snapshot.TakeOutcome(&o, v) == nil {
			if s, _ := flat.Get("status"); s == nil || s == string(persistence.Running) {
				flat.Set("status", string(persistence.StatusOf(*o)))
			}
		}
	} else if s, _ := flat.Get("status"); s == nil {
		flat.Set("status", string(persistence.Running))
	}
	return flat
}

// workOf is the working folder of a run, which keeps the name it had when the run was made.
func (p place) workOf(flat *value.Map) string {
	v, _ := flat.Get("instance")
	if s, ok := v.(string); ok && persistence.ID(s).Valid() {
		return filepath.Join(p.runs, filepath.FromSlash(s))
	}
	return filepath.Join(p.runs, filepath.FromSlash(string(p.id)))
}

// outcome is how the run ended; zero if it has not.
func (l *loaded) outcome() fsm.Outcome {
	if l.Outcome == nil {
		return fsm.Outcome{}
	}
	return *l.Outcome
}
