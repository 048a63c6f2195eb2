package dirstore

import (
	"path/filepath"
	"time"

	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/index"
)

// archiveSummaries is the name of the file of summaries, beside that of digests and in the same form.
const archiveSummaries = ".history.summaries"

// mostSummary is how many bytes a summary may have: the events of a run that has more to say are read each time.
const mostSummary = 256 << 10

// summaries implements [persistence.Summaries].
type summaries struct {
	d     *Store
	began time.Time
	read  *index.Digests        // those of the folders before last, which sort after it, are not in it any more
	last  string                // folder that was asked for
	again int                   // how often they were read from the beginning
	all   map[string]index.Kept // by folder; nil = they are asked for in their order, and not held
	made  map[string]index.Digest
}

// mostReadings is how often summaries are read from the beginning, before all are held.
const mostReadings = 4

// Summaries implements [persistence.Store].
func (d *Store) Summaries() persistence.Summaries {
	return &summaries{
		d: d, began: time.Now(), read: index.OpenDigests(d.summariesPath()),
		made: map[string]index.Digest{},
	}
}

// find returns what is kept of a folder. Mostly runs are asked for newest first, as they lie in the file.
func (s *summaries) find(folder string) (state disk.Stamp, body string, ok bool) {
	if s.all == nil && s.last != "" && folder > s.last {
		s.read.Close()
		if s.again++; s.again < mostReadings {
			s.read = index.OpenDigests(s.d.summariesPath())
		} else {
			s.all = index.ReadDigests(s.d.summariesPath())
		}
	}
	if s.all != nil {
		k, known := s.all[folder]
		return k.State, k.Body, known
	}
	s.last = folder
	return s.read.Seek(folder)
}

func (d *Store) summariesPath() string { return filepath.Join(d.running, archiveSummaries) }

// place returns where the files of an archived run are. ok is false for a run with files elsewhere, too.
func (s *summaries) place(r persistence.Run) (p place, ok bool) {
	if !r.Archived || r.Leftover {
		return p, false
	}
	folder := folderName(r.RunID, r.Loop)
	return s.d.archivedPlace(r.ID, folder), isFolder(folder)
}

// stamps returns the stamps of the two files that the events of a run are read from. ok is false where there are more.
func (p place) stamps() (state, journal disk.Stamp, ok bool) {
	state, regular, there := disk.StampOf(p.state)
	if !there || !regular {
		return state, journal, false
	}
	journal, regular, there = disk.StampOf(p.events)
	return state, journal, there && regular && !disk.Exists(p.parts)
}

// Of implements [persistence.Summaries].
func (s *summaries) Of(r persistence.Run) (text string, ok bool) {
	p, archived := s.place(r)
	if !archived {
		return "", false
	}
	of, body, known := s.find(p.folder)
	if !known {
		return "", false
	}
	was, text, ok := index.CutStamp(body)
	if r.Version == "" { // it was not looked at
		if state, journal, whole := p.stamps(); whole {
			r.Version = versionOf(state, journal)
		}
	}
	return text, ok && r.Version == versionOf(of, was)
}

// versionOf returns [persistence.Run.Version] of a run whose events are in files with these stamps.
func versionOf(state, journal disk.Stamp) string {
	var b [100]byte
	return string(index.AppendStamp(index.AppendStamp(b[:0], state), journal))
}

// Keep implements [persistence.Summaries].
func (s *summaries) Keep(r persistence.Run, text string) {
	p, archived := s.place(r)
	if !archived || len(text) > mostSummary {
		return
	}
	if state, journal, whole := p.stamps(); whole && old(state) && old(journal) {
		s.made[p.folder] = index.Digest{
			State: state, Others: []disk.Stamp{journal},
			Body: append(index.AppendStamp(nil, journal), text...),
		}
	}
}

// Close implements [persistence.Summaries]. It writes the file if that saves the next reader much.
func (s *summaries) Close() {
	s.read.Close()
	if len(s.made) < manyStates && (!s.d.eager || len(s.made) == 0) {
		return
	}
	s.d.cached().saveDigests(s.d.summariesPath(), s.began, s.made)
}
