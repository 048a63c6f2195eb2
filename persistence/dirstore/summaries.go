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
	kept  map[string]index.Kept // by folder
	made  map[string]index.Digest
}

// Summaries implements [persistence.Summarizer].
func (d *Store) Summaries() persistence.Summaries {
	return &summaries{d: d, began: time.Now(), kept: index.ReadDigests(d.summariesPath()), made: map[string]index.Digest{}}
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
	k, known := s.kept[p.folder]
	if !known {
		return "", false
	}
	was, text, ok := index.CutStamp(k.Body)
	if r.Version == "" { // it was not looked at
		if state, journal, whole := p.stamps(); whole {
			r.Version = versionOf(state, journal)
		}
	}
	return text, ok && r.Version == versionOf(k.State, was)
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
		s.made[p.folder] = index.Digest{State: state, Others: []disk.Stamp{journal}, Body: append(index.AppendStamp(nil, journal), text...)}
	}
}

// Close implements [persistence.Summaries]. It writes the file if that saves the next reader much.
func (s *summaries) Close() {
	if len(s.made) < manyStates && (!s.d.eager || len(s.made) == 0) {
		return
	}
	s.d.cached().saveDigests(s.d.summariesPath(), s.began, s.made)
}
