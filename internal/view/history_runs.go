package view

import (
	"cmp"
	"slices"
	"time"

	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// AddCost adds what was used to an object, in the words of loops cost.
func AddCost(m *value.Map, l *inspect.Cost) {
	cost := terminal.CostObject(l, "", "")
	for _, key := range []string{"cost_usd", "known_cost_usd", "unknown_costs"} {
		v, _ := cost.Get(key)
		m.Set(key, v)
	}
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
