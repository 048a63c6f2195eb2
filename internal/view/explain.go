package view

import (
	"fmt"
	"strings"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// PrintExplanation writes the result of a run, or of one step of it, for a person.
func (page *Page) PrintExplanation(x *inspect.Story, step bool) {
	out, r := page.Out, x.Path.Run
	terminal.Say(out, "Run %s of %s: %s, %s, %s\n", r.ID, r.Loop, inspect.OutcomeNow(r, x.Wait),
		humanize.Count(r.Step, "step"), humanize.Duration(inspect.Elapsed(r)))
	for _, p := range x.Parts {
		front := ""
		if p.Visit != nil {
			from, to := p.Visit.Span()
			took := humanize.Duration(p.Visit.Took())
			if apart := p.Visit.Apart(); apart != "" {
				took += ", " + apart
			}
			terminal.Say(out, "\nStep %s, %s, %s (events %d to %d)\n", p.Visit.Number(), p.Visit.Path(), took, from, to)
			front = "  "
		}
		for _, s := range p.Said {
			terminal.SayLine(out, front+humanize.PlainLine(s.Text)+brackets(s.Events))
			for line := range strings.Lines(s.Source) {
				terminal.SayLine(out, front+strings.TrimSuffix(line, "\n"))
			}
		}
		if p.Visit != nil && len(p.Said) == 0 {
			terminal.SayLine(out, front+"Nothing more is recorded.")
		}
	}
	if again := page.Remedy(engine.Again(r)); again != "" && !step {
		terminal.Say(out, "\nAgain from there: %s\n", again)
	}
}

// brackets writes the numbers of events after a sentence.
func brackets(events []uint64) string {
	if len(events) == 0 {
		return ""
	}
	return " " + strings.ReplaceAll(fmt.Sprint(events), " ", ", ")
}

// Explanation returns the result of a run, or of one step of it.
func Explanation(x *inspect.Story) api.Explanation {
	r := x.Path.Run
	sentences := func(said []inspect.Sentence) []api.Sentence {
		return each(said, func(s inspect.Sentence) api.Sentence { return api.Sentence{Text: s.Text, Events: s.Events} })
	}
	e := api.Explanation{
		Instance: string(r.ID), Loop: r.Loop, Status: api.Text(r.Status), TerminatedBy: api.Text(r.Ended),
		Ending: EndingOf(r), RunOrigin: OriginOf(r), Damage: r.Damage,
	}
	for _, p := range x.Parts {
		v := p.Visit
		if v == nil {
			e.Run = sentences(p.Said)
			continue
		}
		from, to := v.Span()
		e.Steps = append(e.Steps, api.ExplainedStep{
			Step: v.Step, Number: v.Number(), State: v.Path(), Verdict: api.Text(v.Verdict()), To: api.Text(v.To()),
			Duration: v.Took().Milliseconds(), Attempts: v.Attempts,
			Waited: v.Waited.Milliseconds(), Paused: v.Paused.Milliseconds(), Interrupted: v.Gap.Milliseconds(),
			First: from, Last: to, Sentences: sentences(p.Said),
		})
	}
	return e
}
