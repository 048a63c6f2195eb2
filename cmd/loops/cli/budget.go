package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/engine/action"
	"loops/fsm"
	"loops/fsm/lint"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/inspect"
	"loops/internal/phrase"
	"loops/persistence"
)

// A budgetFlag is the value of --budget: limits that take the place of those of the loop, one by one; 0 is none.
type budgetFlag struct{ limits map[string]float64 }

// budgetLimits are the names of limits on the command line, and their keys in a loop file.
var budgetLimits = []struct{ name, key string }{
	{"cost", "cost_usd"}, {"tokens", "tokens"}, {"wall", "wall"}, {"steps", "steps"}, {"prompts", "prompts"},
}

const budgetForms = "cost=5 (US dollars), tokens=2M, wall=2h, steps=100, prompts=20; cost=none for no limit"

func (f *budgetFlag) Type() string { return "LIMIT=N" }

func (f *budgetFlag) String() string {
	var parts []string
	for _, l := range budgetLimits {
		if v, ok := f.limits[l.key]; ok && v > 0 {
			parts = append(parts, l.name+"="+strconv.FormatFloat(v, 'f', -1, 64))
		} else if ok {
			parts = append(parts, l.name+"=none")
		}
	}
	return strings.Join(parts, ",")
}

// Set reads LIMIT=N,LIMIT=N.
func (f *budgetFlag) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		name, amount, ok := strings.Cut(strings.TrimSpace(part), "=")
		i := slices.IndexFunc(budgetLimits, func(l struct{ name, key string }) bool { return name == l.name || name == l.key })
		if !ok || i < 0 {
			var names []string
			for _, l := range budgetLimits {
				names = append(names, l.name)
			}
			return fmt.Errorf("%s is no limit: expected %s%s", phrase.Quote(part), budgetForms, phrase.DidYouMean(name, names))
		}
		key := budgetLimits[i].key
		v := 0.0
		if amount != "none" {
			var err error
			if v, err = budgetAmount(key, amount); err != nil {
				return err
			}
		}
		if f.limits == nil {
			f.limits = map[string]float64{}
		}
		f.limits[key] = v
	}
	return nil
}

// budgetAmount reads how much of a limit: 5, 0.5, 20k, 2M; for wall also 30m, 2h30m and seconds.
func budgetAmount(key, text string) (float64, error) {
	wrong := fmt.Errorf("%s of %s: expected a number above 0, such as in %s", phrase.Quote(text), key, budgetForms)
	if key == "wall" {
		if d, err := time.ParseDuration(text); err == nil {
			if d <= 0 {
				return 0, wrong
			}
			return d.Seconds(), nil
		}
	}
	factor := 1.0
	number := strings.TrimPrefix(text, "$")
	if key == "tokens" {
		for suffix, by := range map[string]float64{"k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6} {
			if cut, ok := strings.CutSuffix(number, suffix); ok {
				number, factor = cut, by
				break
			}
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	v *= factor
	whole := key != "cost_usd" && key != "wall"
	if err != nil || !(v > 0) || v > 1e15 || whole && v != math.Trunc(v) {
		return 0, wrong
	}
	return v, nil
}

// apply returns a loop's budget with these limits in it.
func (f *budgetFlag) apply(b *fsm.Budget) *fsm.Budget {
	if len(f.limits) == 0 {
		return b
	}
	with := fsm.Budget{}
	if b != nil {
		with = *b
	}
	for key, v := range f.limits {
		switch key {
		case "cost_usd":
			with.CostUSD = v
		case "tokens":
			with.Tokens = int64(v)
		case "wall":
			with.Wall = time.Duration(v * float64(time.Second))
		case "steps":
			with.Steps = int(v)
		case "prompts":
			with.Prompts = int(v)
		}
	}
	return &with
}

// record notes the limits with the run, so that a resume keeps them.
func (f *budgetFlag) record(options *value.Map) {
	if len(f.limits) == 0 {
		return
	}
	m := value.NewMap()
	for _, l := range budgetLimits {
		if v, ok := f.limits[l.key]; ok {
			m.Set(l.key, v)
		}
	}
	options.Set("budget", m)
}

// fill takes recorded limits where none are set.
func (f *budgetFlag) fill(recorded *value.Map) {
	v, _ := recorded.Get("budget")
	m, _ := v.(*value.Map)
	given := f.limits
	f.limits = map[string]float64{}
	for _, l := range budgetLimits {
		if n, ok := given[l.key]; ok {
			f.limits[l.key] = n
		} else if _, ok := m.Get(l.key); ok {
			f.limits[l.key] = max(0, number(m, l.key))
		}
	}
}

// checkCost reads the prices of a project, and refuses a loop with a budget in dollars whose prompts cost nobody knows
// what: their host does not say, and no table has a price for their model. Sub-loops are looked at when they prompt.
func (a *app) checkCost(p project, l *fsm.Loop, agents agentFlags, conf *config.Config) (prices, error) {
	known, err := pricer(p)
	if err != nil {
		return nil, err
	}
	r := &action.Runner{Dir: p.Dir, Env: a.actionEnv(), Prices: known}
	a.agents(r, agents, conf)
	if st, what := unknownCost(p, l, r, conf); st != nil {
		place := st.Pos
		place.File = p.short(place.File)
		return nil, failure(exitInvalid, "%s: %s", place, what)
	}
	return known, nil
}

// unknownCost returns the first state whose cost is limited and cannot be told, and why; nil if there is none.
func unknownCost(p project, l *fsm.Loop, r *action.Runner, conf *config.Config) (*fsm.State, string) {
	for _, name := range l.Order {
		st := l.States[name]
		if !fsm.Prompts(st) || !limitsCost(l.Budget) && !limitsCost(st.Budget) {
			continue
		}
		h, _, err := r.FindHost(cmp.Or(st.Host, l.LLM.Host))
		if err != nil || h.Has.Cost {
			continue // that a host is missing is said when it is wanted: the loop may know what to do
		}
		what := "the model of its prompt is not named, and " + h.Name + " does not say what a prompt cost"
		if model := cmp.Or(st.Model, r.Model); model != "" {
			if _, ok := r.Prices(model, fsm.Usage{Input: 1}); ok {
				continue
			}
			what = "no price is known of its model " + model
		}
		limits := "the budget limits cost_usd"
		if _, ok := conf.At[budgetCostKey]; ok && conf.Budget.Cost > 0 && l.Budget != nil && l.Budget.CostUSD == conf.Budget.Cost {
			limits = p.settingPlace(conf, budgetCostKey) + " limits the cost"
		}
		return st, fmt.Sprintf("%s, but what state %s costs cannot be told: %s. Name a model with a price, put its price into %s, limit tokens instead, or set allow_unknown_cost: true",
			limits, phrase.Quote(name), what, p.short(p.prices()))
	}
	return nil, ""
}

// adviseCosts warns of the loops that run would refuse as things are here, because their budget is in dollars and what they
// cost cannot be told. Where the config or the prices have mistakes, which are told, nobody knows.
func (a *app) adviseCosts(p project, files []checked) {
	conf, wrong := a.declared(p)
	known, err := pricer(p)
	if len(wrong) > 0 || err != nil {
		return
	}
	r := &action.Runner{Dir: p.Dir, Env: a.actionEnv(), Prices: known}
	a.agents(r, agentFlags{}, conf)
	for i := range files {
		f := &files[i]
		if f.loop == nil {
			continue
		}
		l, _ := (overrides{config: conf}).apply(f.loop)
		if st, what := unknownCost(p, l, r, conf); st != nil {
			f.problems = append(slices.Clip(f.problems), lint.UnknownCost(st, what))
			slices.SortStableFunc(f.problems, byPlace)
		}
	}
}

func limitsCost(b *fsm.Budget) bool { return b != nil && b.CostUSD > 0 && !b.AllowUnknown }

// raisedLimit is what --budget needs to go on after a limit was reached: twice as much as was used, or no limit where a cost is unknown.
func raisedLimit(e fsm.Event) string {
	name := text(e.Get("limit"))
	for _, l := range budgetLimits {
		if l.key == name {
			name = l.name
		}
	}
	if unknown, _ := e.Get("cost_unknown").(bool); unknown {
		return name + "=none"
	}
	most, _ := inspect.Number(e.Get("budget"))
	spent, _ := inspect.Number(e.Get("spent")) // what one prompt uses may be more than all that was allowed
	return name + "=" + twice(max(most, spent))
}

// reprice puts a price on what was used when nobody knew one, as far as all of it has a price now. What was recorded stays.
func reprice(ctx context.Context, store records, run persistence.Run, memory *fsm.Snapshot, known prices) error {
	if memory.Spent.Unpriced == 0 {
		return nil
	}
	sheet := inspect.CostSheet{Prices: known}
	for e, err := range store.Events(ctx, run.ID, 0) {
		if err != nil && !isDamage(err) {
			return store.failed(err)
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
	for c := memory.Child; c != nil; c = c.Memory.Child {
		c.Memory.Spent.Unpriced = 0 // what it cost counts for the loops around it
	}
	return nil
}
