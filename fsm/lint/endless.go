package lint

import (
	"fmt"
	"slices"
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
)

// endlessRules look for what repeats without an end of its own, and for limits that end nothing. from is what
// reach says of the states a run comes to.
func (c *checker) endlessRules(from []int) {
	c.budgetReach()
	if c.l.Maintain {
		return // its rounds are meant to have no end
	}
	next := c.withSelf(from)
	c.livelock(from, next)
	c.noBudget(from, next)
	c.retryForever(next)
}

// withSelf returns the edges among the states that a run comes to, with those that lead from a state to itself.
func (c *checker) withSelf(from []int) [][]int {
	next := make([][]int, len(c.states))
	for i, s := range c.states {
		if from[i] < 0 || s.Terminal {
			continue
		}
		next[i] = slices.Clone(c.g.next[i])
		if s.MaxRetries == 0 && namesItself(s) {
			next[i] = append(next[i], i)
		} else if s.MaxRetries > 0 { // an end of its own
			next[i] = slices.DeleteFunc(next[i], func(j int) bool { return j == i })
		}
	}
	return next
}

func namesItself(s *fsm.State) bool {
	return slices.Contains(everyTarget(s), fsm.Current)
}

// idles reports whether a visit to a state does nothing that takes time: it sets, evaluates or follows next.
func idles(s *fsm.State) bool {
	return !s.Terminal && s.Action == "" && s.Loop == "" && s.Await == nil && s.Branches == nil && s.Each == nil
}

// livelock warns of cycles in which nothing is done. Each is reported once, at its first state.
func (c *checker) livelock(from []int, next [][]int) {
	idle := make([][]int, len(next))
	for i, s := range c.states {
		if idles(s) {
			idle[i] = slices.DeleteFunc(slices.Clone(next[i]), func(j int) bool { return !idles(c.states[j]) })
		}
	}
	seen, tries := make([]bool, len(idle)), 0
	for i, s := range c.states {
		if seen[i] || len(idle[i]) == 0 {
			continue
		}
		if tries++; tries > maxCycles {
			return
		}
		way, ahead := cycleOf(idle, i)
		if way == nil {
			continue
		}
		for j := range seen {
			seen[j] = seen[j] || ahead[j] >= 0 // what is only reached from a cycle is no mistake of its own
		}
		what := "only sets, evaluates or follows next, and leads back to itself"
		if len(way) > 1 {
			what = "leads back to itself through states that only set, evaluate or follow next (" +
				c.shown(append(way, way[0])) + ")"
		}
		c.warnf("livelock", ofState(s), "the state %s %s; unless a verdict leads out, %s", humanize.Quote(s.Name),
			what, c.endOf(len(way), len(path(from, i))))
	}
}

// maxCycles is how many states are looked at for the cycles they are in, so that a long file takes no longer
// than others in proportion.
const maxCycles = 200

// cycleOf returns the shortest cycle through a state, which begins with it, and what can be reached from it as
// reach says. The cycle is nil if there is none.
func cycleOf(next [][]int, i int) (way, ahead []int) {
	ahead = reach(next, next[i], nil, nil)
	if ahead[i] < 0 {
		return nil, ahead
	}
	way = path(ahead, i) // it ends with the state
	return append([]int{i}, way[:len(way)-1]...), ahead
}

// endOf says which cap ends a cycle of so many states, and after how many steps. entered is how many states a
// run enters until it is in it.
func (c *checker) endOf(length, entered int) string {
	limit, steps := "max_steps", c.l.MaxSteps
	if n := entered + length*c.l.MaxEdgeRevisits; c.l.MaxEdgeRevisits > 0 && (steps <= 0 || n < steps) {
		limit, steps = fmt.Sprintf("max_edge_revisits (%d)", c.l.MaxEdgeRevisits), n
	}
	if b := c.l.Budget; b != nil && b.Steps > 0 && (steps <= 0 || b.Steps < steps) {
		limit, steps = "budget.steps", b.Steps
	}
	if steps <= 0 {
		return "nothing ends it"
	}
	return fmt.Sprintf("only %s ends it, after %s", limit, humanize.Count(steps, "step"))
}

// noBudget reports once the prompts that lead back to themselves while no budget limits what they use.
func (c *checker) noBudget(from []int, next [][]int) {
	if limits(c.l.Budget) {
		return
	}
	var names []string
	var first *fsm.State
	var end string
	tries := 0
	for i, s := range c.states {
		if from[i] < 0 || s.Terminal || limits(s.Budget) || !prompts(s) {
			continue
		}
		if tries++; tries > maxCycles {
			break
		}
		way, _ := cycleOf(next, i)
		if way == nil {
			continue
		}
		if first == nil {
			first, end = s, c.endOf(len(way), len(path(from, i)))
		}
		names = append(names, humanize.Quote(s.Name))
	}
	if first == nil {
		return
	}
	what := "the prompt of " + names[0] + " leads"
	if len(names) > 1 {
		what = "the prompts of " + listed(names) + " lead"
	}
	c.warnf("no-budget", ofState(first), "%s back to %s, and no budget limits what that uses: %s; add budget: with "+
		"prompts, tokens or cost_usd",
		what, map[bool]string{true: "themselves", false: "itself"}[len(names) > 1], end)
}

// prompts reports whether a state sends a prompt to an agent, by itself or in one of its branches.
func prompts(s *fsm.State) bool {
	if s.Branches == nil {
		return isPrompt(s)
	}
	return slices.ContainsFunc(s.Branches.List, func(b *fsm.Branch) bool { return b.State != nil && isPrompt(b.State) })
}

// limits reports whether a budget limits anything.
func limits(b *fsm.Budget) bool {
	return b != nil && (b.CostUSD > 0 || b.Tokens > 0 || b.Prompts > 0 || b.Wall > 0 || b.Steps > 0)
}

// retryForever warns of states that lead their own errors back to themselves.
func (c *checker) retryForever(next [][]int) {
	for i, s := range c.states {
		if next[i] == nil || s.MaxRetries > 0 {
			continue
		}
		slots := []string{s.On["error"]}
		if s.Route != nil {
			slots = []string{tableTarget(s.Route, "error"), s.Route.Error}
		}
		for _, to := range slots {
			if to == fsm.Current || to == s.Name {
				c.warnf("retry-forever", ofState(s), "%s leads its errors back to itself, so one that stays, such "+
					"as a login that has expired, is repeated: %s; add max_retries and on_retry_exhausted, or retry",
					humanize.Quote(s.Name), c.endOf(1, 1))
				break
			}
		}
	}
}

// budgetReach warns of limits of a budget that another limit of the loop always comes before.
func (c *checker) budgetReach() {
	b := c.l.Budget
	if b == nil {
		return
	}
	inside := slices.ContainsFunc(c.states, func(s *fsm.State) bool { // its steps count, too
		return s.Loop != "" || s.Branches != nil && slices.ContainsFunc(s.Branches.List, func(b *fsm.Branch) bool {
			return b.State != nil && b.State.Loop != ""
		})
	})
	var late []string
	if b.Steps > 0 && c.l.MaxSteps > 0 && b.Steps >= c.l.MaxSteps && !inside {
		late = append(late, fmt.Sprintf("budget.steps (%d) is never reached: max_steps (%d) ends the run before",
			b.Steps, c.l.MaxSteps))
	}
	if b.Wall > 0 && c.l.Timeout > 0 && b.Wall >= c.l.Timeout {
		late = append(late, fmt.Sprintf("budget.wall (%s) is never reached: timeout (%s) ends the run before",
			humanize.Duration(b.Wall), humanize.Duration(c.l.Timeout)))
	}
	if len(late) > 0 {
		c.warnf("budget-unreachable", valueAt("budget"), "%s, and on_budget is not taken; make the budget smaller, "+
			"or the other limit larger", strings.Join(late, "; "))
	}
}
