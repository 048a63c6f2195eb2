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

	"github.com/spf13/cobra"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/phrase"
	"loops/persistence"
)

// An extendFlag is the value of resume --extend: by how much limits are raised, by their names.
type extendFlag struct{ by map[string]float64 }

const extendForms = "steps=20, passes=5, cost=2 (US dollars), tokens=500k, prompts=10, time=1h"

// An extendKind is a kind of limit that can be raised, with the flag that sets it and its key in a budget, if there are any.
type extendKind struct {
	name, flag, key string
	also            []string // other names of it
}

var extendKinds = []extendKind{
	{"steps", "max-steps", "steps", nil},
	{"passes", "max-iterations", "", nil},
	{"cost", "", "cost_usd", []string{"cost_usd"}},
	{"tokens", "", "tokens", nil},
	{"prompts", "", "prompts", nil},
	{"time", "", "wall", []string{"wall", "timeout"}},
}

func (f *extendFlag) Type() string { return "LIMIT=N" }

func (f *extendFlag) String() string {
	var parts []string
	for _, k := range extendKinds {
		if v, ok := f.by[k.name]; ok {
			parts = append(parts, k.name+"="+strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	return strings.Join(parts, ",")
}

// Set reads LIMIT=N,LIMIT=N.
func (f *extendFlag) Set(text string) error {
	var names []string
	for _, k := range extendKinds {
		names = append(names, k.name)
	}
	for part := range strings.SplitSeq(text, ",") {
		name, amount, ok := strings.Cut(strings.TrimSpace(part), "=")
		i := slices.IndexFunc(extendKinds, func(k extendKind) bool { return k.name == name || slices.Contains(k.also, name) })
		if !ok || i < 0 {
			return fmt.Errorf("%s is no limit: expected %s%s", phrase.Quote(part), extendForms, phrase.DidYouMean(name, names))
		}
		k := extendKinds[i]
		v, err := project.BudgetAmount(cmp.Or(k.key, "steps"), strings.TrimPrefix(amount, "+"))
		if err != nil {
			return fmt.Errorf("%s more of %s: expected a number above 0, such as in %s", phrase.Quote(amount), k.name, extendForms)
		}
		if _, twice := f.by[k.name]; twice {
			return fmt.Errorf("%s is given twice", k.name)
		}
		if f.by == nil {
			f.by = map[string]float64{}
		}
		f.by[k.name] = v
	}
	return nil
}

// checkLoops refuses a limit that another flag sets.
func (f *extendFlag) check(cmd *cobra.Command, budget project.Budget) error {
	for _, k := range extendKinds {
		if f.by[k.name] == 0 {
			continue
		}
		other := ""
		if _, set := budget.Limits[k.key]; set {
			other = "--budget"
		}
		if k.flag != "" && cmd.Flags().Changed(k.flag) {
			other = "--" + k.flag
		}
		if other != "" {
			return usageError{fmt.Sprintf("--extend %s and %s exclude each other: one raises the limit, the other sets it", k.name, other), cmd.CommandPath() + " --help"}
		}
	}
	return nil
}

// An inForce is one limit that holds for a run.
type inForce struct {
	name       string // of the kind
	of         string // "budget " if it is that of a budget, beside one of the loop
	most, used float64
	raise      func(o *project.Overrides, to float64)
}

// limitsInForce returns the limits that hold for a run of l, which has the overrides in it.
func limitsInForce(l *fsm.Loop, m *fsm.Snapshot) []inForce {
	budget := func(key string) func(*project.Overrides, float64) {
		return func(o *project.Overrides, to float64) {
			limits := map[string]float64{key: to}
			for k, v := range o.Budget.Limits {
				if k != key {
					limits[k] = v
				}
			}
			o.Budget.Limits = limits
		}
	}
	var b fsm.Budget
	if l.Budget != nil {
		b = *l.Budget
	}
	all := []inForce{
		{"steps", "", float64(l.MaxSteps), float64(m.Step), func(o *project.Overrides, to float64) { o.MaxSteps = int(to) }},
		{"steps", "budget ", float64(b.Steps), float64(m.Step + m.Spent.Steps), budget("steps")},
		{"passes", "", float64(l.MaxIterations), float64(m.Passes), func(o *project.Overrides, to float64) { o.MaxIterations = int(to) }},
		{"cost", "", b.CostUSD, m.Spent.CostUSD, budget("cost_usd")},
		{"tokens", "", float64(b.Tokens), float64(m.Spent.Usage.Total()), budget("tokens")},
		{"prompts", "", float64(b.Prompts), float64(m.Spent.Prompts), budget("prompts")},
		{"time", "", l.Timeout.Seconds(), m.Elapsed.Seconds(), func(o *project.Overrides, to float64) { o.Timeout = time.Duration(to * float64(time.Second)) }},
		{"time", "budget ", b.Wall.Seconds(), m.Elapsed.Seconds(), budget("wall")},
	}
	return slices.DeleteFunc(all, func(l inForce) bool { return l.most <= 0 })
}

// raise has o set the limits that hold in l, a loop with the overrides of the run in it, higher by what was asked for. It
// returns what it did, a line each, and refuses what would not let the run go on.
func (f *extendFlag) raise(o *project.Overrides, l *fsm.Loop, m *fsm.Snapshot) (lines []string, err error) {
	const see = "loops resume --help"
	limits := limitsInForce(l, m)
	for _, k := range extendKinds {
		by := f.by[k.name]
		if by == 0 {
			continue
		}
		found := false
		for _, limit := range limits {
			if limit.name != k.name {
				continue
			}
			found = true
			to := math.Round((limit.most+by)*1e6) / 1e6
			if to > math.MaxInt32 && (k.name == "steps" || k.name == "passes") {
				return nil, usageError{fmt.Sprintf("--extend %s=%s is too much", k.name, extendText("steps", by)), see}
			}
			left := to - limit.used
			if left <= 0 {
				return nil, usageError{fmt.Sprintf("--extend %s=%s raises the limit to %s, and %s is used: the run needs more than %s", k.name, extendText(k.name, by),
					extendText(k.name, to), extendText(k.name, limit.used), extendText(k.name, limit.used-limit.most)), see}
			}
			line := fmt.Sprintf("limit raised: %s%s %s -> %s", limit.of, k.name, extendText(k.name, limit.most), extendText(k.name, to))
			if left < by {
				line += fmt.Sprintf(" (%s left)", extendText(k.name, left))
			}
			lines = append(lines, line)
			limit.raise(o, to)
		}
		if !found {
			var words []string
			for _, limit := range limits {
				words = append(words, limit.of+limit.name+" "+extendText(limit.name, limit.most))
			}
			return nil, usageError{fmt.Sprintf("--extend %s: the run has no limit of %s to raise; it has: %s", k.name, k.name, strings.Join(words, ", ")), see}
		}
	}
	return lines, nil
}

// extendText is an amount of a limit, for a person.
func extendText(kind string, v float64) string {
	switch kind {
	case "cost":
		return "$" + strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64)
	case "time":
		return phrase.Duration(time.Duration(v * float64(time.Second)))
	case "tokens":
		return phrase.Tokens(int64(v))
	}
	return strconv.FormatInt(int64(v), 10)
}

// extendLimits has the flags of a resume set the limits of the run higher, as --extend says. over is what held until now.
func (o *resumeOptions) extendLimits(ctx context.Context, store *project.Records, run persistence.Run, l *fsm.Loop, over project.Overrides) ([]string, error) {
	if len(o.extend.by) == 0 {
		return nil, nil
	}
	memory, err := store.Snapshot(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	held, _ := over.Apply(l)
	return o.extend.raise(&o.over, held, memory)
}
