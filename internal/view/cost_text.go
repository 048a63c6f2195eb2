package view

import (
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// CostOfRun shows what a run used, state by state.
func (page *Page) CostOfRun(r persistence.Run, sheet *inspect.CostSheet) error {
	terminal.Say(page.Out, "Run %s of %s: %s, %s\n\n", r.ID, r.Loop, inspect.Outcome(r),
		humanize.Duration(inspect.Elapsed(r)))
	if err := terminal.WriteCosts(page.Out, sheet, "STATE"); err != nil {
		return err
	}
	return terminal.WriteAgents(page.Out, sheet.Agents)
}

// A RunUse is what a run used.
type RunUse struct {
	Run  persistence.Run
	Cost inspect.Cost
}

// RunCost returns what a run used, state by state.
func RunCost(r persistence.Run, sheet *inspect.CostSheet) api.RunCostByState {
	return api.RunCostByState{
		RunCost: runCost(r, &sheet.Total),
		Agents:  agents(sheet.Agents),
		States: each(sheet.Order, func(name string) api.StateCost {
			return api.StateCost{State: name, Used: usedOf(sheet.Line(name))}
		}),
	}
}

// agents returns what each agent used.
func agents(a inspect.AgentCosts) []api.AgentUsed {
	return each(a.All(), func(c inspect.AgentCost) api.AgentUsed {
		return api.AgentUsed{Host: api.Text(c.Host), Model: api.Text(c.Model), Used: usedOf(&c.Cost)}
	})
}

func runCost(r persistence.Run, l *inspect.Cost) api.RunCost {
	return api.RunCost{Instance: string(r.ID), Used: usedOf(l), Loop: r.Loop, Status: api.Text(r.Status)}
}

// usedOf returns what was used. A cost that is not known is null; so is a sum with one in it, and known_cost_usd is
// the rest.
func usedOf(l *inspect.Cost) api.Used {
	return api.Used{
		Visits: l.Visits, Prompts: l.Prompts, Judges: l.Judges, Input: l.Input, Output: l.Output,
		CacheRead: l.CacheRead, CacheWrite: l.CacheWrite,
		Cost: knownCost(l), Known: terminal.MicroDollars(l.CostUSD), Most: mostCost(l), Unknown: l.Unknown,
		Duration: l.Time.Milliseconds(),
	}
}

// Costs returns what runs used, run by run, and what was wasted.
func Costs(used []RunUse) api.Costs {
	all, waste, _ := sums(used)
	return api.Costs{
		Runs:  each(used, func(u RunUse) api.RunCost { return runCost(u.Run, &u.Cost) }),
		Total: api.SumOfCosts{What: "all", Used: usedOf(&all)},
		Waste: api.SumOfCosts{What: "failed", Used: usedOf(&waste)},
	}
}

// sums adds up what runs used, and what those used that failed, which it counts.
func sums(used []RunUse) (all, waste inspect.Cost, failed int) {
	for _, u := range used {
		all.Plus(u.Cost)
		if inspect.Wasted(u.Run) {
			failed++
			waste.Plus(u.Cost)
		}
	}
	return all, waste, failed
}

// CostOfRuns shows the same to a user. loop says whose runs they are, "" = all; since whether they are of some
// time only.
func (page *Page) CostOfRuns(used []RunUse, loop string, since bool) error {
	if len(used) == 0 {
		of := "No run"
		if loop != "" {
			of += " of " + loop
		}
		terminal.Say(page.Out, "%s has asked an agent%s.\n", of, map[bool]string{true: " in that time"}[since])
		return nil
	}
	sheet := &inspect.CostSheet{}
	for _, u := range used {
		sheet.Line(string(u.Run.ID) + " (" + inspect.Outcome(u.Run) + ")").Plus(u.Cost)
	}
	all, waste, failed := sums(used)
	sheet.Total = all
	if err := terminal.WriteCosts(page.Out, sheet, "RUN"); err != nil {
		return err
	}
	if failed > 0 {
		terminal.Say(page.Out, "\nWasted on %s that failed: %s", humanize.Count(failed, "run"), waste.Text())
		if all.CostUSD > 0 {
			terminal.Say(page.Out, " (%.0f%%)", 100*waste.CostUSD/all.CostUSD)
		}
		terminal.Say(page.Out, ", %s tokens, %s\n", waste.TokenText(waste.Tokens()), humanize.Duration(waste.Time))
	}
	return nil
}
