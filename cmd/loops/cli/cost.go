package cli

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/phrase"
	"loops/internal/price"
	"loops/internal/ui"
	"loops/persistence"
)

type costOptions struct {
	name, since, prices string
	json                bool
}

func newCostCommand(a *app) *cobra.Command {
	var o costOptions
	cmd := &cobra.Command{
		Use:   "cost [NAME|RUN]",
		Short: "Show what prompts and judges cost",
		Long: `cost adds up what prompts and judges used: of one run state by state, of a loop or of all loops run by run. Runs that ended
badly have a line of their own, because what they cost was wasted.

What a prompt cost is what its host said, else what its tokens cost by the table of prices: .loops/prices.yaml over the
built-in one, or FILE over both. Costs that were recorded stay as they are. Where nobody knows the price the cost is
"unknown", and a sum with such a cost in it says ">": at least. What a prompt used that was killed is not known.

A table of prices is YAML, in USD for a million tokens:

  date: 2026-11-01
  models:
    my-model: {input: 1.5, output: 6, cache_read: 0.15}` +
			exitCodes(exitOK, exitFailed, exitUsage, exitInvalid, exitNotFound, exitRecord),
		Example: `  loops cost fix
  loops cost fix-20261121T103405
  loops cost --since 7d --prices prices.yaml`,
		Args: arguments(0, 1, "NAME of a loop, or a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.name = args[0]
			}
			return runCost(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.since, "since", "S", "", "only runs that went on in the last `AGE`: 45s, 30m, 1h, 7d")
	flags.StringVar(&o.prices, "prices", "", "`FILE` with a table of prices, over the others")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	return cmd
}

func runCost(ctx context.Context, a *app, o costOptions) error {
	var after time.Time
	if o.since != "" {
		age, err := lookup.ParseAge(o.since)
		if err != nil {
			return err
		}
		after = time.Now().Add(-age)
	}
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	table, err := p.ReadPrices("")
	if err != nil {
		return err
	}
	if o.prices != "" {
		file := o.prices
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.Cwd, file)
		}
		over, err := p.ReadPrices(file)
		if err != nil {
			return err
		}
		table = over.Over(table)
	}
	known := func(model string, u fsm.Usage) (float64, bool) {
		return table.Cost(model, price.Usage(u), time.Now())
	}
	f := store.Finder()
	var runs []persistence.Run
	if o.name == "" {
		runs, err = store.Runs(ctx, persistence.Query{})
		runs = project.Current(runs)
	} else {
		runs, err = f.Runs(ctx, o.name, 0)
	}
	if err != nil {
		return store.Failed(err)
	}
	if len(runs) == 0 && o.name != "" {
		if _, err := p.Resolve(o.name); err != nil {
			return lookup.NoSuchRun(ctx, f, o.name)
		}
	}
	if len(runs) == 1 && project.IsNamed(runs[0], o.name) {
		return a.costOfRun(ctx, f, runs[0], known, o.json)
	}
	var chosen []persistence.Run
	for _, r := range runs {
		if after.IsZero() || r.StartedAt.After(after) || r.UpdatedAt.After(after) {
			chosen = append(chosen, r)
		}
	}
	return a.costOfRuns(ctx, f, chosen, known, o)
}

func (a *app) costOfRun(ctx context.Context, f project.Finder, r persistence.Run, known project.Prices, asJSON bool) error {
	sheet, err := lookup.CostSheet(ctx, f, r, known, a.damaged)
	if err != nil {
		return err
	}
	if asJSON {
		m := ui.CostObject(&sheet.Total, "instance_id", string(r.ID))
		m.Set("loop", r.Loop)
		m.Set("status", ui.OrNull(string(r.Status)))
		m.Set("states", ui.List(sheet.Order, func(name string) any { return ui.CostObject(sheet.Line(name), "state", name) }))
		return ui.WriteJSON(a.out, m)
	}
	ui.Say(a.out, "Run %s of %s: %s, %s\n\n", r.ID, r.Loop, inspect.StatusWord(r), phrase.Duration(inspect.Elapsed(r)))
	return ui.WriteCosts(a.out, sheet, "STATE")
}

func (a *app) costOfRuns(ctx context.Context, f project.Finder, runs []persistence.Run, known project.Prices, o costOptions) error {
	all := &inspect.CostSheet{Prices: known}
	var waste inspect.Cost
	var objects []any
	n, bad := 0, 0
	for _, r := range runs {
		sheet, err := lookup.CostSheet(ctx, f, r, known, a.damaged)
		if err != nil {
			return err
		}
		if !sheet.Asked() {
			continue
		}
		n++
		if objects = append(objects, ui.CostObject(&sheet.Total, "instance_id", string(r.ID))); o.json {
			m, _ := objects[n-1].(*value.Map)
			m.Set("loop", r.Loop)
			m.Set("status", ui.OrNull(string(r.Status)))
		}
		name := string(r.ID) + " (" + inspect.StatusWord(r) + ")"
		line := sheet.Total
		all.Line(name).Plus(line)
		all.Total.Plus(line)
		if inspect.Wasted(r) {
			bad++
			waste.Plus(line)
		}
	}
	if o.json {
		m := value.NewMap("runs", append([]any{}, objects...), "total", ui.CostObject(&all.Total, "what", "all"), "waste", ui.CostObject(&waste, "what", "failed"))
		return ui.WriteJSON(a.out, m)
	}
	if n == 0 {
		of := "No run"
		if o.name != "" {
			of += " of " + o.name
		}
		ui.Say(a.out, "%s has asked an agent%s.\n", of, map[bool]string{true: " in that time"}[o.since != ""])
		return nil
	}
	if err := ui.WriteCosts(a.out, all, "RUN"); err != nil {
		return err
	}
	if bad > 0 {
		ui.Say(a.out, "\nWasted on %s that failed: %s", phrase.Count(bad, "run"), waste.Text())
		if all.Total.CostUSD > 0 {
			ui.Say(a.out, " (%.0f%%)", 100*waste.CostUSD/all.Total.CostUSD)
		}
		ui.Say(a.out, ", %s of tokens, %s\n", phrase.Tokens(waste.Tokens()), phrase.Duration(waste.Time))
	}
	return nil
}
