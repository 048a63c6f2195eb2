package view

import (
	"cmp"
	"slices"
	"time"

	"loops/internal/api"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// askedCost returns what was used, in the words of loops cost; nothing for nil.
func askedCost(l *inspect.Cost) (c api.AskedCost) {
	if l == nil {
		return c
	}
	known, cost := terminal.MicroDollars(l.CostUSD), knownCost(l)
	return api.AskedCost{Cost: &cost, Known: &known, Unknown: &l.Unknown, Most: mostCost(l)}
}

// mostCost returns what was paid at most where a part is not known; nil = that is not known, or all is.
func mostCost(l *inspect.Cost) *float64 {
	if most, known := l.Most(); known && l.Unknown > 0 {
		return new(terminal.MicroDollars(most))
	}
	return nil
}

// knownCost returns a cost; nil = a part is not known.
func knownCost(l *inspect.Cost) *float64 {
	if l.Unknown > 0 {
		return nil
	}
	return new(terminal.MicroDollars(l.CostUSD))
}

// A Group is the runs that ended in one way.
type Group struct {
	Outcome string
	Runs    []persistence.Run // newest first
	All     int               // of all groups
}

// Groups puts runs together by how they ended, the most frequent first.
func Groups(runs []persistence.Run) []Group {
	by := map[string]*Group{}
	for _, r := range runs {
		name := inspect.Outcome(r)
		if by[name] == nil {
			by[name] = &Group{Outcome: name, All: len(runs)}
		}
		by[name].Runs = append(by[name].Runs, r)
	}
	var all []Group
	for _, g := range by {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(len(b.Runs)-len(a.Runs), cmp.Compare(a.Outcome, b.Outcome))
	})
	return all
}

// Times are the median, the 95th percentile and the longest of how long the runs took.
func (g Group) Times() (p50, p95, longest time.Duration) {
	times := make([]time.Duration, len(g.Runs))
	for i, r := range g.Runs {
		times[i] = inspect.Elapsed(r)
	}
	return inspect.Percentiles(times)
}
