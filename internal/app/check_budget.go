package app

import (
	"slices"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm/lint"
)

// adviseCosts warns of the loops whose cost is limited and not known as things are here: run refuses those with
// a budget in dollars, and the cost_ceiling of a state counts nothing. Where the config or the prices have
// mistakes, which are reported, it does nothing.
func adviseCosts(p *project.Project, files []CheckedFile, o engine.Options) {
	conf, wrong := p.Declared()
	known, err := p.Pricer()
	if len(wrong) > 0 || err != nil {
		return
	}
	r := &action.Runner{Dir: p.Dir, Env: engine.ActionEnv(p, o), Prices: known}
	engine.ConfigureAgents(p, r, project.Agents{}, conf)
	for i := range files {
		f := &files[i]
		if f.Loop == nil {
			continue
		}
		l, _ := (project.Overrides{Config: conf}).Apply(f.Loop)
		st, what := engine.UnknownCost(p, l, r, conf)
		if st == nil {
			st, what = engine.UncountedCeiling(p, l, r)
		}
		if st != nil {
			f.Problems = append(slices.Clip(f.Problems), lint.UnknownCost(st, what))
			slices.SortStableFunc(f.Problems, project.ByPlace)
		}
	}
}
