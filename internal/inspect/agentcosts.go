package inspect

import (
	"cmp"
	"slices"

	"loops/fsm"
)

// An AgentCost is what one agent used with one model.
type AgentCost struct {
	Host, Model string // "" = it is not on record
	Cost
}

// AgentCosts adds up what agents used. The zero AgentCosts is empty.
type AgentCosts struct{ by map[[2]string]*Cost }

func (a *AgentCosts) add(host, model string, c Cost) {
	if !c.Asked() {
		return
	}
	if a.by == nil {
		a.by = map[[2]string]*Cost{}
	}
	key := [2]string{host, model}
	if a.by[key] == nil {
		a.by[key] = &Cost{}
	}
	a.by[key].Plus(c)
}

// Plus adds what other agents, or the same ones, used.
func (a *AgentCosts) Plus(b AgentCosts) {
	for key, c := range b.by {
		a.add(key[0], key[1], *c)
	}
}

// All returns them, those that were asked most first.
func (a *AgentCosts) All() []AgentCost {
	all := make([]AgentCost, 0, len(a.by))
	for key, c := range a.by {
		all = append(all, AgentCost{key[0], key[1], *c})
	}
	slices.SortFunc(all, func(x, y AgentCost) int {
		return cmp.Or(y.Prompts+y.Judges-x.Prompts-x.Judges, cmp.Compare(x.Host, y.Host), cmp.Compare(x.Model, y.Model))
	})
	return all
}

// Agents returns what each agent used. prices is as that of [Summary.Cost].
func (s *Summary) Agents(prices func(model string, u fsm.Usage) (float64, bool)) (a AgentCosts) {
	for _, u := range s.uses {
		a.add(u.host, u.model, u.cost(prices))
	}
	return a
}

// SpentCost returns what the memory of a run says that its prompts and judges cost. alive says that the run
// continues: then those that are in flight are left out, else they are lost, and what they cost is not known.
func SpentCost(m *fsm.Snapshot, alive bool) Cost {
	s, lost := m.Spent, m.Lost
	if !alive {
		lost = lost.Plus(m.Outstanding)
	}
	unsure := s.Unsure.Plus(lost)
	return Cost{
		// of old records Unpriced alone is known
		Prompts: s.Prompts + lost.Count, CostUSD: s.CostUSD, Unknown: max(s.Unpriced, s.Unsure.Count) + lost.Count,
		Bounded: unsure.Bounded, UnknownUSD: unsure.USD,
		Input: s.Usage.Input, Output: s.Usage.Output, CacheRead: s.Usage.CacheRead, CacheWrite: s.Usage.CacheWrite,
	}
}
