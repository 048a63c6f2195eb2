package dirstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
)

// ended records a run that ended, every second one so that it can be resumed, and returns it.
func ended(t testing.TB, d *Store, loop string, n int) persistence.Run {
	t.Helper()
	j, err := d.Create(t.Context(), persistence.Spec{
		Loop: loop, StartedAt: at.Add(time.Duration(n) * time.Second),
		Definition: []byte("x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	by := fsm.EndTerminal
	if n%2 == 1 {
		by = fsm.EndUserStopped
	}
	b := end(1, by)
	b.Snapshot.Loop = loop
	if err := errors.Join(j.Record(t.Context(), b), j.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return j.Run()
}

// settle waits until what was written counts as left alone, so that an index may take it: no program can set
// the time of the last change.
func settle() { time.Sleep(300 * time.Millisecond) }

// listed lists all runs with the index, as small as the archive is, and expects what a listing without any says.
func listed(t *testing.T, d *Store, when string) []persistence.Run {
	t.Helper()
	path := filepath.Join(d.running, archiveIndex)
	var got [][]persistence.Run
	completed := persistence.Filter{Statuses: []persistence.Status{persistence.Completed}}
	stopped := persistence.Filter{Keep: func(r persistence.Run) bool { return r.Status == persistence.UserStopped }}
	inState := persistence.Filter{Text: "s7"}
	list := func(s *Store) {
		for _, q := range []persistence.Query{
			{},
			{Loop: "fix"},
			{Limit: 2},
			{Limit: 200, LiveToo: true},
			{Open: true},
			{Last: true},
			{Filter: completed},
			{Filter: stopped, Limit: 2, Skip: 1},
			{Loop: "fix", Filter: inState},
		} {
			runs, err := s.Runs(t.Context(), q)
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			got = append(got, runs)
		}
	}
	b, err := os.ReadFile(path)
	without := &Store{root: d.root, running: d.running, history: d.history, runs: d.runs}
	list(d)
	n := len(got)
	digests := filepath.Join(d.running, archiveDigests)
	for _, file := range []string{path, digests} {
		if e := os.Remove(file); e != nil && err == nil && !errors.Is(e, os.ErrNotExist) {
			t.Fatal(e)
		}
	}
	list(without)
	for i := range n {
		if !reflect.DeepEqual(got[i], got[n+i]) {
			t.Errorf("%s, query %d: with an index of %d bytes it lists\n%s\nwithout\n%s", when, i, len(b),
				brief(got[i]), brief(got[n+i]))
		}
	}
	if _, err := without.Runs(t.Context(), persistence.Query{}); err != nil {
		t.Fatal(err)
	}
	list(d) // and makes it again
	return got[0]
}

func brief(runs []persistence.Run) string {
	var b strings.Builder
	for _, r := range runs {
		fmt.Fprintf(&b, "%+v\n", r)
	}
	return b.String()
}

func indexed(t *testing.T, d *Store) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(d.running, archiveIndex))
	if err != nil {
		t.Fatalf("no index was written: %v", err)
	}
	return b
}

// Folders and files of the archive are changed by hand, by little-loops, by programs that set times back. The
// index is never believed over them, whether it is of before or of after.
func TestIndexIsNeverBelievedOverTheFolders(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.eager = true
	var runs []persistence.Run
	for i := range 6 {
		runs = append(runs, ended(t, d, "fix", i))
	}
	settle()
	if got := listed(t, d, "at first"); len(got) != 6 {
		t.Fatalf("%d runs", len(got))
	}
	dir := func(i int) string { return filepath.Join(d.history, folderName(runs[i].RunID, "fix")) }
	if b := indexed(t, d); !bytes.Contains(b, []byte(filepath.Base(dir(0)))) || !bytes.Contains(b, []byte(`"run_id"`)) {
		t.Fatalf("the index does not know the runs: %s", b)
	}
	state := func(i int) string { return filepath.Join(dir(i), "state.json") }
	rewrite := func(path string, f func([]byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, f(b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	foreign := `{"loop_name": "fix", "current_state": "done", "iteration": 1, "captured": {}, "prev_result": null, "last_result": null, "started_at": "2026-11-20T10:34:05+00:00", "updated_at": "2026-11-20T10:34:06+00:00", "status": "completed", "accumulated_ms": 7}`
	for _, c := range []struct {
		what string
		n    int // runs after it
		do   func()
	}{
		{"a folder was removed by hand", 5, func() { must(t, os.RemoveAll(dir(5))) }},
		{"a folder was renamed by hand", 5, func() {
			must(t, os.Rename(dir(4), filepath.Join(d.history, "2026-11-22T000000-fix")))
		}},
		{"little-loops added a run", 6, func() {
			to := filepath.Join(d.history, "2026-11-20T103405-fix")
			must(t, errors.Join(os.Mkdir(to, 0o755),
				os.WriteFile(filepath.Join(to, "state.json"), []byte(foreign), 0o644),
				os.WriteFile(filepath.Join(to, "events.jsonl"), nil, 0o644)))
		}},
		{"little-loops added a run in its old layout", 7, func() {
			to := filepath.Join(d.history, "fix", "2026-11-19T103405")
			must(t, errors.Join(os.MkdirAll(to, 0o755),
				os.WriteFile(filepath.Join(to, "state.json"), []byte(foreign), 0o644)))
		}},
		{"another one in that layout", 8, func() {
			to := filepath.Join(d.history, "fix", "2026-11-18T103405")
			must(t, errors.Join(os.MkdirAll(to, 0o755),
				os.WriteFile(filepath.Join(to, "state.json"), []byte(foreign), 0o644)))
		}},
		{"a bit of a state file flipped, and its time was set back", 8, func() {
			st, err := os.Stat(state(0))
			must(t, err)
			rewrite(state(0), func(b []byte) []byte { return bytes.Replace(b, []byte(`"s1"`), []byte(`"s7"`), 1) })
			must(t, os.Chtimes(state(0), st.ModTime(), st.ModTime()))
		}},
		{"a state file is another one of the same length and time", 8, func() {
			st, err := os.Stat(state(1))
			must(t, err)
			b, err := os.ReadFile(state(1))
			must(t, errors.Join(err, os.Remove(state(1)),
				os.WriteFile(state(1), bytes.Replace(b, []byte(`"s1"`), []byte(`"s8"`), 1), 0o600),
				os.Chtimes(state(1), st.ModTime(), st.ModTime())))
		}},
		{"events were cut", 8, func() { must(t, os.Truncate(filepath.Join(dir(2), "events.jsonl"), 10)) }},
		{"a state file was removed", 8, func() { must(t, os.Remove(state(3))) }},
		{"the time of the archive was set back after a folder was removed", 7, func() {
			st, err := os.Stat(d.history)
			must(t, errors.Join(err, os.RemoveAll(dir(0)), os.Chtimes(d.history, st.ModTime(), st.ModTime())))
		}},
	} {
		c.do()
		if got := listed(t, d, c.what); len(got) != c.n {
			t.Errorf("%s: %d runs are listed, not %d", c.what, len(got), c.n)
		}
		settle()
		listed(t, d, c.what+", and a while ago")
	}
}

// A filter reads no run that its digest rejects, and none that is only counted; and every one whose state file
// is another one now.
func TestFilterReadsWhatItReturns(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.eager = true
	var runs []persistence.Run
	for i := range 9 {
		runs = append(runs, ended(t, d, "fix", i)) // every second one was stopped
	}
	settle()
	completed := persistence.Filter{Statuses: []persistence.Status{persistence.Completed}}
	ids := func(q persistence.Query) (ids string) {
		t.Helper()
		all, err := d.Runs(t.Context(), q)
		must(t, err)
		for _, r := range all {
			ids += fmt.Sprint(" ", slices.IndexFunc(runs, func(run persistence.Run) bool { return run.ID == r.ID }))
		}
		return ids
	}
	all := persistence.Query{Filter: completed}
	if got := ids(all); got != " 8 6 4 2 0" {
		t.Fatalf("completed are%s", got)
	}
	sift := func() (words string) {
		c := d.cached()
		c.openDigests()
		folders, err := d.folders(c, "")
		must(t, err)
		ch := choice{d: d, q: all, c: c}
		verdicts, _ := ch.sift(slices.Collect(folders))
		for _, v := range verdicts {
			words += []string{"?", "-", "+"}[v]
		}
		c.digests.Close()
		return words
	}
	if got := sift(); got != "+-+-+-+-+" {
		t.Errorf("the digests say %s", got)
	}
	state := func(i int) string { return filepath.Join(d.history, folderName(runs[i].RunID, "fix"), "state.json") }
	for _, i := range []int{7, 4} {
		b, err := os.ReadFile(state(i))
		must(t, errors.Join(err, os.WriteFile(state(i), b, 0o600)))
	}
	if got := sift(); got != "+?+-?-+-+" {
		t.Errorf("of two that were written again the digests say %s", got)
	}
	if got := ids(persistence.Query{Filter: completed, Skip: 1, Limit: 3}); got != " 6 4 2" {
		t.Errorf("behind the first are%s", got)
	}
	settle()
	must(t, d.Remove(t.Context(), runs[6].ID))
	digests, err := os.ReadFile(filepath.Join(d.running, archiveDigests))
	if must(t, err); bytes.Contains(digests, []byte(runs[6].RunID)) || !bytes.Contains(digests, []byte(runs[8].RunID)) {
		t.Errorf("after a run was removed the digests are %q", digests)
	}
	if got := ids(all); got != " 8 4 2 0" {
		t.Errorf("after 6 was removed, completed are%s", got)
	}
	if got := sift(); got != "+-+-+-+"+"+" && got != "+--+-+-+" {
		t.Errorf("after 6 was removed the digests say %s", got)
	}
	path := filepath.Join(d.running, archiveDigests)
	whole, err := os.ReadFile(path)
	must(t, err)
	for n := 0; n < len(whole); n += testenv.Some(23, 5) { // killed while it writes, and bits that flip
		spoilt := bytes.Clone(whole)
		spoilt[n] ^= 4
		for what, b := range map[string][]byte{"cut": whole[:n], "spoilt": spoilt} {
			must(t, os.WriteFile(path, b, 0o600))
			if got := ids(all); got != " 8 4 2 0" {
				t.Fatalf("with digests that are %s at %d of %d, completed are%s", what, n, len(whole), got)
			}
		}
	}
}

// A process is killed while it writes the index: wherever the file ends, and whatever bit of it is wrong, the
// list is right, and the next listing makes the index whole.
func TestIndexTorn(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.eager = true
	for i := range 3 {
		ended(t, d, "fix", i)
	}
	settle()
	want := listed(t, d, "at first")
	path, whole := filepath.Join(d.running, archiveIndex), indexed(t, d)
	try := func(when string, b []byte) {
		t.Helper()
		must(t, os.WriteFile(path, b, 0o600))
		for range 2 {
			got, err := d.Runs(t.Context(), persistence.Query{Limit: 9})
			for i := range got {
				got[i].Bytes = want[i].Bytes // which are looked at in listings of all
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %v, it lists\n%s\nnot\n%s", when, err, brief(got), brief(want))
			}
		}
	}
	for n := 0; n < len(whole); n += testenv.Some(31, 7) {
		try(fmt.Sprintf("%d of %d bytes", n, len(whole)), whole[:n])
		if now := indexed(t, d); len(now) != len(whole) {
			t.Fatalf("%d of %d bytes: afterwards it has %d", n, len(whole), len(now))
		}
		spoilt := bytes.Clone(whole)
		spoilt[n] ^= 4
		try(fmt.Sprintf("byte %d is wrong", n), spoilt)
		try(fmt.Sprintf("it is written over by %d bytes of the next one", n),
			append(bytes.ToUpper(whole[:n]), whole[n:]...))
	}
	must(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o700))) // it cannot be written
	if got, err := d.Runs(t.Context(), persistence.Query{}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("without a place for an index: %v, %s", err, brief(got))
	}
	victim := filepath.Join(t.TempDir(), "victim")
	must(t, errors.Join(os.Remove(path), os.WriteFile(victim, []byte("precious"), 0o600), os.Symlink(victim, path)))
	got, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("a link in place of the index: %v, %s", err, brief(got))
	}
	must(t, d.forget(""))
	if now, e := os.ReadFile(victim); e != nil || string(now) != "precious" {
		t.Errorf("the link was followed: %v, %s", e, now)
	}
}

// Runs come to the archive, go back to be resumed and are removed while others list: each is listed once, at any time.
func TestIndexWhileRunsMove(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.eager = true
	const stays = 5
	for i := range stays {
		ended(t, d, "fix", i)
	}
	settle()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			mine := &Store{root: d.root, running: d.running, history: d.history, runs: d.runs, eager: true}
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				runs, err := mine.Runs(t.Context(), persistence.Query{Loop: "fix", Limit: []int{0, 50}[n%2]})
				seen := map[persistence.ID]bool{}
				for _, r := range runs {
					if seen[r.ID] {
						t.Errorf("%s is listed twice", r.ID)
					}
					seen[r.ID] = true
				}
				for i := range stays {
					if id := persistence.MakeID("fix", at.Add(time.Duration(i)*time.Second)); err != nil || !seen[id] {
						t.Errorf("%s is not listed: %v", id, err)
					}
				}
			}
		})
	}
	for i := range testenv.Some(12, 40) {
		j := begin2(t, d, 100+i)
		must(t, errors.Join(j.Record(t.Context(), end(1, fsm.EndInterrupted)), j.Close(t.Context())))
		again, _, err := d.Resume(t.Context(), j.Run().ID, persistence.Spec{})
		must(t, err)
		b := end(2, fsm.EndTerminal)
		must(t, errors.Join(again.Record(t.Context(), b), again.Close(t.Context())))
		runs := listed1(t, d, j.Run().ID)
		if len(runs) != 1 || runs[0].Status != persistence.Completed {
			t.Fatalf("right after its end it is listed as %s", brief(runs))
		}
		must(t, d.Remove(t.Context(), j.Run().ID))
		if runs := listed1(t, d, j.Run().ID); len(runs) != 0 {
			t.Fatalf("right after it was removed it is listed as %s", brief(runs))
		}
		if i%10 == 0 { // an index is written then
			settle()
		}
	}
	close(stop)
	wg.Wait()
}

func begin2(t *testing.T, d *Store, n int) persistence.Journal {
	t.Helper()
	j, err := d.Create(t.Context(), persistence.Spec{
		Loop: "fix", StartedAt: at.Add(time.Duration(n) * time.Second),
		Definition: []byte("name: fix\n"),
	})
	must(t, err)
	return j
}

// listed1 is what a list of all runs says of one.
func listed1(t *testing.T, d *Store, id persistence.ID) (found []persistence.Run) {
	t.Helper()
	runs, err := d.Runs(t.Context(), persistence.Query{})
	must(t, err)
	for _, r := range runs {
		if r.ID == id {
			found = append(found, r)
		}
	}
	return found
}

// What a user removes is removed: the index has nothing about it any more, also where the removal was cut short.
func TestIndexForgetsWhatIsRemoved(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.eager = true
	gone := ended(t, d, "secret", 1)
	ended(t, d, "fix", 2)
	settle()
	listed(t, d, "at first")
	if !bytes.Contains(indexed(t, d), []byte("secret")) {
		t.Fatal("the index does not know the run")
	}
	d.step = func(s string) error {
		if s == "removed" {
			return errCrash
		}
		return nil
	}
	if err := d.Remove(t.Context(), gone.ID); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	d.step = nil
	if _, err := d.FinishRemovals(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"then", "later"} {
		if b, err := os.ReadFile(filepath.Join(d.running, archiveIndex)); err == nil &&
			bytes.Contains(b, []byte("secret")) {
			t.Errorf("%s the index still tells of the run: %s", when, b)
		}
		settle()
		listed(t, d, when)
	}
	if bytes.Contains(indexed(t, d), []byte("secret")) {
		t.Error("the index tells of the run again")
	}
}
