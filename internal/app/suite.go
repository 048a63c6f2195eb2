package app

import (
	"cmp"
	"context"
	"slices"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/report"
	"loops/internal/view"
	"loops/persistence"
)

// Suite reads the events of a run for services. With a Reader, an error says that the recorded loop cannot be read.
func Suite(ctx context.Context, page *view.Page, f project.Finder, run persistence.Run,
	o *fsm.Outcome,
) (*report.Suite, report.Run, error) {
	face := report.Run{
		ID: string(run.ID), Loop: run.Loop, EndedBy: run.Ended,
		Reason: cmp.Or(inspect.Reason(run), run.Error), Begun: run.StartedAt, Took: inspect.Elapsed(run),
	}
	known, err := f.Project.Pricer()
	if err != nil {
		return nil, face, err
	}
	r, t := &report.Suite{}, inspect.NewAccount(known)
	face.Notes, err = ReadSteps(ctx, f.Store, run, t, r)
	if err != nil {
		return nil, face, err
	}
	graph, note, damage := GraphOfRun(ctx, f, run, t, inspect.ByVisits)
	face.Graph = graph
	if note != "" {
		face.Notes = append(face.Notes, note)
	}
	for _, fact := range ReportFacts(f.Project, f.Store, run, t.Costs.Total) {
		if !slices.Contains([]string{"Loop", "Run", "Error", "Reason"}, fact[0]) {
			face.Facts = append(face.Facts, fact)
		}
	}
	// the records of little-loops do not distinguish a signal from LOOP_STOP
	if o == nil && run.Ended != "" && !run.Foreign {
		// what cannot be read is damage, and the list says the most of it
		if m, _ := f.Store.Snapshot(ctx, run.ID); m != nil {
			o = m.Outcome
		}
	}
	if run.Resumable {
		face.Next = page.Remedy(engine.GoOnRemedy(ctx, f.Store, run))
	}
	SetEnding(&face, run, o, r.At())
	return r, face, damage
}
