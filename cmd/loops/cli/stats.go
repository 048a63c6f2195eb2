package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/internal/ui"
)

type statsOptions struct {
	name, since, until string
	limit              int
	json               bool
}

func newStatsCommand(a *app) *cobra.Command {
	var o statsOptions
	cmd := &cobra.Command{
		Use:   "stats NAME",
		Short: "Show how often a loop succeeds, where its time goes, and what its evaluators say",
		Long: `stats adds up the runs of a loop: how many succeeded of those that ended for good, how long they took, and for each state
how often it was visited, how long a visit took (the median, and what 95 of 100 stay below), how many of its actions
failed, and which verdicts it gave. States of sub-loops stand behind the state that ran them: fix > review.

An evaluator that has given five verdicts or more, and never anything but a good one, is named at the end: it may be one
that cannot say no. Time is that of the run itself: what passed between an interruption and its resumption is left out.` +
			exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops stats fix
  loops stats fix --since 7d
  loops stats fix -n 100 --json`,
		Args: arguments(1, 1, "NAME of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if o.limit < 0 {
				return usageError{fmt.Sprintf("--tail %d: expected 0 (all) or more", o.limit), "loops stats --help"}
			}
			return runStats(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&o.limit, "tail", "n", 0, "the last `N` runs only, 0 = all")
	flags.StringVarP(&o.since, "since", "S", "", "only runs that went on after `WHEN`: an age (45s, 30m, 1h, 2d) or a date")
	flags.StringVar(&o.until, "until", "", "only runs that began before `WHEN`")
	flags.BoolVar(&o.json, "json", false, "print a JSON object")
	return cmd
}

func runStats(ctx context.Context, a *app, o statsOptions) error {
	period, err := newPeriod(o.since, o.until, "loops stats --help")
	if err != nil {
		return err
	}
	_, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	runs, err := a.runsOf(ctx, f, o.name, o.limit, period.holds)
	if err != nil {
		return err
	}
	s := &inspect.Stats{Name: o.name, Ended: map[string]int{}}
	for i, r := range runs {
		s.Add(r)
		visits := inspect.Reader{Done: func(v *inspect.Visit) { s.Tally.Add(i, v) }}
		if _, err := a.path(ctx, f, r, &visits); err != nil {
			return err
		}
	}
	if o.json {
		return ui.WriteJSON(a.out, statsObject(s))
	}
	if len(runs) == 0 {
		ui.Say(a.out, "No recorded runs of %s%s.\n", o.name, map[bool]string{true: " in that time"}[o.since+o.until != ""])
		return nil
	}
	return printStats(a, s)
}

func printStats(a *app, s *inspect.Stats) error {
	ui.Say(a.out, "%s of %s\n", phrase.Count(s.Runs, "run"), s.Name)
	if s.Done > 0 {
		p50, p95, longest := inspect.Percentiles(s.Times)
		ui.Say(a.out, "Success: %d of %d that ended for good (%s)\n", s.Succeeded, s.Done, share(s.Succeeded, s.Done))
		ui.Say(a.out, "Time of these: p50 %s, p95 %s, longest %s\n", phrase.Duration(p50), phrase.Duration(p95), phrase.Duration(longest))
	} else {
		ui.SayLine(a.out, "Success: none has ended for good")
	}
	var words []string
	for _, name := range s.Outcomes() {
		words = append(words, fmt.Sprintf("%s %d", name, s.Ended[name]))
	}
	ui.Say(a.out, "Outcomes: %s\n\n", strings.Join(words, ", "))
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	ui.Say(w, "STATE\tVISITS\tRUNS\tP50\tP95\tLONGEST\tFAILED\tVERDICTS\n")
	for _, st := range s.Tally.States() {
		p50, p95, longest := st.Times()
		ui.Say(w, "%s\t%d\t%d\t%s\t%s\t%s\t%d\t%s\n", st.Path, st.Visits, st.Runs, phrase.Duration(p50), phrase.Duration(p95), phrase.Duration(longest), st.Failed, verdictShares(st))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	head := ui.Block("\nEvaluators that never said no:\n")
	for _, st := range s.Tally.States() {
		if verdict, always := st.AlwaysYes(); always {
			ui.Say(a.out, "%s  %s (%s): %s, %d times out of %d\n", head, st.Path, st.Evaluator, verdict, st.Judged(), st.Judged())
			head = ""
		}
	}
	return nil
}

func verdictShares(st *inspect.StateTally) string {
	var words []string
	for _, name := range st.Names() {
		words = append(words, fmt.Sprintf("%s %d (%s)", phrase.Dash(plain.Line(name)), st.Verdicts[name], share(st.Verdicts[name], st.Judged())))
	}
	return phrase.Dash(strings.Join(words, ", "))
}

// share writes a part of a whole in percent. What is not all is not 100 %, and what is not nothing is not 0 %.
func share(n, of int) string {
	if of == 0 {
		return "-"
	}
	pct := (200*n + of) / (2 * of)
	switch {
	case pct == 100 && n < of:
		pct = 99
	case pct == 0 && n > 0:
		pct = 1
	}
	return fmt.Sprintf("%d%%", pct)
}

func statsObject(s *inspect.Stats) *value.Map {
	var rate any
	if s.Done > 0 {
		rate = float64(s.Succeeded) / float64(s.Done)
	}
	outcomes := value.NewMap()
	for _, name := range s.Outcomes() {
		outcomes.Set(name, int64(s.Ended[name]))
	}
	p50, p95, longest := inspect.Percentiles(s.Times)
	states := ui.List(s.Tally.States(), func(st *inspect.StateTally) any {
		verdicts := value.NewMap()
		for _, name := range st.Names() {
			verdicts.Set(name, int64(st.Verdicts[name]))
		}
		_, always := st.AlwaysYes()
		p50, p95, longest := st.Times()
		return value.NewMap("state", st.Path, "visits", int64(st.Visits), "runs", int64(st.Runs), "p50_ms", p50.Milliseconds(), "p95_ms", p95.Milliseconds(),
			"longest_ms", longest.Milliseconds(), "failed_actions", int64(st.Failed), "evaluator", ui.OrNull(st.Evaluator), "verdicts", verdicts, "never_said_no", always)
	})
	return value.NewMap("loop", s.Name, "runs", int64(s.Runs), "open", int64(s.Open), "ended", int64(s.Done), "succeeded", int64(s.Succeeded), "success_rate", rate,
		"outcomes", outcomes, "p50_ms", p50.Milliseconds(), "p95_ms", p95.Milliseconds(), "longest_ms", longest.Milliseconds(), "states", states)
}
