package lint

import "loops/internal/humanize"

// A gathered problem is one that many states often have for the same reason: it is reported once, at the first
// place, with the names of the other states.
type gathered struct {
	rule   string
	at     spot
	format string
	args   []any
	states []string // all of them
}

// gather notes a warning. What is the same has the same id within its rule.
func (c *checker) gather(rule, id, state string, at spot, format string, args ...any) {
	id = rule + "\x00" + id
	have := c.gathered[id]
	if have == nil {
		have = &gathered{rule: rule, at: at, format: format, args: args}
		c.gathered[id] = have
		c.order = append(c.order, have)
	}
	if n := len(have.states); n == 0 || have.states[n-1] != state {
		have.states = append(have.states, state)
	}
}

// reportGathered reports what was noted.
func (c *checker) reportGathered() {
	for _, w := range c.order {
		also := ""
		if rest := w.states[1:]; len(rest) > 0 {
			also = " (also in " + humanize.List(rest) + ")"
		}
		c.warnf(w.rule, w.at, w.format+"%s", append(w.args, also)...)
	}
}
