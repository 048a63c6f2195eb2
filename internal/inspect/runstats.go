package inspect

import (
	"cmp"
	"slices"
	"time"

	"loops/persistence"
)

// Stats is what is added up of the runs of a loop.
type Stats struct {
	Name                        string
	Runs, Open, Done, Succeeded int
	Ended                       map[string]int // by outcome
	Times                       []time.Duration
	Tally                       Tally
	Cost                        Cost
	Agents                      AgentCosts
}

// Add takes another run.
func (s *Stats) Add(r persistence.Run) {
	s.Runs++
	s.Ended[Outcome(r)]++
	switch r.Status {
	case persistence.Completed:
		s.Done++
		if !r.Unmerged() {
			s.Succeeded++
		}
	case persistence.Failed, persistence.TimedOut:
		s.Done++
	default: // it is running, can be resumed, or its record cannot be read
		s.Open++
		return
	}
	s.Times = append(s.Times, Elapsed(r))
}

// Outcomes returns how runs ended, the most frequent first.
func (s *Stats) Outcomes() []string {
	names := make([]string, 0, len(s.Ended))
	for name := range s.Ended {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(s.Ended[b]-s.Ended[a], cmp.Compare(a, b)) })
	return names
}
