package worker

import (
	"slices"
	"sync"
	"time"

	"loops/persistence"
)

// keepSpells is how long it is known that a worker had a run.
const keepSpells = 2 * time.Hour

// Carried knows which runs a worker has and had, and when. The zero Carried knows of none. Its methods may be called by
// several goroutines at once.
type Carried struct {
	mu     sync.Mutex
	spells map[persistence.ID][]spell // guarded by mu
}

// A spell is a time in which the worker has a run.
type spell struct{ from, to time.Time } // to zero = it has it

// note takes that the worker has a run now, or left it.
func (c *Carried) note(id persistence.ID, has bool, now time.Time) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spells == nil {
		c.spells = map[persistence.ID][]spell{}
	}
	all := c.spells[id]
	switch {
	case has:
		c.spells[id] = append(all, spell{from: now})
	case len(all) > 0:
		all[len(all)-1].to = now
	}
	for other, all := range c.spells {
		all = slices.DeleteFunc(all, func(s spell) bool { return !s.to.IsZero() && now.Sub(s.to) > keepSpells })
		if c.spells[other] = all; len(all) == 0 {
			delete(c.spells, other)
		}
	}
}

// Has reports whether the worker has a run, or had it within the last two hours.
func (c *Carried) Has(run persistence.Run) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.spells[run.ID]) > 0
}

// At reports whether the worker had a run at a time, by the clock of this machine.
func (c *Carried) At(id persistence.ID, t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.spells[id], func(s spell) bool {
		return !t.Before(s.from.Truncate(time.Millisecond)) && (s.to.IsZero() || !t.After(s.to))
	})
}
