package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"loops/internal/app"
	"loops/internal/inspect"
	"loops/internal/telemetry"
	"loops/internal/terminal"
	"loops/internal/view"
)

type statsOptions struct {
	name, since, until string
	limit              int
	json, memory       bool
	prometheus         bool
}

func newStatsCommand(a *program) *cobra.Command {
	var o statsOptions
	cmd := &cobra.Command{
		Use:   "stats [NAME]",
		Short: "Show success rates, durations and verdicts of a loop's runs",
		Long: `stats adds up the runs of a loop: how many of those that finished succeeded, how long they took, and for each state
how often it was visited, how long a visit took (the median, and what 95 of 100 stay below), how many of its actions
failed, and which verdicts it gave; what prompts and judges cost, and which agents they were, if there were several. States of sub-loops, branches and items are listed after the state that ran them:
fix > review, checks > lint > test.

An evaluator that has given five verdicts or more, and never anything but a good one, is named at the end: it may be one
that cannot say no. Time is that of the run itself: what passed between an interruption and its resumption is left out.

--memory shows for each fact of the loop's memory (loops memory) how many of the runs that began with it completed, and how many of those that
began without it. That is no proof: a fact is seen by the runs that came after it.

--prometheus prints the metrics of all runs on record, or of one loop, as Prometheus reads them: for the textfile collector of
its node exporter. Counters fall when runs are pruned; those of /metrics (loops serve) do not.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops stats fix
  loops stats fix --since 7d
  loops stats fix -n 100 --json
  loops stats fix --memory
  loops stats --prometheus > loops.prom`,
		Args: arguments(0, 1, "NAME of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = strings.Join(args, "")
			if o.prometheus && o.since+o.until == "" && o.limit == 0 && !o.memory && !o.json {
				return runStatsPrometheus(cmd.Context(), a, o.name)
			}
			if o.prometheus || o.name == "" {
				why := map[bool]string{
					true:  "--prometheus counts all runs on record; leave out the other flags",
					false: "missing argument: NAME of a loop",
				}
				return usageError{why[o.prometheus], "loops stats --help"}
			}
			if o.memory && (o.since+o.until != "" || o.limit != 0) {
				return usageError{"--memory adds up all runs that a memory knows; leave out --since, " +
					"--until and --limit", "loops stats --help"}
			}
			if o.memory {
				return a.statsOfMemory(cmd.Context(), o.name, o.json)
			}
			if o.limit < 0 {
				return usageError{fmt.Sprintf("--limit %d: expected 0 (all) or more", o.limit), "loops stats --help"}
			}
			return runStats(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flagLimit(flags, &o.limit, 0, "the newest `N` runs only, 0 = all")
	flags.StringVarP(&o.since, "since", "S", "", "only runs that were active after `WHEN`: an age (45s, 30m, 1h, "+
		"2d) or a date")
	flags.StringVar(&o.until, "until", "", "only runs that began before `WHEN`")
	flags.BoolVar(&o.memory, "memory", false, "show whether the facts of its memory help")
	flags.BoolVar(&o.prometheus, "prometheus", false, "print metrics of all runs as Prometheus reads them")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	return cmd
}

// runStatsPrometheus prints the metrics of the runs of a loop; "" = of all loops.
func runStatsPrometheus(ctx context.Context, a *program, loop string) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	ctx, read := a.reading(ctx)
	defer read()
	m, err := telemetry.MeterOf(ctx, p, loop)
	if err != nil {
		return err
	}
	read()
	return telemetry.Write(a.out, m)
}

func runStats(ctx context.Context, a *program, o statsOptions) error {
	period, err := app.NewPeriod(o.since, o.until, "stats")
	if err != nil {
		return err
	}
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	ctx, read := a.reading(ctx)
	defer read()
	known, err := p.Pricer()
	if err != nil {
		return err
	}
	s := &inspect.Stats{Name: o.name, Ended: map[string]int{}}
	sums := app.NewSummaries(f, a.damaged)
	defer sums.Close()
	for r, err := range app.EachOf(ctx, f, o.name, o.limit, period.Filter()) {
		if err != nil {
			return err
		}
		sum, err := sums.Of(ctx, r)
		if err != nil {
			return err
		}
		s.Tally.AddRun(s.Runs, sum)
		s.Add(r)
		s.Cost.Plus(sum.Cost(known))
		s.Agents.Plus(sum.Agents(known))
	}
	read()
	if o.json {
		return terminal.WriteJSON(a.out, view.Stats(s))
	}
	if s.Runs == 0 {
		terminal.Say(a.out, "No recorded runs of %s%s.\n", o.name,
			map[bool]string{true: " in that time"}[o.since+o.until != ""])
		return nil
	}
	return a.page().PrintStats(s)
}
