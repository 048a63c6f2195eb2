package project

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// A Budget is what a run may use, in the notation of --budget: limits that take the place of those of the loop, one by
// one; 0 is no limit.
type Budget struct {
	Limits map[string]float64 `json:"limits,omitempty"`
}

// BudgetLimits are the names of limits on the command line, and their keys in a loop file.
var BudgetLimits = []struct{ Name, Key string }{
	{"cost", "cost_usd"}, {"tokens", "tokens"}, {"wall", "wall"}, {"steps", "steps"}, {"prompts", "prompts"},
}

// BudgetForms are examples of limits in the notation of --budget.
const BudgetForms = "cost=5 (US dollars), tokens=2M, wall=2h, steps=100, prompts=20; cost=none for no limit"

// Type is how help calls the value.
func (f *Budget) Type() string { return "LIMIT=N" }

// String is the value as it would be given.
func (f *Budget) String() string {
	var parts []string
	for _, l := range BudgetLimits {
		if v, ok := f.Limits[l.Key]; ok && v > 0 {
			parts = append(parts, l.Name+"="+strconv.FormatFloat(v, 'f', -1, 64))
		} else if ok {
			parts = append(parts, l.Name+"=none")
		}
	}
	return strings.Join(parts, ",")
}

// Set reads LIMIT=N,LIMIT=N.
func (f *Budget) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		name, amount, ok := strings.Cut(strings.TrimSpace(part), "=")
		i := slices.IndexFunc(BudgetLimits, func(l struct{ Name, Key string }) bool {
			return name == l.Name || name == l.Key
		})
		if !ok || i < 0 {
			var names []string
			for _, l := range BudgetLimits {
				names = append(names, l.Name)
			}
			return fmt.Errorf("%s is no limit: expected %s%s", humanize.Quote(part), BudgetForms,
				humanize.DidYouMean(name, names))
		}
		key := BudgetLimits[i].Key
		v := 0.0
		if amount != "none" {
			var err error
			if v, err = BudgetAmount(key, amount); err != nil {
				return err
			}
		}
		if f.Limits == nil {
			f.Limits = map[string]float64{}
		}
		f.Limits[key] = v
	}
	return nil
}

// BudgetAmount reads how much of a limit: 5, 0.5, 20k, 2M; for wall also 30m, 2h30m and seconds.
func BudgetAmount(key, text string) (float64, error) {
	wrong := fmt.Errorf("%s of %s: expected a number above 0, such as in %s", humanize.Quote(text), key, BudgetForms)
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

// Applied returns a budget with these limits in it.
func (f *Budget) Applied(b fsm.Budget) fsm.Budget { return *f.apply(&b) }

// apply returns a loop's budget with these limits in it.
func (f *Budget) apply(b *fsm.Budget) *fsm.Budget {
	if len(f.Limits) == 0 {
		return b
	}
	with := fsm.Budget{}
	if b != nil {
		with = *b
	}
	for key, v := range f.Limits {
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
func (f *Budget) record(options *value.Map) {
	if len(f.Limits) == 0 {
		return
	}
	m := value.NewMap()
	for _, l := range BudgetLimits {
		if v, ok := f.Limits[l.Key]; ok {
			m.Set(l.Key, v)
		}
	}
	options.Set("budget", m)
}

// fill takes recorded limits where none are set.
func (f *Budget) fill(recorded *value.Map) {
	v, _ := recorded.Get("budget")
	m, _ := v.(*value.Map)
	given := f.Limits
	f.Limits = map[string]float64{}
	for _, l := range BudgetLimits {
		if n, ok := given[l.Key]; ok {
			f.Limits[l.Key] = n
		} else if _, ok := m.Get(l.Key); ok {
			f.Limits[l.Key] = max(0, number(m, l.Key))
		}
	}
}
