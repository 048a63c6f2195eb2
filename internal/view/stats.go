package view

import (
	"fmt"
	"strings"

	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// VerdictShares is how often each verdict was given in a state.
func VerdictShares(st *inspect.StateTally) string {
	var words []string
	for _, name := range st.Names() {
		words = append(words, fmt.Sprintf("%s %d (%s)", humanize.Dash(humanize.PlainLine(name)), st.Verdicts[name], SharePercent(st.Verdicts[name], st.Judged())))
	}
	return humanize.Dash(strings.Join(words, ", "))
}

// SharePercent writes a part of a whole in percent. What is not all is not 100 %, and what is not nothing is not 0 %.
func SharePercent(n, of int) string {
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

// StatsObject is what runs did, added up, for a program.
func StatsObject(s *inspect.Stats) *value.Map {
	var rate any
	if s.Done > 0 {
		rate = float64(s.Succeeded) / float64(s.Done)
	}
	outcomes := value.NewMap()
	for _, name := range s.Outcomes() {
		outcomes.Set(name, int64(s.Ended[name]))
	}
	p50, p95, longest := inspect.Percentiles(s.Times)
	states := terminal.List(s.Tally.States(), func(st *inspect.StateTally) any {
		verdicts := value.NewMap()
		for _, name := range st.Names() {
			verdicts.Set(name, int64(st.Verdicts[name]))
		}
		_, always := st.AlwaysYes()
		p50, p95, longest := st.Times()
		return value.NewMap("state", st.Path, "visits", int64(st.Visits), "runs", int64(st.Runs), "p50_ms", p50.Milliseconds(), "p95_ms", p95.Milliseconds(),
			"longest_ms", longest.Milliseconds(), "failed_actions", int64(st.Failed), "evaluator", terminal.OrNull(st.Evaluator), "verdicts", verdicts, "never_said_no", always)
	})
	return value.NewMap("loop", s.Name, "runs", int64(s.Runs), "open", int64(s.Open), "ended", int64(s.Done), "succeeded", int64(s.Succeeded), "success_rate", rate,
		"outcomes", outcomes, "p50_ms", p50.Milliseconds(), "p95_ms", p95.Milliseconds(), "longest_ms", longest.Milliseconds(), "states", states)
}
