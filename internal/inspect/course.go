package inspect

import (
	"time"

	"loops/fsm"
)

// A Course is the path of a run through the states of its own loop. What a sub-loop did counts for the state
// that ran it. The zero Course has not begun.
type Course struct {
	Order []string // the states, as the run came to them
	Taken []Edge   // as they were first taken

	visits  map[string]int
	spent   map[string]time.Duration // in visits that are over
	edges   map[[2]string]int        // of Taken
	current string
	open    *Visit
	resumed bool // just now
}

// An Edge is that a run went from a state to another, and how often.
type Edge struct {
	From, To string
	Times    int
}

// Add takes the next event, and the visit it belongs to as [Reader.Add] returns it.
func (c *Course) Add(e fsm.Event, v *Visit) {
	if e.Depth > 0 {
		return
	}
	switch e.Kind {
	case fsm.EventLoopResume:
		c.resumed = true
	case fsm.EventStateEnter:
		if v != c.open {
			c.leave()
			if !c.resumed || v.State != c.current { // else its end reported the state already
				c.enter(v.State)
			}
			c.open = v
		}
		c.resumed = false
	case fsm.EventLoopComplete:
		// No event says that a terminal state was entered.
		if name := str(e, "final_state"); name != "" && name != c.current {
			c.leave()
			c.enter(name)
		}
	}
}

// leave adds up the time of the visit that is over.
func (c *Course) leave() {
	if c.open != nil {
		c.spent[c.open.State] += c.open.Took()
		c.open = nil
	}
}

func (c *Course) enter(name string) {
	if c.visits == nil {
		c.visits, c.spent, c.edges = map[string]int{}, map[string]time.Duration{}, map[[2]string]int{}
	}
	if c.visits[name]++; c.visits[name] == 1 {
		c.Order = append(c.Order, name)
	}
	if c.current != "" {
		edge := [2]string{c.current, name}
		k, ok := c.edges[edge]
		if !ok {
			k = len(c.Taken)
			c.edges[edge] = k
			c.Taken = append(c.Taken, Edge{From: c.current, To: name})
		}
		c.Taken[k].Times++
	}
	c.current = name
}

// Current is the state the run is in, "" before the first.
func (c *Course) Current() string { return c.current }

// Visits is how often the run came to a state.
func (c *Course) Visits(state string) int { return c.visits[state] }

// Time is how long the run was in a state, by its own clock: see [Visit.Took].
func (c *Course) Time(state string) time.Duration {
	spent := c.spent[state]
	if c.open != nil && c.open.State == state {
		spent += c.open.Took()
	}
	return spent
}
