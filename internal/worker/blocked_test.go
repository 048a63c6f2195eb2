package worker

import (
	"fmt"
	"slices"
	"testing"

	"loops/persistence"
)

// TestBlocks: a hundred runs wait for each other's paths. When the first ends, the second is tried, begins, and
// the third finds that these are locked again: no other one is tried.
func TestBlocks(t *testing.T) {
	t.Parallel()
	var b blocks
	stands := map[persistence.ID]stance{"r-0": owned}
	stand := func(id persistence.ID) stance { return stands[id] }
	wants := func(what string, want ...persistence.ID) {
		t.Helper()
		if got := b.next(stand); !slices.Equal(got, want) {
			t.Fatalf("%s: tried are %v, want %v", what, got, want)
		}
	}
	id := func(n int) persistence.ID { return persistence.ID(fmt.Sprintf("r-%d", n)) }
	for n := 1; n <= 100; n++ {
		b.add(id(n), "r-0")
	}
	wants("the first one has the paths")
	stands["r-0"] = free
	wants("it has ended", "r-1")
	stands["r-1"] = about
	wants("the second one is about to begin")
	stands["r-1"] = owned
	wants("it has begun, and the next is tried", "r-2")
	stands["r-2"] = about
	b.add("r-2", "r-1") // its paths are locked
	wants("the others wait for the second one, too")
	wants("as long as that takes")
	stands["r-1"] = free
	wants("it has ended", "r-2")
	stands["r-2"] = owned
	wants("it has begun", "r-3")
	stands["r-3"] = owned
	wants("other paths are no reason to wait", "r-4")
	if b.remove("r-50"); len(b.of) != 95 {
		t.Errorf("%d runs wait", len(b.of))
	}
}

func TestHolderOf(t *testing.T) {
	t.Parallel()
	for note, want := range map[string]persistence.ID{
		"/p is locked by run fix-20261121T103405 of loop fix (pid 3, for 8ms)": "fix-20261121T103405",
		"run fix-20261121T103405, which is running, allows no other":           "fix-20261121T103405",
		"the database is locked": "",
	} {
		if got := holderOf(note); got != want {
			t.Errorf("%q names %q, want %q", note, got, want)
		}
	}
}
