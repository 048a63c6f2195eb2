package view

import (
	"fmt"
	"strings"

	"loops/engine"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// PrintExplanation writes what became of a run, or of one step of it, for a person.
func (page *Page) PrintExplanation(x *inspect.Story, step bool) {
	out, r := page.Out, x.Path.Run
	terminal.Say(out, "Run %s of %s: %s, %s, %s\n", r.ID, r.Loop, inspect.OutcomeNow(r, x.Wait), humanize.Count(r.Step, "step"), humanize.Duration(inspect.Elapsed(r)))
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
		return terminal.List(said, func(s inspect.Sentence) any {
			return value.NewMap("text", s.Text, "events", terminal.List(s.Events, func(n uint64) any { return int64(n) }))
		})
	}
	m := value.NewMap("instance_id", string(r.ID), "loop", r.Loop, "status", terminal.OrNull(string(r.Status)), "terminated_by", terminal.OrNull(r.Ended), "reason", terminal.OrNull(inspect.Reason(r)), "ignored_failures", terminal.OrNull(r.Ignored), "merge", terminal.OrNull(r.Merge))
	terminal.AddOrigin(m, r)
	terminal.AddDamage(m, r)
	var run any = []any{}
	steps := []any{}
	for _, p := range x.Parts {
		if p.Visit == nil {
			run = sentences(p.Said)
			continue
		}
		from, to := p.Visit.Span()
		steps = append(steps, value.NewMap("step", int64(p.Visit.Step), "number", p.Visit.Number(), "state", p.Visit.Path(), "verdict", terminal.OrNull(p.Visit.Verdict()), "to", terminal.OrNull(p.Visit.To()),
			"duration_ms", p.Visit.Took().Milliseconds(), "attempts", int64(p.Visit.Attempts), "waited_ms", p.Visit.Waited.Milliseconds(),
			"paused_ms", p.Visit.Paused.Milliseconds(), "interrupted_ms", p.Visit.Gap.Milliseconds(), "first_event", int64(from), "last_event", int64(to), "sentences", sentences(p.Said)))
	}
	m.Set("run", run)
	m.Set("steps", steps)
	return m
}
