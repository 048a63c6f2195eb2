package view

import (
	"loops/internal/api"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// comparedRun returns a path.
func comparedRun(p *inspect.Path) api.ComparedRun {
	c := p.Costs.Total
	return api.ComparedRun{
		Instance: string(p.Run.ID), Loop: p.Run.Loop, Status: api.Text(p.Run.Status),
		TerminatedBy: api.Text(p.Run.Ended), State: p.Run.State, Steps: p.Run.Step,
		Duration: inspect.Elapsed(p.Run).Milliseconds(), SHA256: api.Text(p.Run.SHA256), Cost: knownCost(&c),
		Known: terminal.MicroDollars(c.CostUSD), Most: mostCost(&c), Unknown: c.Unknown,
	}
}

// comparedStep returns a step; nil where there is none.
func comparedStep(s *inspect.AlignedStep) *api.ComparedStep {
	if s == nil {
		return nil
	}
	o := &api.ComparedStep{
		Step: s.Number, State: s.Path, Verdict: api.Text(s.Verdict), To: api.Text(s.To),
		Duration: s.Took.Milliseconds(), First: uint64(s.First), Last: uint64(s.Last),
	}
	if s.Exited {
		o.Exit = &s.Exit
	}
	return o
}
