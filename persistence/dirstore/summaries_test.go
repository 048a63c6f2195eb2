package dirstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"loops/persistence"
)

// What was worked out from the events of a run holds as long as its files are as they were, and goes with the run.
func TestSummariesHoldWhileFilesAreAsTheyWere(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.eager = true
	for i := range 6 {
		ended(t, d, "fix", i)
	}
	settle()
	runs, err := d.Runs(t.Context(), persistence.Query{})
	must(t, err)
	keep := func(runs ...persistence.Run) {
		t.Helper()
		s := d.Summaries()
		for _, r := range runs {
			s.Keep(r, "of "+r.RunID)
		}
		s.Close()
	}
	known := func() (known string) {
		t.Helper()
		s := d.Summaries()
		defer s.Close()
		now, err := d.Runs(t.Context(), persistence.Query{})
		must(t, err)
		for i, r := range runs {
			at := slices.IndexFunc(now, func(n persistence.Run) bool { return n.RunID == r.RunID })
			if at < 0 {
				known += "-"
				continue
			}
			text, ok := s.Of(now[at])
			if ok && text != "of "+r.RunID {
				t.Errorf("run %d: %q is kept", i, text)
			}
			r.Version = ""
			if _, looked := s.Of(r); looked != ok {
				t.Errorf("run %d: its summary is found: %v, by a look at its files: %v", i, ok, looked)
			}
			known += map[bool]string{true: fmt.Sprint(i), false: "-"}[ok]
		}
		return known
	}
	if got := known(); got != "------" {
		t.Errorf("before any was kept, %s are known", got)
	}
	keep(runs[:3]...)
	keep(runs[3:]...)
	if got := known(); got != "012345" {
		t.Errorf("of those that were kept, %s are known", got)
	}
	oldest := d.Summaries()
	for i, r := range slices.Backward(runs) { // the other way round than they lie in the file
		if text, ok := oldest.Of(r); !ok || text != "of "+r.RunID {
			t.Errorf("oldest first, of run %d %q is known: %v", i, text, ok)
		}
	}
	oldest.Close()

	folder := func(i int) string { return filepath.Join(d.history, folderName(runs[i].RunID, "fix")) }
	events, err := os.ReadFile(filepath.Join(folder(0), "events.jsonl"))
	must(t, err)
	st, err := os.Stat(filepath.Join(folder(0), "events.jsonl"))
	must(t, err)
	must(t, errors.Join( // another text of the same length and time
		os.WriteFile(filepath.Join(folder(0), "events.jsonl"), bytes.Replace(events, []byte("s1"), []byte("s2"), 1),
			0o600),
		os.Chtimes(filepath.Join(folder(0), "events.jsonl"), st.ModTime(), st.ModTime()),
		os.Chtimes(filepath.Join(folder(1), "state.json"), at, at),
		os.Mkdir(filepath.Join(folder(2), "events"), 0o700),
		os.Remove(filepath.Join(folder(3), "events.jsonl")),
	))
	if got := known(); got != "----45" {
		t.Errorf("after changes %s are known", got)
	}
	keep(runs[0]) // its file has changed just now: a change that follows at once might not show
	if got := known(); got != "----45" {
		t.Errorf("a file that has just changed is believed: %s", got)
	}
	settle()
	keep(runs...)
	if got := known(); got != "01--45" {
		t.Errorf("made anew, %s are known", got)
	}

	must(t, d.Remove(t.Context(), runs[4].ID))
	b, err := os.ReadFile(d.summariesPath())
	must(t, err)
	if bytes.Contains(b, []byte(runs[4].RunID)) || !bytes.Contains(b, []byte(runs[5].RunID)) {
		t.Errorf("after a run was removed the file is %q", b)
	}
	b[len(b)-1] ^= 1
	must(t, os.WriteFile(d.summariesPath(), b, 0o600))
	if got := known(); got != "01----" {
		t.Errorf("of a damaged file %s are known", got)
	}
}

// A run that is resumed, and one with other files beside those of the archive, has no summary.
func TestSummariesOfOtherRuns(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.eager = true
	ended(t, d, "fix", 1)
	settle()
	runs, err := d.Runs(t.Context(), persistence.Query{})
	must(t, err)
	live, leftover := runs[0], runs[0]
	live.Archived, leftover.Leftover = false, true
	s := d.Summaries()
	for _, r := range []persistence.Run{live, leftover, {Archived: true, RunID: "x", Loop: "fix"}} {
		s.Keep(r, "x")
	}
	s.Close()
	if b, err := os.ReadFile(d.summariesPath()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%q is kept", b)
	}
	s = d.Summaries()
	s.Keep(runs[0], string(make([]byte, mostSummary+1)))
	s.Close()
	if b, err := os.ReadFile(d.summariesPath()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%d bytes are kept", len(b))
	}
}
