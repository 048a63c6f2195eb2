package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/persistence"
)

// A usedUp is a limit that leaves a run nothing.
type usedUp struct{ inForce }

// overLimits returns the limits that hold in l and are used up, of a run that remembers m.
func overLimits(l *fsm.Loop, m *fsm.Snapshot) []usedUp {
	var out []usedUp
	for _, limit := range limitsInForce(l, m) {
		if limit.used >= limit.most && (limit.name != "time" || limit.of != "") {
			out = append(out, usedUp{limit})
		}
	}
	return out
}

// extendBy returns the setting that raises a limit of most, of which used is used, to twice what is used.
func extendBy(name string, most, used float64) Setting {
	used = max(most, used)
	if name == "time" {
		used = math.Ceil(used)
	}
	return Setting{SetExtend, name + "=" + plainAmount(math.Round(1e6*(2*used-most))/1e6)}
}

// more returns the setting with which a run continues that held the limits of held until now. A limit that was
// given, and is too low, is proposed as the amount to raise by, if that is enough: who gives it may have taken
// it for that.
func (l usedUp) more(given bool, held *fsm.Loop, m *fsm.Snapshot) Setting {
	for _, was := range limitsInForce(held, m) {
		switch {
		case was.name != l.name || was.of != l.of:
		case given && was.most+l.most > was.used:
			return Setting{SetExtend, l.name + "=" + plainAmount(l.most)}
		default:
			return extendBy(l.name, was.most, was.used)
		}
	}
	return extendBy(l.name, l.most, l.used)
}

// checkLimits refuses a limit on the command line that is used up already, and a run that ended at a limit which holds
// still: it would end again at once. l has the overrides in it, held those from before.
func (o *ResumeRequest) checkLimits(run persistence.Run, l, held *fsm.Loop, m *fsm.Snapshot) error {
	for _, limit := range overLimits(l, m) {
		given, set := false,
			Setting{SetBudget, strings.ReplaceAll(limit.name, "time", "wall") + "=" + plainAmount(limit.most)}
		switch {
		case limit.of == "" && limit.name == "steps":
			// An interrupted last step may still be brought to its end.
			given, set = o.Over.MaxSteps > 0 && (limit.used > limit.most || run.Ended == fsm.EndMaxSteps),
				Setting{SetMaxSteps, plainAmount(limit.most)}
		case limit.name == "passes":
			given, set = o.Over.MaxIterations > 0, Setting{SetMaxIterations, plainAmount(limit.most)}
		default:
			_, given = o.Over.Budget.Limits[budgetKey(limit.name)]
		}
		if given {
			return refuse(Usage, "%s is the limit in all, and %s; resume with more: %s", set, limit.text(),
				Do(OpResume, string(run.ID), limit.more(true, held, m)))
		}
	}
	if o.From != "" {
		return nil // another state may need nothing of what is used up
	}
	for _, limit := range overLimits(l, m) {
		kind, over := Failed, false
		switch run.Ended {
		case fsm.EndMaxSteps:
			if limit.of == "" && limit.name == "steps" {
				kind, over = Capped, true
			}
		case fsm.EndMaxIterations:
			if limit.name == "passes" {
				kind, over = Capped, true
			}
		case fsm.EndBudget:
			if limit.of != "" || limit.name != "steps" && limit.name != "passes" {
				kind, over = Exhausted, true
			}
		}
		if over {
			return refuse(kind, "run %s cannot be resumed: %s; resume with more: %s", run.ID, limit.text(),
				Do(OpResume, string(run.ID), limit.more(false, held, m)))
		}
	}
	return nil
}

// text says how much is used: "10 of 10 steps are used".
func (l usedUp) text() string {
	amounts := extendText(l.name, l.used) + " of " + extendText(l.name, l.most)
	switch {
	case l.of != "":
		return fmt.Sprintf("%s of the %s%s are used", amounts, l.of, l.name)
	case l.name == "cost":
		return amounts + " is used"
	}
	return fmt.Sprintf("%s %s are used", amounts, l.name)
}

func plainAmount(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// budgetKey is the key of a kind of limit in a budget.
func budgetKey(name string) string {
	for _, k := range ExtendKinds {
		if k.Name == name {
			return cmp.Or(k.Key, name)
		}
	}
	return name
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
		{"steps", "", float64(l.MaxSteps), float64(m.Step), func(o *project.Overrides, to float64) {
			o.MaxSteps = int(to)
		}},
		{"steps", "budget ", float64(b.Steps), float64(m.Step + m.Spent.Steps), budget("steps")},
		{"passes", "", float64(l.MaxIterations), float64(m.Passes), func(o *project.Overrides, to float64) {
			o.MaxIterations = int(to)
		}},
		{"cost", "", b.CostUSD, m.Spent.CostUSD, budget("cost_usd")},
		{"tokens", "", float64(b.Tokens), float64(m.Spent.Usage.Total()), budget("tokens")},
		{"prompts", "", float64(b.Prompts), float64(m.Spent.Prompts), budget("prompts")},
		{"time", "", l.Timeout.Seconds(), m.Elapsed.Seconds(), func(o *project.Overrides, to float64) {
			o.Timeout = time.Duration(to * float64(time.Second))
		}},
		{"time", "budget ", b.Wall.Seconds(), m.Elapsed.Seconds(), budget("wall")},
	}
	return slices.DeleteFunc(all, func(l inForce) bool { return l.most <= 0 })
}

// raise has o set the limits that hold in l, a loop with the overrides of the run in it, higher by what was
// asked for. It returns what it did, a line each, and refuses what would not let the run continue.
func (f *Extend) raise(o *project.Overrides, l *fsm.Loop, m *fsm.Snapshot, see Operation) (lines []Text, err error) {
	limits := limitsInForce(l, m)
	named := func(name, value string) any { // as it was given
		if see == OpExtend {
			return strings.TrimSuffix(name+"="+value, "=")
		}
		return Setting{SetExtend, strings.TrimSuffix(name+"="+value, "=")}
	}
	for _, k := range ExtendKinds {
		by := f.By[k.Name]
		if by == 0 {
			continue
		}
		found := false
		for _, limit := range limits {
			if limit.name != k.Name {
				continue
			}
			found = true
			to := math.Round((limit.most+by)*1e6) / 1e6
			if to > math.MaxInt32 && (k.Name == "steps" || k.Name == "passes") {
				return nil, misuse(see, "%s is too much", named(k.Name, extendText("steps", by)))
			}
			left := to - limit.used
			if left <= 0 {
				return nil, misuse(see, "%s raises the limit to %s, and %s is used: the run needs more than %s",
					named(k.Name, extendText(k.Name, by)),
					extendText(k.Name, to), extendText(k.Name, limit.used), extendText(k.Name, limit.used-limit.most))
			}
			line := fmt.Sprintf("limit raised: %s%s %s -> %s", limit.of, k.Name, extendText(k.Name, limit.most),
				extendText(k.Name, to))
			if left < by {
				line += fmt.Sprintf(" (%s left)", extendText(k.Name, left))
			}
			lines = append(lines, textf("%s", line))
			limit.raise(o, to)
		}
		if !found {
			var words []string
			for _, limit := range limits {
				words = append(words, limit.of+limit.name+" "+extendText(limit.name, limit.most))
			}
			return nil, misuse(see, "%s: the run has no limit of %s to raise; it has: %s", named(k.Name, ""), k.Name,
				strings.Join(words, ", "))
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
		return humanize.Limit(time.Duration(math.Round(v * float64(time.Second))))
	case "tokens":
		return humanize.Tokens(int64(v))
	}
	return strconv.FormatInt(int64(v), 10)
}

// extendLimits has the flags of a resume set the limits of the run higher, as --extend says. over is what held
// until now.
func (o *ResumeRequest) extendLimits(memory *fsm.Snapshot, l *fsm.Loop, over project.Overrides) ([]Text, error) {
	if len(o.Extend.By) == 0 {
		return nil, nil
	}
	held, _ := over.Apply(l)
	return o.Extend.raise(&o.Over, held, memory, OpResume)
}
