package persistence

import (
	"fmt"
	"slices"
)

// A Durability says when what a run records can no longer be lost with the power. The death of the process
// loses nothing of a run in files in any of them: Record has handed all of it to the system when it returns. A
// database is handed the decisions of 40 ms together where they are Grouped or None, and so loses those;
// checkpoints and results it has at once.
type Durability int

const (
	// Strict is the default: what Record took at a checkpoint (before an action, before a wait, at the end),
	// and whatever carries an action's result, is durable when Record returns. Decisions in between are durable
	// with the next of these, or about 50 ms later, in every store.
	Strict Durability = iota
	// Grouped saves syncs: what carries an action's result, and the end of the run, is durable when Record
	// returns. All else, decisions and that an action was started, is durable about 50 ms later. So after the
	// loss of power at most the decisions of 50 ms are made again, and an action that had just been started
	// then is started as if it never was. A database makes every checkpoint durable here too: it costs the one
	// commit that a checkpoint is in any case.
	Grouped
	// None makes nothing durable. It is for tests, and for runs that no user needs after a loss of power.
	None
)

// durabilities are the names, in the order of the constants.
var durabilities = []string{"strict", "grouped", "none"}

// ParseDurability reads strict, grouped or none.
func ParseDurability(name string) (Durability, error) {
	if i := slices.Index(durabilities, name); i >= 0 {
		return Durability(i), nil
	}
	return Strict, fmt.Errorf("durability %q: expected strict, grouped or none", name)
}

// String returns strict, grouped or none.
func (d Durability) String() string {
	if d < 0 || int(d) >= len(durabilities) {
		return fmt.Sprintf("Durability(%d)", int(d))
	}
	return durabilities[d]
}
