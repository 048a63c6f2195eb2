package view

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// PrintStats shows what the runs of a loop add up to.
func (page *Page) PrintStats(s *inspect.Stats) error {
	terminal.Say(page.Out, "%s of %s\n", humanize.Count(s.Runs, "run"), s.Name)
	if s.Done > 0 {
		p50, p95, longest := inspect.Percentiles(s.Times)
		terminal.Say(page.Out, "Success: %d of %d that finished (%s)\n", s.Succeeded, s.Done,
			SharePercent(s.Succeeded, s.Done))
		terminal.Say(page.Out, "Duration: p50 %s, p95 %s, longest %s\n", humanize.Duration(p50),
			humanize.Duration(p95), humanize.Duration(longest))
	} else {
		terminal.SayLine(page.Out, "Success: none has finished")
	}
	var words []string
	for _, name := range s.Outcomes() {
		words = append(words, fmt.Sprintf("%s %d", name, s.Ended[name]))
	}
	terminal.Say(page.Out, "Outcomes: %s\n", strings.Join(words, ", "))
	if c := &s.Cost; c.Asked() {
		terminal.Say(page.Out, "Cost: %s, %s tokens, %s\n", c.Text(), c.TokenText(c.Tokens()),
			humanize.Count(c.Prompts+c.Judges, "prompt"))
	}
	if err := terminal.WriteAgents(page.Out, s.Agents); err != nil {
		return err
	}
	terminal.SayLine(page.Out, "")
	w := tabwriter.NewWriter(page.Out, 0, 4, 2, ' ', 0)
	terminal.Say(w, "STATE\tVISITS\tRUNS\tP50\tP95\tLONGEST\tFAILED\tVERDICTS\n")
	for _, st := range s.Tally.States() {
		p50, p95, longest := st.Times()
		terminal.Say(w, "%s\t%d\t%d\t%s\t%s\t%s\t%d\t%s\n", st.Path, st.Visits, st.Runs, humanize.Duration(p50),
			humanize.Duration(p95), humanize.Duration(longest), st.Failed, VerdictShares(st))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	head := terminal.Block("\nEvaluators that never said no:\n")
	for _, st := range s.Tally.States() {
		if verdict, always := st.AlwaysYes(); always {
			terminal.Say(page.Out, "%s  %s (%s): %s, %d times out of %d\n", head, st.Path, st.Evaluator, verdict,
				st.Judged(), st.Judged())
			head = ""
		}
	}
	return nil
}
