package view

import (
	"context"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/terminal"
	"loops/persistence"
)

// CostOfRun shows what a run used, state by state.
func (page *Page) CostOfRun(r persistence.Run, sheet *inspect.CostSheet, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(page.Out, RunCostObject(r, sheet))
	}
	terminal.Say(page.Out, "Run %s of %s: %s, %s\n\n", r.ID, r.Loop, inspect.Outcome(r), humanize.Duration(inspect.Elapsed(r)))
	return terminal.WriteCosts(page.Out, sheet, "STATE")
}

// RunCostObject is what a run used, state by state, as an object.
func RunCostObject(r persistence.Run, sheet *inspect.CostSheet) *value.Map {
	m := terminal.CostObject(&sheet.Total, "instance_id", string(r.ID))
	m.Set("loop", r.Loop)
	m.Set("status", terminal.OrNull(string(r.Status)))
	m.Set("states", terminal.List(sheet.Order, func(name string) any { return terminal.CostObject(sheet.Line(name), "state", name) }))
	return m
}

// CostOfRuns shows what runs used, run by run, and what was wasted.
func (page *Page) CostOfRuns(ctx context.Context, f project.Finder, runs []persistence.Run, known project.Prices, what CostChoice, tell lookup.Tell) error {
	all := &inspect.CostSheet{Prices: known}
	var waste inspect.Cost
	var objects []any
	n, bad := 0, 0
	for _, r := range runs {
		sheet, err := lookup.CostSheet(ctx, f, r, known, tell)
		if err != nil {
			return err
		}
		if !sheet.Asked() {
			continue
		}
		n++
		if objects = append(objects, terminal.CostObject(&sheet.Total, "instance_id", string(r.ID))); what.JSON {
			m, _ := objects[n-1].(*value.Map)
			m.Set("loop", r.Loop)
			m.Set("status", terminal.OrNull(string(r.Status)))
		}
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
		m := value.NewMap("runs", append([]any{}, objects...), "total", terminal.CostObject(&all.Total, "what", "all"), "waste", terminal.CostObject(&waste, "what", "failed"))
		return terminal.WriteJSON(page.Out, m)
	}
	if n == 0 {
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
