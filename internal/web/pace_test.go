package web

import (
	"strconv"
	"testing"
	"time"

	"loops/persistence"
)

// TestPacer: pages that are read as often as they may be take their share of a core, however many there are,
// and one alone is read soon.
func TestPacer(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		pages int
		took  time.Duration
		most  time.Duration // that a page is old
	}{
		{1, 8 * time.Millisecond, 400 * time.Millisecond},
		{3, 8 * time.Millisecond, 1200 * time.Millisecond},
		{10, 8 * time.Millisecond, 4 * time.Second},
		{10, time.Second, mostRest},
	} {
		var p pacer
		due := make([]time.Time, c.pages)
		for i := range due {
			due[i] = begin
		}
		spent, now := time.Duration(0), begin
		for now.Before(begin.Add(10 * time.Minute)) {
			first := 0
			for i := range due {
				if due[i].Before(due[first]) {
					first = i
				}
			}
			now = due[first]
			rest := p.rest(now, c.took)
			if rest > c.most {
				t.Fatalf("%d pages of %v: one waits %v", c.pages, c.took, rest)
			}
			spent += c.took
			due[first] = now.Add(rest)
		}
		if share := spent.Seconds() / now.Sub(begin).Seconds(); c.most < mostRest &&
			(share > 1.1*pageShare || share < 0.8*pageShare) {
			t.Errorf("%d pages of %v take %.4f of a core", c.pages, c.took, share)
		}
	}
}

// TestChroniclesAreKept: ten pages that are read in turn have their chronicles kept, and those of long runs are
// forgotten before there are too many.
func TestChroniclesAreKept(t *testing.T) {
	t.Parallel()
	var c chronicles
	of := func(i int) *chronicle {
		return c.of(Project{Name: "p"}, persistence.Run{ID: persistence.ID(strconv.Itoa(i))})
	}
	first := of(0)
	for i := range mostChronicles {
		of(i)
	}
	if of(0) != first {
		t.Error("the chronicle of an open page was forgotten")
	}
	of(mostChronicles + 1)
	if n := len(c.all); n != mostChronicles {
		t.Errorf("%d chronicles are kept", n)
	}
	for i := range 4 {
		of(i).size.Store(mostKept / 2)
	}
	of(mostChronicles + 2)
	kept := int64(0)
	for _, o := range c.all {
		kept += o.size.Load()
	}
	if kept > mostKept {
		t.Errorf("%d steps are kept", kept)
	}
}
