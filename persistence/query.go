package persistence

import "slices"

// A Query selects runs. The zero Query is all of them.
type Query struct {
	ID    ID     // of one run, which is found without looking at others
	Loop  string // exact name of the loop
	Live  bool   // only those with files among the running ones
	Last  bool   // of each loop, only the newest run
	Limit int    // at most so many of these; 0 = all
	Skip  int    // of these, so many of the newest are left out before others are counted; for a query without Live, Last and LiveToo

	LiveToo  bool // beyond Limit, all that Live would select
	Open     bool // of all these, only those that have not ended for good; see [Run.Open]
	Readings bool // each run comes with its Reading, which takes memory
}

// Cut returns, of all runs that match otherwise, the newest first, the last of each loop where Last says so; of those behind
// Skip as many as Limit says, and behind them the running ones where LiveToo says so; and of these the open ones, where Open says so. Stores use it. It
// changes runs.
func (q Query) Cut(runs []Run) []Run {
	if q.Last {
		seen := make(map[string]bool)
		runs = slices.DeleteFunc(runs, func(r Run) bool {
			again := seen[r.Loop]
			seen[r.Loop] = true
			return again
		})
	}
	runs = runs[min(q.Skip, len(runs)):]
	wanted := runs
	if q.Limit > 0 && len(runs) > q.Limit {
		wanted = runs[:q.Limit]
		for _, r := range runs[q.Limit:] {
			if q.LiveToo && r.Live() {
				wanted = append(wanted, r)
			}
		}
	}
	if q.Open {
		wanted = slices.DeleteFunc(wanted, func(r Run) bool { return !r.Open() })
	}
	return wanted
}

// Open reports whether a run has not ended for good: it has files among the running ones, is held, or can be resumed.
func (r Run) Open() bool { return r.Live() || r.Held || r.Resumable }
