package project

import (
	"cmp"

	"loops/fsm"
)

// What the files of a project and of a person say holds where the caller and the environment say nothing, and,
// for what a loop can say of itself, where the loop does not. Here it is brought in.

// configuredStore returns where the files say that runs are recorded, and in which line; "" where they do not.
// A mistake that may be about it is a *SettingsError: runs would be looked for in the wrong place.
func (p *Project) configuredStore() (location, from string, err error) {
	c, wrong := p.Declared()
	if about := wrong.About("store"); len(about) > 0 {
		return "", "", &SettingsError{p, "store", about}
	}
	if c.Store == "" {
		return "", "", nil
	}
	return c.Store, p.SettingPlace(c, "store") + ": store", nil
}

// configured returns a loop with what the files say about what it does not say itself.
func (o Overrides) configured(l *fsm.Loop) fsm.Loop {
	changed := *l
	if o.Config == nil {
		return changed
	}
	if changed.Backoff == 0 {
		changed.Backoff = o.Config.Delay
	}
	if changed.Snapshots == nil && o.Config.Snapshots != "" {
		changed.Snapshots = &fsm.FileSnapshots{Keep: o.Config.Snapshots}
	}
	limits := o.Config.Budget
	var own fsm.Budget
	if l.Budget != nil {
		own = *l.Budget
	}
	b := fsm.Budget{
		CostUSD: cmp.Or(own.CostUSD, limits.Cost), Tokens: cmp.Or(own.Tokens, limits.Tokens),
		Wall:  cmp.Or(own.Wall, limits.Wall),
		Steps: cmp.Or(own.Steps, limits.Steps), Prompts: cmp.Or(own.Prompts, limits.Prompts),
		AllowUnknown: own.AllowUnknown,
	}
	if b != own {
		changed.Budget = &b
	}
	return changed
}

// Level is how durably a run is recorded: as the flag says, which is recorded with the run, else as the files
// do; "" = as the store does anyway.
func (o Overrides) Level() string {
	if o.Config == nil {
		return o.Durability
	}
	return cmp.Or(o.Durability, o.Config.Durability)
}

// BudgetCostKey is the setting that limits what runs may cost.
const BudgetCostKey = "run.budget.cost"
