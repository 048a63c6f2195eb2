package check

import (
	"slices"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm/lint"
)

// AdviseCosts warns of the loops that run would refuse as things are here, because their budget is in dollars and what they
// cost is not known. Where the config or the prices have mistakes, which are reported, it does nothing.
func AdviseCosts(p *project.Project, files []File, o engine.Options) {
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
		if st, what := engine.UnknownCost(p, l, r, conf); st != nil {
			f.Problems = append(slices.Clip(f.Problems), lint.UnknownCost(st, what))
			slices.SortStableFunc(f.Problems, project.ByPlace)
		}
	}
}
