package engine

import (
	"slices"
	"time"

	"loops/fsm/value"
	"loops/persistence"
)

// A Policy says which runs are kept. Runs that a live process owns, that can be resumed or that cannot be read are kept
// in any case, and count among the newest of their loop.
type Policy struct {
	KeepLast  int           // so many newest runs of each loop stay; 0 = none
	OlderThan time.Duration // those that were last recorded longer ago go; 0 = age says nothing
	MaxSize   int64         // bytes that all runs together may take: the oldest go until they do; negative = any
}

// A RunEntry is what is known of a run that may be removed: of twenty thousand, no more is held.
type RunEntry struct {
	ID                   persistence.ID
	Loop                 string
	Status               persistence.Status
	StartedAt, UpdatedAt time.Time
	Bytes                int64      // see persistence.Store.Sizes
	options              *value.Map // of a run with a work tree
}

// An AgedRun is one that is recorded.
type AgedRun struct {
	RunEntry
	Live      bool // a process owns it, or may
	Resumable bool
}

// A Choice says which runs go.
type Choice struct {
	Go    []AgedRun // the oldest first
	Stay  int
	Bytes int64 // that those take that stay
	Kept  Kept
}

// Kept counts the runs that stay even if the policy says otherwise of age and size, each for the first reason
// that holds.
type Kept struct {
	Live, Resumable, Newest int
	Unreadable              int // it is not known whether it could be resumed
}

// Choose applies a policy. Without OlderThan and MaxSize all that KeepLast does not keep go. With both, those
// that are too old go, and then more, the oldest first, until the rest is small enough or only such are left
// that are kept.
func (p Policy) Choose(runs []AgedRun, now time.Time) Choice {
	runs = slices.Clone(runs)                                                                       // which are small
	slices.SortStableFunc(runs, func(a, b AgedRun) int { return b.StartedAt.Compare(a.StartedAt) }) // the newest first
	var c Choice
	var may []AgedRun
	nth := make(map[string]int)
	for _, r := range runs {
		nth[r.Loop]++
		c.Bytes += r.Bytes
		switch {
		case r.Live || r.Status == persistence.Queued:
			c.Kept.Live++
		case r.Resumable || r.Status == persistence.Running:
			c.Kept.Resumable++
		case r.Status == "":
			c.Kept.Unreadable++
		case nth[r.Loop] <= p.KeepLast:
			c.Kept.Newest++
		default:
			may = append(may, r)
		}
	}
	slices.Reverse(may)
	all := p.OlderThan == 0 && p.MaxSize < 0
	var young []AgedRun
	for _, r := range may {
		if all || p.OlderThan > 0 && now.Sub(r.UpdatedAt) > p.OlderThan {
			c.take(r)
		} else {
			young = append(young, r)
		}
	}
	for _, r := range young {
		if p.MaxSize >= 0 && c.Bytes > p.MaxSize {
			c.take(r)
		}
	}
	slices.SortStableFunc(c.Go, func(a, b AgedRun) int { return a.StartedAt.Compare(b.StartedAt) })
	c.Stay = len(runs) - len(c.Go)
	return c
}

func (c *Choice) take(r AgedRun) {
	c.Go = append(c.Go, r)
	c.Bytes -= r.Bytes
}
