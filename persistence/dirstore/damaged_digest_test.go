package dirstore

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"loops/persistence"
)

// A listing read the whole journal of each damaged run of an archive, every time. What is wrong with it is
// remembered, until one of its files is another one; what a user may not read is not remembered.
func TestDamagedRunsAreRemembered(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.eager = true
	for i := range 6 {
		ended(t, d, "fix", i)
	}
	runs, err := d.Runs(t.Context(), persistence.Query{})
	must(t, err)
	folder := func(i int) string { return filepath.Join(d.history, folderName(runs[i].RunID, "fix")) }
	spoil := func(i int, name, was, is string) {
		t.Helper()
		path := filepath.Join(folder(i), name)
		b, err := os.ReadFile(path)
		must(t, err)
		if !strings.Contains(string(b), was) {
			t.Fatalf("%s has no %s", path, was)
		}
		must(t, os.WriteFile(path, []byte(strings.Replace(string(b), was, is, 1)), 0o600))
	}
	spoil(0, "state.json", `"loop_name": "fix"`, `"loop_name": "fax"`)
	spoil(1, "state.json", `{`, ``)
	spoil(2, "state.json", `"check"`, `"chick"`)
	spoil(2, "events.jsonl", `"seq": 1`, `"seq": 7`)
	must(t, os.Remove(filepath.Join(folder(3), "events.jsonl")))
	spoil(3, "state.json", `{`, ``)
	settle()

	list := func() (all []persistence.Run, read []int) {
		t.Helper()
		all, err := d.Runs(t.Context(), persistence.Query{})
		must(t, err)
		c := d.cached()
		c.openDigests()
		defer c.digests.Close()
		folders, err := d.folders(c, "")
		must(t, err)
		each := slices.Collect(folders)
		ch := choice{d: d, c: c}
		verdicts, digests := ch.sift(each)
		for i := range each {
			each[i].digest = &digests[i]
			if r, ok := d.digestedRun(each[i]); !ok || verdicts[i] == unknown {
				read = append(read, i)
			} else if !reflect.DeepEqual(r, all[i]) {
				t.Errorf("its digest says\n%+v\nnot\n%+v", r, all[i])
			}
		}
		return all, read
	}
	first, read := list()
	for i := range 4 {
		if len(first[i].Damage) == 0 {
			t.Errorf("run %d is not damaged", i)
		}
	}
	if !slices.Equal(read, []int{3}) { // a file that is missing has no stamp
		t.Errorf("the second listing reads %v", read)
	}
	again, _ := list()
	if !reflect.DeepEqual(again, first) {
		t.Errorf("the second listing returns\n%s\nnot\n%s", brief(again), brief(first))
	}

	// A journal that changed is read, for a filter that its digest rejects, too.
	filter := persistence.Query{Filter: persistence.Filter{Statuses: []persistence.Status{persistence.Failed}}}
	_, err = d.Runs(t.Context(), filter)
	must(t, err)
	events, err := os.OpenFile(filepath.Join(folder(1), "events.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = events.WriteString("{\n")
	must(t, err)
	must(t, events.Close())
	c := d.cached()
	c.openDigests()
	folders, err := d.folders(c, "")
	must(t, err)
	verdicts, _ := (&choice{d: d, c: c, q: filter}).sift(slices.Collect(folders))
	c.digests.Close()
	if verdicts[1] != unknown {
		t.Errorf("the verdict on a journal that changed is %d", verdicts[1])
	}
	if now, _ := list(); reflect.DeepEqual(now[1].Damage, first[1].Damage) {
		t.Errorf("the damage is still %q", now[1].Damage)
	}

	// So is one whose damaged lines were put aside, and one whose file of digests is damaged itself.
	settle()
	list()
	must(t, os.WriteFile(filepath.Join(folder(2), "events.damaged"), []byte("{}\n"), 0o600))
	if _, read := list(); !slices.Contains(read, 2) {
		t.Errorf("a run with lines that were put aside comes from its digest: %v are read", read)
	}
	must(t, os.WriteFile(filepath.Join(d.running, archiveDigests), []byte("loops archive digests 5\n\x05nonsense"),
		0o600))
	if now, err := d.Runs(t.Context(), persistence.Query{}); err != nil || len(now) != 6 || len(now[0].Damage) == 0 {
		t.Errorf("with damaged digests: %v, %s", err, brief(now))
	}
}
