package app

import (
	"context"
	"fmt"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/report"
	"loops/internal/terminal"
	"loops/persistence"
)

// ReadSteps hands the events of a run to a form of report, with what each step cost, and returns what is damaged.
func ReadSteps(ctx context.Context, store *project.Records, run persistence.Run, t *inspect.Account, into interface {
	Add(e fsm.Event, v *inspect.Visit) *report.Step
},
) (notes []string, err error) {
	const mostNotes = 20
	var (
		last    *report.Step
		spent   inspect.Cost // of last
		damaged int
	)
	for e, err := range store.EventsOf(ctx, run, 0) {
		if project.IsDamage(err) {
			if damaged++; damaged <= mostNotes {
				notes = append(notes, err.Error()+"; what happened there is not shown")
			}
			continue
		}
		if err != nil {
			return nil, store.Failed(err)
		}
		cost, visit := t.Take(e)
		step := into.Add(e, visit)
		if step != last {
			last, spent = step, inspect.Cost{}
		}
		if cost.Prompts+cost.Judges > 0 && step != nil {
			spent.Plus(cost)
			step.Cost = spent.Text()
		}
	}
	if damaged > mostNotes {
		notes = append(notes, fmt.Sprintf("… and %d more damaged places", damaged-mostNotes))
	}
	return notes, nil
}

// ReportFacts is what a report says about a run as a whole.
func ReportFacts(p *project.Project, store *project.Records, r persistence.Run, total inspect.Cost) [][2]string {
	var facts [][2]string
	add := func(key, value string) {
		if value != "" {
			facts = append(facts, [2]string{key, value})
		}
	}
	add("Status", inspect.Outcome(r))
	add("Reason", inspect.Reason(r))
	if r.Reason == "" {
		add("Error", inspect.HonestError(r))
	}
	add("Ended by", r.Ended)
	add("Loop", r.Loop)
	add("Run", string(r.ID))
	add("Fork of", terminal.ForkedText(r.Origin))
	add("State", r.State)
	add("Step", inspect.StepText(r))
	if !r.StartedAt.IsZero() {
		add("Started", r.StartedAt.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if !r.UpdatedAt.IsZero() {
		add("Updated", r.UpdatedAt.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	add("Elapsed", humanize.Duration(inspect.Elapsed(r)))
	if total.Prompts+total.Judges > 0 {
		add("Cost", fmt.Sprintf("%s, %s tokens, %s and %s", total.Text(), total.TokenText(total.Tokens()),
			humanize.Count(total.Prompts, "prompt"), humanize.Count(total.Judges, "judge")))
	}
	add("Recorded in", store.Name)
	if r.Foreign {
		add("Written by", "little-loops")
	}
	return facts
}
