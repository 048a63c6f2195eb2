package cli

import (
	"slices"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm/lint"
)

// adviseCosts warns of the loops that run would refuse as things are here, because their budget is in dollars and what they
// cost cannot be told. Where the config or the prices have mistakes, which are told, nobody knows.
func (a *app) adviseCosts(p *project.Project, files []checked) {
	conf, wrong := p.Declared()
	known, err := p.Pricer()
	if len(wrong) > 0 || err != nil {
		return
	}
	r := &action.Runner{Dir: p.Dir, Env: engine.ActionEnv(p, a.engineOptions()), Prices: known}
	engine.ConfigureAgents(p, r, project.Agents{}, conf)
	for i := range files {
		f := &files[i]
		if f.loop == nil {
			continue
		}
		l, _ := (project.Overrides{Config: conf}).Apply(f.loop)
		if st, what := engine.UnknownCost(p, l, r, conf); st != nil {
			f.problems = append(slices.Clip(f.problems), lint.UnknownCost(st, what))
			slices.SortStableFunc(f.problems, project.ByPlace)
		}
	}
}
