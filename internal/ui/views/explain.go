package views

import (
	"fmt"
	"strings"

	"loops/engine"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/ui"
)

// PrintExplanation writes what became of a run, or of one step of it, for a person.
func (page *Page) PrintExplanation(x *inspect.Story, step bool) {
	out, r := page.Out, x.Path.Run
	ui.Say(out, "Run %s of %s: %s, %s, %s\n", r.ID, r.Loop, inspect.OutcomeNow(r, x.Wait), humanize.Count(r.Step, "step"), humanize.Duration(inspect.Elapsed(r)))
	for _, p := range x.Parts {
		front := ""
		if p.Visit != nil {
			from, to := p.Visit.Span()
			took := humanize.Duration(p.Visit.Took())
			if apart := p.Visit.Apart(); apart != "" {
				took += ", " + apart
			}
			ui.Say(out, "\nStep %s, %s, %s (events %d to %d)\n", p.Visit.Number(), p.Visit.Path(), took, from, to)
			front = "  "
		}
		for _, s := range p.Said {
			ui.SayLine(out, front+humanize.PlainLine(s.Text)+brackets(s.Events))
			for line := range strings.Lines(s.Source) {
				ui.SayLine(out, front+strings.TrimSuffix(line, "\n"))
			}
		}
		if p.Visit != nil && len(p.Said) == 0 {
			ui.SayLine(out, front+"Nothing more is recorded.")
		}
	}
	if again := page.Remedy(engine.Again(r)); again != "" && !step {
		ui.Say(out, "\nAgain from there: %s\n", again)
	}
}

// brackets writes the numbers of events behind a sentence.
func brackets(events []uint64) string {
	if len(events) == 0 {
		return ""
	}
	return " " + strings.ReplaceAll(fmt.Sprint(events), " ", ", ")
}

// ExplanationObject is the same for a program.
func ExplanationObject(x *inspect.Story) *value.Map {
	r := x.Path.Run
	sentences := func(said []inspect.Sentence) any {
		return ui.List(said, func(s inspect.Sentence) any {
			return value.NewMap("text", s.Text, "events", ui.List(s.Events, func(n uint64) any { return int64(n) }))
		})
	}
	m := value.NewMap("instance_id", string(r.ID), "loop", r.Loop, "status", ui.OrNull(string(r.Status)), "terminated_by", ui.OrNull(r.Ended), "reason", ui.OrNull(inspect.Reason(r)), "ignored_failures", ui.OrNull(r.Ignored), "merge", ui.OrNull(r.Merge))
	ui.AddOrigin(m, r)
	ui.AddDamage(m, r)
	var run any = []any{}
	steps := []any{}
	for _, p := range x.Parts {
		if p.Visit == nil {
			run = sentences(p.Said)
			continue
		}
		from, to := p.Visit.Span()
		steps = append(steps, value.NewMap("step", int64(p.Visit.Step), "number", p.Visit.Number(), "state", p.Visit.Path(), "verdict", ui.OrNull(p.Visit.Verdict()), "to", ui.OrNull(p.Visit.To()),
			"duration_ms", p.Visit.Took().Milliseconds(), "attempts", int64(p.Visit.Attempts), "waited_ms", p.Visit.Waited.Milliseconds(),
			"paused_ms", p.Visit.Paused.Milliseconds(), "interrupted_ms", p.Visit.Gap.Milliseconds(), "first_event", int64(from), "last_event", int64(to), "sentences", sentences(p.Said)))
	}
	m.Set("run", run)
	m.Set("steps", steps)
	return m
}
