package lint

import (
	"path/filepath"
	"strings"

	"loops/internal/humanize"
)

// graphRules look at where runs can come to and whether they can end.
func (c *checker) graphRules() {
	g := c.g
	if g.initial < 0 {
		return
	}
	from := reach(g.next, append([]int{g.initial}, g.seeds...), nil, nil)
	anywhere := g.open
	for i, by := range from {
		anywhere = anywhere || by >= 0 && g.dynamic[i]
	}
	if anywhere {
		return
	}
	for i, by := range from {
		if by < 0 {
			c.warnf("unreachable", ofState(c.states[i]),
				"no run can come to the state %s; nothing that a run comes to names it",
				humanize.Quote(c.states[i].Name))
		}
	}
	c.wayOut(from)
	c.endlessRules(from)
	c.recursion()
}

// recursion warns of a loop that runs itself on every way to an end.
func (c *checker) recursion() {
	own := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(c.l.File), ".yaml"), ".yml")
	first := -1
	itself := make([]bool, len(c.states))
	for i, s := range c.states {
		if s.Loop != "" && s.Loop == own {
			itself[i] = true
			if first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return
	}
	for i, by := range reach(c.g.next, []int{c.g.initial}, func(i int) bool { return itself[i] }, nil) {
		if by >= 0 && c.states[i].Terminal {
			return
		}
	}
	at := ofState(c.states[first], "loop")
	c.warnf("recursion", at, "the loop %s runs itself on every path to a terminal state, so no run of it can end "+
		"well; lead the last one past %s", humanize.Quote(own), humanize.Quote(c.states[first].Name))
}

// wayOut looks for states no terminal can be reached from, and for a step cap that lets no run reach one. from is what
// reach says of the states a run comes to.
func (c *checker) wayOut(from []int) {
	g := c.g
	back := make([][]int, len(g.next))
	var ends []int
	for i, s := range c.states {
		if s.Terminal {
			ends = append(ends, i)
			continue // whatever it names, a run ends here
		}
		for _, j := range g.next[i] {
			back[j] = append(back[j], i)
		}
	}
	if len(ends) == 0 {
		return // the loader has said so
	}
	out := reach(back, ends, nil, nil)
	// A loop with a handler for its cap or its budget is meant to end there.
	if c.l.OnMaxSteps == "" && c.l.OnMaxIterations == "" && c.l.OnBudget == "" {
		c.trapped(from, out)
	}
	if out[g.initial] < 0 {
		return
	}
	// out is a breadth first search, so following it is a shortest way, from here to the end.
	way := path(out, g.initial)
	if steps := len(way) - 1; c.l.MaxSteps > 0 && steps > c.l.MaxSteps {
		end := c.states[way[0]]
		c.warnf("step-budget", valueAt("max_steps"), "a run may take %d steps, but the shortest way to a terminal "+
			"state, %s, takes %d, so no run can end well; raise max_steps", c.l.MaxSteps, humanize.Quote(end.Name),
			steps)
	}
}

// trapped reports the states that a run comes to and never leaves for a terminal one, together: they are one mistake.
func (c *checker) trapped(from, out []int) {
	var lost []string
	first := -1
	for i := range from {
		if from[i] < 0 || out[i] >= 0 {
			continue
		}
		if first < 0 {
			first = i
		}
		lost = append(lost, humanize.Quote(c.states[i].Name))
	}
	switch {
	case len(lost) == 1:
		c.warnf("no-way-out", ofState(c.states[first]),
			"no terminal state can be reached from %s, so a run that comes here goes round until a cap or a "+
				"failure ends it", lost[0])
	case len(lost) > 1:
		c.warnf("no-way-out", ofState(c.states[first]),
			"no terminal state can be reached from %s, so a run that comes to one of them goes round until a cap or "+
				"a failure ends it", listed(lost))
	}
}

// listed joins quoted words and cuts a long list short.
func listed(words []string) string {
	const most = 8
	if len(words) > most {
		words = append(words[:most:most], "more")
	}
	return humanize.And(words)
}

// shown draws a way, without the middle of a long one.
func (c *checker) shown(way []int) string {
	const most = 8
	names := make([]string, 0, most)
	for k, i := range way {
		switch {
		case len(way) <= most || k < most/2 || k >= len(way)-most/2+1:
			names = append(names, humanize.Clip(c.states[i].Name))
		case k == most/2:
			names = append(names, "…")
		}
	}
	return strings.Join(names, " → ")
}
