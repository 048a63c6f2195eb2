package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/internal/app"
	"loops/internal/terminal"
)

type costOptions struct {
	name, since, prices string
	json                bool
}

func newCostCommand(a *program) *cobra.Command {
	var o costOptions
	cmd := &cobra.Command{
		Use:   "cost [NAME|RUN]",
		Short: "Show what prompts and judges cost",
		Long: `cost adds up what prompts and judges used: of one run state by state, of a loop or of all loops run by run.
Runs that ended badly have a line of their own, because what they cost was wasted.

What a prompt cost is what its host said, else what its tokens cost by the table of prices: .loops/prices.yaml over the
built-in one, or FILE over both. Costs that were recorded stay as they are. Where the price is not known the cost is
"unknown", and a sum that includes it has a ">": at least. What a killed prompt used, or one that was cut off, is not known;
where a budget limits cost_usd and the agent ends a prompt above that (claude), "≤" is what it cost at most, but for its last answer.

A table of prices is YAML, in USD for a million tokens:

  date: 2026-11-01
  models:
    my-model: {input: 1.5, output: 6, cache_read: 0.15}` +
			exitHelp(exitOK, exitFailed, exitUsage, exitInvalid, exitNotFound, exitRecord),
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
	flags.StringVarP(&o.since, "since", "S", "", "only runs that were active after `WHEN`: an age (45s, 30m, 1h, "+
		"7d) or a date")
	flags.StringVar(&o.prices, "prices", "", "`FILE` with a table of prices, over the others")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	return cmd
}

func runCost(ctx context.Context, a *program, o costOptions) error {
	return a.ask(func(s *app.Service) error {
		ctx, read := a.reading(ctx)
		defer read()
		c, err := s.Costs(ctx, o.name, o.since, o.prices)
		if read(); err != nil {
			return err
		}
		switch {
		case o.json:
			return terminal.WriteJSON(a.out, c.Object())
		case c.Run != nil:
			return a.page().CostOfRun(*c.Run, c.Sheet)
		}
		return a.page().CostOfRuns(c.Used, o.name, o.since != "")
	})
}
