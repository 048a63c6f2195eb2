package simulate

import (
	"cmp"
	"slices"

	"loops/fsm"
)

// An Ending is one way in which runs ended, and how many did.
type Ending struct {
	Outcome fsm.Outcome // of the first
	Seed    uint64      // of the first
	Runs    int
}

// A Tally counts how runs end.
type Tally struct {
	Runs         int
	Steps        int // of all runs
	Least, Most  int // steps of one
	endings      []*Ending
	endingByName map[string]*Ending
}

// Add counts one run.
func (t *Tally) Add(seed uint64, o fsm.Outcome) {
	if t.endingByName == nil {
		t.endingByName = make(map[string]*Ending)
	}
	if t.Runs == 0 || o.Steps < t.Least {
		t.Least = o.Steps
	}
	t.Most = max(t.Most, o.Steps)
	t.Runs++
	t.Steps += o.Steps
	key := o.TerminatedBy + "\x00" + o.FinalState
	e := t.endingByName[key]
	if e == nil {
		e = &Ending{Outcome: o, Seed: seed}
		t.endingByName[key] = e
		t.endings = append(t.endings, e)
	}
	e.Runs++
}

// Endings returns the ways in which the runs ended, the most frequent one first.
func (t *Tally) Endings() []*Ending {
	list := slices.Clone(t.endings)
	slices.SortStableFunc(list, func(a, b *Ending) int { return cmp.Compare(b.Runs, a.Runs) })
	return list
}

// MostRuns bounds how many runs one simulation makes.
const MostRuns = 1_000_000
