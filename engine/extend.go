package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"loops/engine/project"
	"loops/internal/humanize"
)

// An Extend says by how much limits are raised, by their names, in the notation of --extend.
type Extend struct {
	By map[string]float64 `json:"by,omitempty"`
}

// ExtendForms are examples of what can be raised.
const ExtendForms = "steps=20, passes=5, cost=2 (US dollars), tokens=500k, prompts=10, time=1h"

// An ExtendKind is a kind of limit that can be raised, with the flag that sets it and its key in a budget, if
// there are any.
type ExtendKind struct {
	Name, Flag, Key string
	Also            []string // other names of it
}

// ExtendKinds are the limits that can be raised.
var ExtendKinds = []ExtendKind{
	{"steps", "max-steps", "steps", nil},
	{"passes", "max-iterations", "", nil},
	{"cost", "", "cost_usd", []string{"cost_usd"}},
	{"tokens", "", "tokens", nil},
	{"prompts", "", "prompts", nil},
	{"time", "", "wall", []string{"wall", "timeout"}},
}

// Type is how help calls the value.
func (f *Extend) Type() string { return "LIMIT=N" }

// String is the value as it would be given.
func (f *Extend) String() string {
	var parts []string
	for _, k := range ExtendKinds {
		if v, ok := f.By[k.Name]; ok {
			parts = append(parts, k.Name+"="+strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	return strings.Join(parts, ",")
}

// Set reads LIMIT=N,LIMIT=N.
func (f *Extend) Set(text string) error {
	var names []string
	for _, k := range ExtendKinds {
		names = append(names, k.Name)
	}
	for part := range strings.SplitSeq(text, ",") {
		name, amount, ok := strings.Cut(strings.TrimSpace(part), "=")
		i := slices.IndexFunc(ExtendKinds, func(k ExtendKind) bool {
			return k.Name == name || slices.Contains(k.Also, name)
		})
		if !ok || i < 0 {
			return fmt.Errorf("%s is no limit: expected %s%s", humanize.Quote(part), ExtendForms,
				humanize.DidYouMean(name, names))
		}
		k := ExtendKinds[i]
		v, err := project.BudgetAmount(cmp.Or(k.Key, "steps"), strings.TrimPrefix(amount, "+"))
		if err != nil {
			return fmt.Errorf("%s more of %s: expected a number above 0, such as in %s", humanize.Quote(amount),
				k.Name, ExtendForms)
		}
		if _, twice := f.By[k.Name]; twice {
			return fmt.Errorf("%s is given twice", k.Name)
		}
		if f.By == nil {
			f.By = map[string]float64{}
		}
		f.By[k.Name] = v
	}
	return nil
}
