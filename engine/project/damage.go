package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// Lists read no journal of an archived run: of 20,000 runs that would take minutes. So the first reader of
// events that finds damage leaves a mark in the ledger of the project. Every view shows the mark until all
// events are read without damage, or the damage is accepted.
const damageList = "damaged-runs"

// marksFresh is for how long the marks are not read again; views that poll ask several times a second.
const marksFresh = time.Second

// mostDamage is how many damaged places of a run are named one by one.
const mostDamage = 10

// A damageMark is the body of an entry of the ledger: the first damage among the events of a run that was not
// accepted (empty What = none), and the damage that was, as [damageKey] returns it.
type damageMark struct {
	File     string   `json:"file,omitempty"`
	Offset   int64    `json:"offset,omitempty"`
	What     string   `json:"what,omitempty"`
	Accepted []string `json:"accepted,omitempty"` // damage of events
	Others   []string `json:"others,omitempty"`   // accepted damage of other parts of the record
}

// damageKey returns the text of damage without the file: files of a run have other paths after it is archived,
// resumed or moved.
func damageKey(text string) string {
	if filepath.IsAbs(text) {
		if _, what, ok := strings.Cut(text, ": "); ok {
			return what
		}
	}
	return text
}

func damageKeys(texts []string) (keys []string) {
	for _, text := range texts {
		keys = append(keys, damageKey(text))
	}
	return keys
}

func (m damageMark) accepted(text string) bool {
	key := damageKey(text)
	return slices.Contains(m.Accepted, key) || slices.Contains(m.Others, key)
}

// open reports whether the mark is still needed.
func (m damageMark) open() bool { return m.What != "" || len(m.Accepted)+len(m.Others) > 0 }

// text returns the damage as [persistence.Run.Damage] has it, "" for none. The file of a run that was archived
// since has another path.
func (m damageMark) text(r persistence.Run) string {
	if m.What == "" {
		return ""
	}
	if r.Events != "" && filepath.IsAbs(m.File) && !disk.Exists(m.File) {
		m.File = r.Events
	}
	return (&persistence.DamageError{File: m.File, Offset: m.Offset, What: m.What}).Error()
}

// damageMarks holds the marks of a store as this process last read or changed them. Several goroutines may use
// it at once.
type damageMarks struct {
	mu   sync.Mutex
	of   map[persistence.ID]damageMark // guarded by mu
	read time.Time                     // guarded by mu
	took time.Duration                 // to read them; guarded by mu
}

// mark returns the mark of a run, that of the last reading where the ledger cannot be read, and whether it has one.
func (r *Records) mark(ctx context.Context, id persistence.ID) (m damageMark, marked bool) {
	if r.damage == nil {
		return m, false
	}
	d := r.damage
	d.mu.Lock()
	defer d.mu.Unlock()
	// where there are thousands, that takes long
	if began := time.Now(); began.Sub(d.read) >= max(marksFresh, 20*d.took) {
		if entries, err := r.Ledger().Entries(ctx, damageList); err == nil {
			d.of = map[persistence.ID]damageMark{}
			for _, e := range entries {
				var m damageMark
				if json.Unmarshal(e.Body, &m) == nil && m.open() {
					d.of[persistence.ID(e.Key)] = m
				}
			}
			d.read = time.Now()
			d.took = d.read.Sub(began)
		}
	}
	m, marked = d.of[id]
	return m, marked
}

// changed notes the mark of a run that this process has changed.
func (d *damageMarks) changed(id persistence.ID, m damageMark) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !m.open():
		delete(d.of, id)
	case d.of != nil: // else they are read when one is asked for
		d.of[id] = m
	}
}

// addMarks adds the marked damage to runs, and takes away what was accepted.
func (r *Records) addMarks(ctx context.Context, runs []persistence.Run) {
	for i := range runs {
		if m, marked := r.mark(ctx, runs[i].ID); marked {
			runs[i].Damage = m.add(runs[i], m.text(runs[i]))
		}
	}
}

// add returns the damage of a run and more damage, each once, without what was accepted.
func (m damageMark) add(r persistence.Run, more ...string) []string {
	var all []string
	for _, text := range slices.Concat(r.Damage, more) {
		if text != "" && !m.accepted(text) && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// changeMark has change applied to the mark of a run, and reports why that could not be recorded.
func (r *Records) changeMark(ctx context.Context, id persistence.ID, change func(*damageMark)) error {
	l := r.Ledger()
	for {
		entries, err := l.Entries(ctx, damageList, string(id))
		if err != nil {
			return err
		}
		e := persistence.Entry{List: damageList, Key: string(id), Added: time.Now()}
		var m damageMark
		if len(entries) > 0 {
			e = entries[0]
			_ = json.Unmarshal(e.Body, &m) // a damaged mark is as none
		}
		change(&m)
		body, err := json.Marshal(m)
		if err != nil {
			return err
		}
		e.Open, e.Body = m.open(), body
		switch {
		case len(entries) > 0:
			_, err = l.Change(ctx, e)
		case !e.Open:
			return nil
		default:
			err = l.Add(ctx, e)
		}
		if errors.Is(err, persistence.ErrTaken) || errors.Is(err, persistence.ErrChanged) {
			continue // another process was faster
		}
		if err == nil && !e.Open {
			err = l.Trim(ctx, damageList, time.Now(), 0)
		}
		if err == nil {
			r.damage.changed(id, m)
		}
		return err
	}
}

// MarkDamage marks a run if err names damaged bytes of it. Damage that cannot be marked, as in a folder that is
// read-only, is left to the next reader.
func (r *Records) MarkDamage(ctx context.Context, id persistence.ID, err error) {
	d, damaged := errors.AsType[*persistence.DamageError](err)
	if !damaged || r.damage == nil {
		return
	}
	if m, _ := r.mark(ctx, id); m.accepted(d.Error()) || m.What == d.What && m.Offset == d.Offset {
		return
	}
	_ = r.changeMark(context.WithoutCancel(ctx), id, func(m *damageMark) {
		m.File, m.Offset, m.What = d.File, d.Offset, d.What
	})
}

// UnmarkDamage removes the mark of a run whose events were all read, with no damage but what was accepted, if
// that was met.
func (r *Records) UnmarkDamage(ctx context.Context, id persistence.ID, accepted bool) {
	if m, _ := r.mark(ctx, id); m.What == "" && (accepted || len(m.Accepted) == 0) {
		return
	}
	_ = r.changeMark(context.WithoutCancel(ctx), id, func(m *damageMark) {
		m.File, m.Offset, m.What = "", 0, ""
		if !accepted { // it was repaired
			m.Accepted = nil
		}
	})
}

// Events returns the events of the store. Damage is marked. The mark is removed when all events are read
// without damage.
func (r *Records) Events(ctx context.Context, id persistence.ID, after uint64) iter.Seq2[fsm.Event, error] {
	return r.watched(ctx, id, after, r.Store.Events(ctx, id, after))
}

// watched yields events of a run after a number, and marks the run by the damage among them.
func (r *Records) watched(ctx context.Context, id persistence.ID, after uint64,
	events iter.Seq2[fsm.Event, error],
) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		var first error // that was not accepted
		var met bool
		whole, some := after == 0, false
		for e, err := range events {
			some = true
			if IsDamage(err) {
				met = true
				if m, _ := r.mark(ctx, id); first == nil && !m.accepted(err.Error()) {
					first = err
				}
			} else if err != nil {
				whole = false
			}
			if !yield(e, err) {
				whole = false
				break
			}
		}
		switch {
		case first != nil:
			r.MarkDamage(ctx, id, first)
		case whole && some:
			r.UnmarkDamage(ctx, id, met)
		}
	}
}

// statusReads is how many bytes of events CheckEvents reads at most: about 80 ms. statusSteps is the same for a
// run in a database.
const (
	statusReads = 4 << 20
	statusSteps = 2000
)

// CheckEvents returns a run with the damage among its events, the first ten places. It reads the whole journal
// if that is short: 4 MiB at most in files, 2,000 steps in a database. Of a longer one it returns what is
// marked, as other readers of events found it. Other errors of reading are left to those who show events.
func (r *Records) CheckEvents(ctx context.Context, run persistence.Run) persistence.Run {
	short := run.Step <= statusSteps
	if run.Events != "" {
		short = dirstore.EventsSize(run.Events) <= statusReads
	}
	run, _ = r.check(ctx, run, short)
	return run
}

// resumeReads is how many bytes of events a resume reads for damage: it begins as soon beside a journal of 100
// MB as beside a short one. Of a longer journal it reports what is marked, and so does it of one in a database,
// which checks its pages itself.
const resumeReads = 256 << 10

// CheckTaken checks a run that was taken over: its events unless they are long, its mark, and what opening it
// found. told is all that is wrong, also what a crash left unfinished and is set right now. lasting is its
// damage, which every view reports until it is repaired or accepted.
func (r *Records) CheckTaken(ctx context.Context, run persistence.Run) (told, lasting []string) {
	all := run.Damage
	run.Damage = slices.DeleteFunc(slices.Clone(all), func(text string) bool {
		return damageKey(text) != dirstore.KeptAside
	})
	run, _ = r.check(ctx, run, run.Events != "" && dirstore.EventsSize(run.Events) <= resumeReads)
	return damageMark{}.add(persistence.Run{Damage: all}, run.Damage...), run.Damage
}

// check returns a run with its damage: what it has already, what is among its events if they are read, and its
// mark unless they were read without an error. found is the damage among the events.
func (r *Records) check(ctx context.Context, run persistence.Run, read bool) (_ persistence.Run, found []string) {
	was, _ := r.mark(ctx, run.ID)
	marked, clean := was.text(run), false
	if read {
		found, clean = r.readDamage(ctx, run)
	}
	more := found
	if clean { // what was marked was repaired
		run.Damage = slices.DeleteFunc(slices.Clone(run.Damage), func(text string) bool { return text == marked })
	} else {
		more = append(slices.Clip(found), marked)
	}
	now, _ := r.mark(ctx, run.ID)
	run.Damage = now.add(run, more...)
	return run, found
}

// readDamage reads all events of a run, from its reading if it has one. It returns what is damaged among them,
// and whether all were read without an error.
func (r *Records) readDamage(ctx context.Context, run persistence.Run) (found []string, clean bool) {
	clean = true
	more := 0
	for _, err := range r.EventsOf(ctx, run, 0) {
		clean = clean && err == nil
		switch {
		case !IsDamage(err):
		case len(found) == mostDamage:
			more++
		default:
			found = append(found, err.Error())
		}
	}
	if more > 0 {
		found = append(found, fmt.Sprintf("and %d more damaged events", more))
	}
	return found, clean
}

// AcceptDamage records that a user knows what is damaged of a run, and returns that: no view reports it any
// more. Damage that is found later is reported again.
func (r *Records) AcceptDamage(ctx context.Context, run persistence.Run) ([]string, error) {
	run, found := r.check(ctx, run, true)
	if len(run.Damage) == 0 {
		return nil, nil
	}
	err := r.changeMark(ctx, run.ID, func(m *damageMark) {
		m.File, m.Offset, m.What = "", 0, ""
		m.Accepted = damageKeys(found)
		for _, text := range append(slices.Clip(run.Damage), dirstore.KeptAside) { // resume keeps damaged lines aside
			if key := damageKey(text); !slices.Contains(m.Accepted, key) && !slices.Contains(m.Others, key) {
				m.Others = append(m.Others, key)
			}
		}
	})
	return run.Damage, err
}

// Remove removes a run and the mark of its damage.
func (r *Records) Remove(ctx context.Context, id persistence.ID) error {
	err := r.Store.Remove(ctx, id)
	if _, marked := r.mark(ctx, id); err == nil && marked {
		_ = r.changeMark(ctx, id, func(m *damageMark) { *m = damageMark{} })
	}
	return err
}
