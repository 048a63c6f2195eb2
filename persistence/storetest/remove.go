package storetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/fsm"
	"loops/persistence"
)

// gone wants nothing of a run to be found any more.
func (t *T) gone(id persistence.ID) {
	t.Helper()
	for _, r := range t.runs(persistence.Query{}) {
		if r.ID == id {
			t.Errorf("%s is listed still", id)
		}
	}
	for _, q := range []persistence.Query{{ID: id}, {ID: id, Live: true}} {
		if n := len(t.runs(q)); n != 0 {
			t.Errorf("%+v finds %d runs", q, n)
		}
	}
	_, err := t.S.Snapshot(t.ctx, id)
	t.is(err, persistence.ErrNotFound)
	if n := t.size(id); n != 0 {
		t.Errorf("its size is %d", n)
	}
	_, _, err = t.S.Resume(t.ctx, id, t.spec("fix"))
	t.is(err, persistence.ErrNotFound)
	for _, err := range t.S.Events(t.ctx, id, 0) {
		t.is(err, persistence.ErrNotFound)
	}
	t.is(t.S.Remove(t.ctx, id), persistence.ErrNotFound)
}

// size is how many bytes a run takes; 0 = it is gone.
func (t *T) size(id persistence.ID) int64 {
	t.Helper()
	sizes, err := t.S.Sizes(t.ctx, []persistence.ID{id}, []int64{0})
	t.must(err)
	return sizes[0]
}

// kept makes a run of the loop with a file in its working folder, whose path is returned. End "" leaves it as one whose
// owner released it.
func (t *T) kept(loop, end string) (persistence.ID, string) {
	t.Helper()
	j := t.create(loop)
	t.record(j, t.enter(snap(loop, 1)))
	file := filepath.Join(j.Dir(), "out", "kept")
	t.must(os.Mkdir(filepath.Dir(file), 0o755))
	t.must(os.WriteFile(file, []byte("0123456789"), 0o600))
	if end != "" {
		t.record(j, t.ended(snap(loop, 1), end))
	}
	id := j.Run().ID
	t.close(j)
	return id, file
}

// sum is what is recorded about a run.
func (t *T) sum(id persistence.ID) string {
	t.Helper()
	d, err := persistence.Sum(t.ctx, t.S, t.one(id))
	t.must(err)
	return d.String()
}

// Removing runs, and what they take.
var removing = []test{
	{"a run that is removed is gone with its working folder, and no other", func(t *T) {
		for _, end := range []string{fsm.EndTerminal, fsm.EndInterrupted, ""} {
			var ids []persistence.ID
			var files []string
			for range 3 {
				id, file := t.kept("fix", end)
				ids, files = append(ids, id), append(files, file)
			}
			was := []string{t.sum(ids[0]), t.sum(ids[2])}
			t.must(t.S.Remove(t.ctx, ids[1]))
			t.gone(ids[1])
			if _, err := os.Lstat(filepath.Dir(filepath.Dir(files[1]))); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("end %q: its working folder: %v", end, err)
			}
			for i, n := range []int{0, 2} {
				if now := t.sum(ids[n]); now != was[i] {
					t.Errorf("end %q: %s was %s, and is %s", end, ids[n], was[i], now)
				}
				if b, err := os.ReadFile(files[n]); err != nil || len(b) != 10 {
					t.Errorf("end %q: a file of another run: %q, %v", end, b, err)
				}
			}
		}
	}},
	{"the logs of a run go with it, and no other's", func(t *T) {
		if _, ok := t.S.(*Memory); ok {
			return // it has no folder of a project
		}
		id, file := t.kept("fix", fsm.EndTerminal)
		logs := filepath.Join(filepath.Dir(file), "..", "..", "..", "logs")
		t.must(os.MkdirAll(logs, 0o755))
		mine := []string{".log", ".log.1", ".log.3"}
		others := []string{".log.9", ".log-20260101T000000.log", "1.log", "x"}
		for _, end := range append(mine, others...) {
			t.must(os.WriteFile(filepath.Join(logs, string(id)+end), nil, 0o600))
		}
		t.must(t.S.Remove(t.ctx, id))
		for i, end := range append(mine, others...) {
			if _, err := os.Lstat(filepath.Join(logs, string(id)+end)); (err == nil) != (i >= len(mine)) {
				t.Errorf("%s%s: %v", id, end, err)
			}
		}
	}},
	{"where no removal was cut short there is nothing to finish", func(t *T) {
		id, file := t.kept("fix", "")
		j := t.create("fix") // which has recorded nothing yet
		ids, err := t.S.FinishRemovals(t.ctx)
		if err != nil || len(ids) > 0 {
			t.Errorf("%q, %v", ids, err)
		}
		t.record(j, t.enter(snap("fix", 1)))
		t.memory(j.Run().ID, snap("fix", 1))
		t.close(j)
		t.memory(id, snap("fix", 1))
		if _, err := os.Lstat(file); err != nil {
			t.Error(err)
		}
		t.must(t.S.Remove(t.ctx, id))
		ids, err = t.S.FinishRemovals(t.ctx)
		if err != nil || len(ids) > 0 {
			t.Errorf("%q, %v", ids, err)
		}
	}},
	{"a run that was interrupted can be removed", func(t *T) {
		id := t.crashed("fix", 3)
		t.must(t.S.Interrupt(t.ctx, id, start, "dead"))
		t.must(t.S.Remove(t.ctx, id))
		t.gone(id)
	}},
	{"a live run is not removed", func(t *T) {
		j := t.create("fix")
		t.record(j, t.enter(snap("fix", 1)))
		id := j.Run().ID
		t.isHeld(t.S.Remove(t.ctx, id))
		t.record(j, t.enter(snap("fix", 2)))
		t.close(j)
		j, s := t.resume(id, "fix")
		t.same(s, snap("fix", 2))
		t.isHeld(t.S.Remove(t.ctx, id))
		t.record(j, t.ended(s, fsm.EndTerminal))
		t.close(j)
		t.must(t.S.Remove(t.ctx, id))
		t.gone(id)
	}},
	{"an unknown run cannot be removed", func(t *T) {
		other := t.finished("fix", fsm.EndTerminal)
		for _, id := range []persistence.ID{
			"fix", "fix-20261121T103404", "", ".", "../fix-20261121T103405",
			other + "x", "a\x00b",
		} {
			t.is(t.S.Remove(t.ctx, id), persistence.ErrNotFound)
			if n := t.size(id); n != 0 {
				t.Errorf("the size of %q is %d", id, n)
			}
		}
		t.one(other)
	}},
	{"the id of a removed run is given to no other, and an import may bring the run back", func(t *T) {
		for _, end := range []string{fsm.EndTerminal, ""} {
			id, file := t.kept("fix", end)
			copied := &T{T: t.T, S: NewMemory(), ctx: t.ctx}
			run := t.one(id)
			_, err := persistence.Copy(t.ctx, t.S, copied.S, run)
			t.must(err)
			for range 2 { // the second time the run is one that was imported
				t.must(t.S.Remove(t.ctx, id))
				j := t.create("fix")
				t.record(j, t.enter(snap("fix", 7)))
				again := j.Run().ID
				t.close(j)
				if again == id {
					t.Errorf("end %q: a new run has the id %s", end, id)
				}
				t.memory(again, snap("fix", 7))
				named := t.spec("fix")
				named.ID = id
				_, err := t.S.Create(t.ctx, named)
				t.is(err, persistence.ErrTaken)
				if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a file of the old one: %v", err)
				}
				t.must(t.S.Remove(t.ctx, again))
				_, err = persistence.Copy(t.ctx, copied.S, t.S, copied.one(id))
				t.must(err)
			}
			t.must(copied.S.Close())
		}
	}},
	{"folders that forbid it are removed, and what symlinks lead to is not", func(t *T) {
		id, file := t.kept("fix", fsm.EndTerminal)
		outside := filepath.Join(t.TempDir(), "outside")
		t.must(os.WriteFile(outside, []byte("mine"), 0o600))
		t.must(os.Symlink(filepath.Dir(outside), filepath.Join(filepath.Dir(file), "link")))
		t.must(os.Chmod(filepath.Dir(file), 0o500))
		t.must(t.S.Remove(t.ctx, id))
		t.gone(id)
		if _, err := os.Lstat(filepath.Dir(file)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("its folder: %v", err)
		}
		if _, err := os.Stat(outside); err != nil {
			t.Error(err)
		}
	}},
	{"the size of a run is that of its records and files", func(t *T) {
		id, file := t.kept("fix", "")
		size := func() int64 {
			t.Helper()
			return t.size(id)
		}
		first := size()
		if first < 100 {
			t.Errorf("size is %d", first)
		}
		t.must(os.WriteFile(file, make([]byte, 5010), 0o600))
		t.must(os.Link(file, file+".again")) // a second name takes no room
		t.must(os.Symlink("/", file+".link"))
		if got := size(); got != first+5000 {
			t.Errorf("size is %d, want %d", got, first+5000)
		}
		before := size()
		j, s := t.resume(id, "fix")
		t.record(j, t.output(strings.Repeat("x", 10000)))
		t.record(j, t.ended(s, fsm.EndTerminal))
		t.close(j)
		if got := size(); got < before+10000 || got > before+30000 {
			t.Errorf("size is %d, and was %d before 10000 bytes of output", got, before)
		}
	}},
	{"many runs are measured as each by itself, and yielded as they are listed", func(t *T) {
		first, file := t.kept("fix", fsm.EndTerminal)
		t.must(os.Link(file, file+".again"))
		for range 3 {
			t.finished("fix", fsm.EndTerminal)
		}
		t.kept("fix", "")
		for range 2 { // the second time from what the first one remembered
			var ids []persistence.ID
			var listed []int64
			runs := t.runs(persistence.Query{})
			for r, err := range t.S.Each(t.ctx, persistence.Query{}) {
				t.must(err)
				if r.ID != runs[len(ids)].ID {
					t.Errorf("%s is in the place of %s", r.ID, runs[len(ids)].ID)
				}
				ids, listed = append(ids, r.ID), append(listed, r.Bytes)
			}
			if len(ids) != 5 {
				t.Fatalf("%d runs are yielded", len(ids))
			}
			for len(ids) <= 100 { // so many that they are measured together
				ids, listed = append(ids, first), append(listed, listed[slices.Index(ids, first)])
			}
			sizes, err := t.S.Sizes(t.ctx, append(ids, "fix-20200101T000000"), append(listed, 0))
			t.must(err)
			for i, n := range sizes[:len(ids)] {
				if want := t.size(ids[i]); n != want {
					t.Errorf("the size of %s is %d, and %d by itself", ids[i], n, want)
				}
			}
			if n := sizes[len(ids)]; n != 0 {
				t.Errorf("a run that is not there takes %d", n)
			}
		}
		for r, err := range t.S.Each(t.ctx,
			persistence.Query{
				Loop:   "fix",
				Filter: persistence.Filter{Statuses: []persistence.Status{persistence.Completed}},
			}) {
			if t.must(err); r.Status != persistence.Completed {
				t.Errorf("%s is %s", r.ID, r.Status)
			}
			break
		}
	}},
	{"a definition that another run has stays", func(t *T) {
		a, b := t.finished("fix", fsm.EndTerminal), t.finished("fix", fsm.EndTerminal)
		t.must(t.S.Remove(t.ctx, a))
		if got, err := t.S.Definition(t.ctx, b); err != nil || string(got) != "name: fix\n" {
			t.Errorf("%q, %v", got, err)
		}
		t.must(t.S.Remove(t.ctx, b))
		c := t.finished("fix", fsm.EndTerminal)
		if got, err := t.S.Definition(t.ctx, c); err != nil || string(got) != "name: fix\n" {
			t.Errorf("%q, %v", got, err)
		}
	}},
}
