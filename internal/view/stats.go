package view

import (
	"fmt"
	"strings"

	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
)

// VerdictShares is how often each verdict was given in a state.
func VerdictShares(st *inspect.StateTally) string {
	var words []string
	for _, name := range st.Names() {
		words = append(words, fmt.Sprintf("%s %d (%s)", humanize.Dash(humanize.PlainLine(name)), st.Verdicts[name],
			SharePercent(st.Verdicts[name], st.Judged())))
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

// Stats returns what runs did, added up.
func Stats(s *inspect.Stats) api.Stats {
	p50, p95, longest := inspect.Percentiles(s.Times)
	o := api.Stats{
		Loop: s.Name, Runs: s.Runs, Open: s.Open, Ended: s.Done, Succeeded: s.Succeeded, P50: p50.Milliseconds(),
		P95:     p95.Milliseconds(),
		Longest: longest.Milliseconds(), Used: usedOf(&s.Cost), Agents: agents(s.Agents),
		States: each(s.Tally.States(), stateStats), Outcomes: counts(s.Outcomes(), s.Ended),
	}
	if s.Done > 0 {
		o.Rate = new(float64(s.Succeeded) / float64(s.Done))
	}
	return o
}

func stateStats(st *inspect.StateTally) api.StateStats {
	_, always := st.AlwaysYes()
	p50, p95, longest := st.Times()
	return api.StateStats{
		State: st.Path, Visits: st.Visits, Runs: st.Runs, P50: p50.Milliseconds(), P95: p95.Milliseconds(),
		Longest: longest.Milliseconds(), Failed: st.Failed,
		Evaluator: api.Text(st.Evaluator), Verdicts: counts(st.Names(), st.Verdicts), Never: always,
	}
}

// counts returns numbers by name in an order.
func counts(names []string, of map[string]int) api.Pairs[int] {
	return each(names, func(name string) api.Pair[int] { return api.Pair[int]{Key: name, Value: of[name]} })
}
