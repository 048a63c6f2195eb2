package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/persistence"
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
	s := &stats{name: o.name, ended: map[string]int{}}
	for i, r := range runs {
		s.run(r)
		visits := inspect.Reader{Done: func(v *inspect.Visit) { s.tally.Add(i, v) }}
		if _, err := a.path(ctx, f, r, &visits); err != nil {
			return err
		}
	}
	if o.json {
		return writeJSON(a.out, s.object())
	}
	if len(runs) == 0 {
		say(a.out, "No recorded runs of %s%s.\n", o.name, map[bool]string{true: " in that time"}[o.since+o.until != ""])
		return nil
	}
	return s.print(a)
}

// stats is what is added up of the runs of a loop.
type stats struct {
	name                        string
	runs, open, done, succeeded int
	ended                       map[string]int // by outcome
	times                       []time.Duration
	tally                       inspect.Tally
}

// outcome is how a run ended, in a word or two: its status, and what ended it where that says more.
func outcome(r persistence.Run) string {
	word := statusWord(r)
	if r.Ended != "" && r.Ended != fsm.EndTerminal && r.Ended != word {
		word += " (" + r.Ended + ")"
	}
	return word
}

func (s *stats) run(r persistence.Run) {
	s.runs++
	s.ended[outcome(r)]++
	switch r.Status {
	case persistence.Completed:
		s.done++
		s.succeeded++
	case persistence.Failed, persistence.TimedOut:
		s.done++
	default: // it goes on, can be gone on with, or its record cannot be read
		s.open++
		return
	}
	s.times = append(s.times, elapsed(r))
}

func (s *stats) outcomes() []string {
	names := make([]string, 0, len(s.ended))
	for name := range s.ended {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(s.ended[b]-s.ended[a], cmp.Compare(a, b)) })
	return names
}

func (s *stats) print(a *app) error {
	say(a.out, "%s of %s\n", phrase.Count(s.runs, "run"), s.name)
	if s.done > 0 {
		p50, p95, longest := inspect.Percentiles(s.times)
		say(a.out, "Success: %d of %d that ended for good (%s)\n", s.succeeded, s.done, share(s.succeeded, s.done))
		say(a.out, "Time of these: p50 %s, p95 %s, longest %s\n", phrase.Duration(p50), phrase.Duration(p95), phrase.Duration(longest))
	} else {
		sayLine(a.out, "Success: none has ended for good")
	}
	var words []string
	for _, name := range s.outcomes() {
		words = append(words, fmt.Sprintf("%s %d", name, s.ended[name]))
	}
	say(a.out, "Outcomes: %s\n\n", strings.Join(words, ", "))
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	say(w, "STATE\tVISITS\tRUNS\tP50\tP95\tLONGEST\tFAILED\tVERDICTS\n")
	for _, st := range s.tally.States() {
		p50, p95, longest := st.Times()
		say(w, "%s\t%d\t%d\t%s\t%s\t%s\t%d\t%s\n", st.Path, st.Visits, st.Runs, phrase.Duration(p50), phrase.Duration(p95), phrase.Duration(longest), st.Failed, verdictShares(st))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	head := block("\nEvaluators that never said no:\n")
	for _, st := range s.tally.States() {
		if verdict, always := st.AlwaysYes(); always {
			say(a.out, "%s  %s (%s): %s, %d times out of %d\n", head, st.Path, st.Evaluator, verdict, st.Judged(), st.Judged())
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

func (s *stats) object() *value.Map {
	var rate any
	if s.done > 0 {
		rate = float64(s.succeeded) / float64(s.done)
	}
	outcomes := value.NewMap()
	for _, name := range s.outcomes() {
		outcomes.Set(name, int64(s.ended[name]))
	}
	p50, p95, longest := inspect.Percentiles(s.times)
	states := list(s.tally.States(), func(st *inspect.StateTally) any {
		verdicts := value.NewMap()
		for _, name := range st.Names() {
			verdicts.Set(name, int64(st.Verdicts[name]))
		}
		_, always := st.AlwaysYes()
		p50, p95, longest := st.Times()
		return value.NewMap("state", st.Path, "visits", int64(st.Visits), "runs", int64(st.Runs), "p50_ms", p50.Milliseconds(), "p95_ms", p95.Milliseconds(),
			"longest_ms", longest.Milliseconds(), "failed_actions", int64(st.Failed), "evaluator", orNull(st.Evaluator), "verdicts", verdicts, "never_said_no", always)
	})
	return value.NewMap("loop", s.name, "runs", int64(s.runs), "open", int64(s.open), "ended", int64(s.done), "succeeded", int64(s.succeeded), "success_rate", rate,
		"outcomes", outcomes, "p50_ms", p50.Milliseconds(), "p95_ms", p95.Milliseconds(), "longest_ms", longest.Milliseconds(), "states", states)
}
