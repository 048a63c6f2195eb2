package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/config"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// checkCost reads the prices of a project, and refuses a loop with a budget in dollars whose prompts have no known
// cost: their host does not report it, and no table has a price for their model. Sub-loops are looked at when they
// prompt.
func (e *Engine) checkCost(p *project.Project, l *fsm.Loop, choice project.Agents,
	conf *config.Config,
) (project.Prices, error) {
	known, err := p.Pricer()
	if err != nil {
		return nil, err
	}
	r := &action.Runner{Dir: p.Dir, Env: e.actionEnv(), Prices: known}
	ConfigureAgents(p, r, choice, conf)
	if st, what := UnknownCost(p, l, r, conf); st != nil {
		place := st.Pos
		place.File = p.Short(place.File)
		return nil, refuse(Invalid, "%s: %s", place, what)
	}
	return known, nil
}

// UnknownCost returns the first state whose cost is limited and is not known, and why; nil if there is none.
func UnknownCost(p *project.Project, l *fsm.Loop, r *action.Runner, conf *config.Config) (*fsm.State, string) {
	for _, name := range l.Order {
		st := l.States[name]
		if !fsm.Prompts(st) || !limitsCost(l.Budget) && !limitsCost(st.Budget) {
			continue
		}
		what := unknownCost(l, st, r)
		if what == "" {
			continue
		}
		limits := "the budget limits cost_usd"
		if _, ok := conf.At[project.BudgetCostKey]; ok && conf.Budget.Cost > 0 && l.Budget != nil &&
			l.Budget.CostUSD == conf.Budget.Cost {
			limits = p.SettingPlace(conf, project.BudgetCostKey) + " limits the cost"
		}
		return st, fmt.Sprintf("%s, but the cost of state %s is not known: %s. Name a model with a price, put its "+
			"price into %s, limit tokens instead, or set allow_unknown_cost: true",
			limits, humanize.Quote(name), what, p.Short(p.PricesFile()))
	}
	return nil, ""
}

// unknownCost explains why it is not known what a prompt of a state costs; "" = it is known, or the prompt will not
// be sent.
func unknownCost(l *fsm.Loop, st *fsm.State, r *action.Runner) string {
	h, _, err := r.FindHost(l.PromptHost(st))
	if err != nil || h.Has.Cost {
		return "" // that a host is missing is said when it is wanted: the loop may know what to do
	}
	model, err := r.HintedModel(h, cmp.Or(st.Model, r.Model))
	if err != nil {
		return ""
	}
	if model == "" {
		return "the model of its prompt is not named, and " + h.Name + " does not say what a prompt cost"
	}
	if _, ok := r.Prices(model, fsm.Usage{Input: 1}); ok {
		return ""
	}
	return "no price is known of its model " + model
}

// UncountedCeiling returns the first state whose cost_ceiling counts nothing, because its cost is not known,
// and why; nil if there is none. Such a loop runs, as it does with little-loops.
func UncountedCeiling(p *project.Project, l *fsm.Loop, r *action.Runner) (*fsm.State, string) {
	for _, name := range l.Order {
		st := l.States[name]
		if st.CostCeiling == nil || !fsm.Prompts(st) {
			continue
		}
		if what := unknownCost(l, st, r); what != "" {
			return st, fmt.Sprintf("the cost_ceiling of state %s counts nothing here: %s. Name a model with a "+
				"price, or put its price into %s", humanize.Quote(name), what, p.Short(p.PricesFile()))
		}
	}
	return nil, ""
}

func limitsCost(b *fsm.Budget) bool { return b != nil && b.CostUSD > 0 && !b.AllowUnknown }

// RaisedLimit returns the setting with which a run continues that reached a limit of its budget: raised to
// twice what was used, or no limit where a cost is unknown.
func RaisedLimit(e fsm.Event) Setting {
	name := text(e.Get("limit"))
	for _, k := range ExtendKinds {
		if k.Key == name {
			name = k.Name
		}
	}
	if unknown, _ := e.Get("cost_unknown").(bool); unknown {
		return Setting{SetBudget, name + "=none"}
	}
	most, _ := inspect.Number(e.Get("budget"))
	spent, _ := inspect.Number(e.Get("spent")) // what one prompt uses may be more than all that was allowed
	return extendBy(name, most, spent)
}

// reprice puts a price on what was used when no price was known, as far as all of it has a price now. What was recorded
// stays.
func reprice(ctx context.Context, store *project.Records, run persistence.Run, memory *fsm.Snapshot,
	known project.Prices,
) error {
	if memory.Spent.Unpriced == 0 {
		return nil
	}
	sheet := inspect.CostSheet{Prices: known}
	for e, err := range store.Events(ctx, run.ID, 0) {
		if err != nil && !project.IsDamage(err) {
			return store.Failed(err)
		}
		if err == nil {
			sheet.Add(e)
		}
	}
	if sheet.Total.Unknown > 0 {
		return nil
	}
	memory.Spent.CostUSD, memory.Spent.Unpriced = sheet.Total.CostUSD, 0
	for state, spent := range memory.StateSpent {
		spent.CostUSD, spent.Unpriced = 0, 0
		for _, name := range sheet.Order {
			if name == state || strings.HasPrefix(name, state+" > ") {
				spent.CostUSD += sheet.Line(name).CostUSD
			}
		}
		memory.StateSpent[state] = spent
	}
	priced(memory)
	return nil
}

// priced takes it that all costs inside are known: they count for the loops around.
func priced(memory *fsm.Snapshot) {
	for _, c := range memory.Inside() {
		c.Memory.Spent.Unpriced = 0
		priced(c.Memory)
	}
}
