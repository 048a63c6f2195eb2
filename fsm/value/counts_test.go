package value

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// Counts are compared with a map, after random changes. Former values stay as they were.
func TestCounts(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	type state struct {
		c Counts
		m map[string]int
	}
	now := state{m: map[string]int{}}
	all := []state{now}
	for range 3000 {
		name := fmt.Sprintf("s%d", rng.IntN(200))
		now.m = maps.Clone(now.m)
		if n := rng.IntN(4); n == 0 {
			now.c = now.c.Without(name)
			delete(now.m, name)
		} else {
			now.c = now.c.With(name, n)
			now.m[name] = n
		}
		all = append(all, now)
	}
	for _, s := range all {
		if got := maps.Collect(s.c.All()); !maps.Equal(got, s.m) || s.c.Len() != len(s.m) {
			t.Fatalf("counts %v (%d), want %v", got, s.c.Len(), s.m)
		}
		var names []string
		for name, n := range s.c.All() {
			names = append(names, name)
			if s.c.Get(name) != n {
				t.Fatalf("%s: %d, listed as %d", name, s.c.Get(name), n)
			}
		}
		if !slices.IsSorted(names) {
			t.Fatalf("names are not sorted: %v", names)
		}
		if other := CountsOf(s.m); !reflect.DeepEqual(s.c, other) {
			t.Fatalf("%v is not equal to %v", s.c, other)
		}
	}
	for range 300 {
		a, b := all[rng.IntN(len(all))], all[rng.IntN(len(all))]
		got := maps.Clone(b.m)
		last := ""
		a.c.Changes(b.c, func(name string, n int, gone bool) {
			if name <= last {
				t.Fatalf("%s behind %s", name, last)
			}
			last = name
			if old, ok := b.m[name]; gone && !ok || !gone && ok && old == n {
				t.Fatalf("%s = %d did not change", name, n)
			}
			if got[name] = n; gone {
				delete(got, name)
			}
		})
		if !maps.Equal(got, a.m) {
			t.Fatalf("changes from %v to %v make %v", b.m, a.m, got)
		}
	}
}

// A change among a hundred thousand counts neither copies nor looks at most of them.
func TestChangeAmongManyCounts(t *testing.T) {
	t.Parallel()
	var c Counts
	for i := range 100_000 {
		c = c.With(fmt.Sprintf("s%d->s%d", i, i+1), 1)
	}
	for i := 0; i < 100_000; i += 977 {
		known := fmt.Sprintf("s%d->s%d", i, i+1)
		for _, next := range []Counts{c.With(known, 2), c.With(known+" again", 1), c.Without(known)} {
			changed := 0
			looked := changes(next.root, c.root, func(string, int, bool) { changed++ })
			if changed != 1 || looked > 200 {
				t.Fatalf("%s: %d changes, found in %d nodes", known, changed, looked)
			}
		}
		c = c.With(known, 3)
	}
}
