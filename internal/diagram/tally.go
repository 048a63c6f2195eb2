package diagram

import (
	"time"

	"loops/fsm"
)

// A Tally counts what a run did in each state of its loop, from its events in their order. What a sub-loop did counts for
// the state that ran it. The zero Tally has counted nothing.
type Tally struct {
	Order []string // the states, as the run came to them
	Taken []Step   // the ways, as they were first taken

	visits  map[string]int
	spent   map[string]time.Duration
	ways    map[[2]string]int // of Taken
	current string
	last    time.Time
	resumed bool
}

// Add counts the next event.
func (t *Tally) Add(e fsm.Event) {
	if !e.Time.IsZero() {
		if gap := e.Time.Sub(t.last); t.current != "" && e.Kind != "loop_resume" && !t.last.IsZero() && gap > 0 {
			t.spent[t.current] += gap
		}
		t.last = e.Time
	}
	if e.Depth > 0 {
		return
	}
	switch e.Kind {
	case "loop_resume":
		t.resumed = true
	case "state_enter":
		name, _ := e.Get("state").(string)
		again, _ := e.Get("resumed").(bool)
		if again || t.resumed && name == t.current {
			t.current = name
			t.seen(name)
		} else {
			t.enter(name)
		}
		t.resumed = false
	case "loop_complete":
		// No event says that a terminal state was entered.
		if name, _ := e.Get("final_state").(string); name != "" && name != t.current {
			t.enter(name)
		}
	}
}

func (t *Tally) seen(name string) {
	if t.visits == nil {
		t.visits, t.spent, t.ways = map[string]int{}, map[string]time.Duration{}, map[[2]string]int{}
	}
	if _, ok := t.visits[name]; !ok {
		t.visits[name] = 0
		t.Order = append(t.Order, name)
	}
}

func (t *Tally) enter(name string) {
	t.seen(name)
	t.visits[name]++
	if t.current != "" {
		way := [2]string{t.current, name}
		k, ok := t.ways[way]
		if !ok {
			k = len(t.Taken)
			t.ways[way] = k
			t.Taken = append(t.Taken, Step{From: t.current, To: name})
		}
		t.Taken[k].Times++
	}
	t.current = name
}

// Current is the state the run is in, "" before the first.
func (t *Tally) Current() string { return t.current }

// Visits is how often the run came to a state.
func (t *Tally) Visits(state string) int { return t.visits[state] }

// Time is how long the run was in a state, without the time in which it did not go on.
func (t *Tally) Time(state string) time.Duration { return t.spent[state] }
