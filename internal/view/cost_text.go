package view

import (
	"context"

	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/terminal"
	"loops/persistence"
)

// CostOfRun shows what a run used, state by state.
func (page *Page) CostOfRun(r persistence.Run, sheet *inspect.CostSheet, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(page.Out, RunCost(r, sheet))
	}
	terminal.Say(page.Out, "Run %s of %s: %s, %s\n\n", r.ID, r.Loop, inspect.Outcome(r), humanize.Duration(inspect.Elapsed(r)))
	return terminal.WriteCosts(page.Out, sheet, "STATE")
}

// RunCost returns what a run used, state by state.
func RunCost(r persistence.Run, sheet *inspect.CostSheet) api.RunCostByState {
	return api.RunCostByState{
		RunCost: runCost(r, &sheet.Total),
		States:  each(sheet.Order, func(name string) api.StateCost { return api.StateCost{State: name, Used: usedOf(sheet.Line(name))} }),
	}
}

func runCost(r persistence.Run, l *inspect.Cost) api.RunCost {
	return api.RunCost{Instance: string(r.ID), Used: usedOf(l), Loop: r.Loop, Status: api.Text(r.Status)}
}

// usedOf returns what was used. A cost that is not known is null; so is a sum with one in it, and known_cost_usd is
// the rest.
func usedOf(l *inspect.Cost) api.Used {
	return api.Used{
		Visits: l.Visits, Prompts: l.Prompts, Judges: l.Judges, Input: l.Input, Output: l.Output, CacheRead: l.CacheRead, CacheWrite: l.CacheWrite,
		Cost: knownCost(l), Known: terminal.MicroDollars(l.CostUSD), Unknown: l.Unknown, Duration: l.Time.Milliseconds(),
	}
}

// CostOfRuns shows what runs used, run by run, and what was wasted.
func (page *Page) CostOfRuns(ctx context.Context, f project.Finder, runs []persistence.Run, known project.Prices, what CostChoice, tell lookup.Tell) error {
	all := &inspect.CostSheet{Prices: known}
	var waste inspect.Cost
	var costs []api.RunCost
	bad := 0
	for _, r := range runs {
		sheet, err := lookup.CostSheet(ctx, f, r, known, tell)
		if err != nil {
			return err
		}
		if !sheet.Asked() {
			continue
		}
		costs = append(costs, runCost(r, &sheet.Total))
		name := string(r.ID) + " (" + inspect.Outcome(r) + ")"
		line := sheet.Total
		all.Line(name).Plus(line)
		all.Total.Plus(line)
		if inspect.Wasted(r) {
			bad++
			waste.Plus(line)
		}
	}
	what.Read()
	if what.JSON {
		return terminal.WriteJSON(page.Out, api.Costs{
			Runs: costs, Total: api.SumOfCosts{What: "all", Used: usedOf(&all.Total)}, Waste: api.SumOfCosts{What: "failed", Used: usedOf(&waste)},
		})
	}
	if len(costs) == 0 {
		of := "No run"
		if what.Loop != "" {
			of += " of " + what.Loop
		}
		terminal.Say(page.Out, "%s has asked an agent%s.\n", of, map[bool]string{true: " in that time"}[what.Since])
		return nil
	}
	if err := terminal.WriteCosts(page.Out, all, "RUN"); err != nil {
		return err
	}
	if bad > 0 {
		terminal.Say(page.Out, "\nWasted on %s that failed: %s", humanize.Count(bad, "run"), waste.Text())
		if all.Total.CostUSD > 0 {
			terminal.Say(page.Out, " (%.0f%%)", 100*waste.CostUSD/all.Total.CostUSD)
		}
		terminal.Say(page.Out, ", %s tokens, %s\n", humanize.Tokens(waste.Tokens()), humanize.Duration(waste.Time))
	}
	return nil
}

// A CostChoice says which runs were chosen whose costs are shown.
type CostChoice struct {
	Loop  string // of them; "" = all
	Since bool   // only those of some time
	JSON  bool   // they are shown as an object
	Read  func() // is called before anything is shown
}
