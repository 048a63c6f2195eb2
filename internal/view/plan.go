package view

import (
	"slices"
	"strings"

	"loops/engine"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
)

// Bindings writes what a state gives a fragment or a loop.
func Bindings(given *value.Map) string {
	if given.Len() == 0 {
		return ""
	}
	return " with " + string(value.AppendJSON(nil, given))
}

// KindOf is what follows the name of a final state; "" for others.
func KindOf(s *fsm.State) string {
	switch {
	case s.Terminal && s.Failure:
		return " end, failure"
	case s.Terminal:
		return " end"
	}
	return ""
}

// Edges returns the transitions out of a state as pairs of condition and target.
func Edges(s *fsm.State) [][2]string {
	var out [][2]string
	for _, v := range loopfile.Verdicts(s) {
		out = append(out, [2]string{"on_" + v, s.On[v]})
	}
	if s.Route != nil {
		for _, v := range s.Route.Table.Keys() {
			target, _ := s.Route.Table.Get(v)
			out = append(out, [2]string{"route " + v, inspect.Text(target)})
		}
		for _, row := range s.Route.Cases {
			out = append(out, [2]string{"route " + row.Condition(), row.To})
		}
		if s.Route.Default != "" {
			out = append(out, [2]string{"route _", s.Route.Default})
		}
		if s.Route.Error != "" {
			out = append(out, [2]string{"route _error", s.Route.Error})
		}
	}
	for _, slot := range [][2]string{
		{"next", s.Next},
		{"on_maintain", s.OnMaintain},
		{"on_retry_exhausted", s.OnRetryExhausted},
		{"on_rate_limit_exhausted", s.OnRateLimitExhausted},
		{"on_throttle_hard", s.OnThrottleHard},
		{"on_guarded", s.OnGuarded},
		{"on_suspended", s.OnSuspended},
		{"on_interrupted", s.OnInterrupted},
		{"on_budget", s.OnBudget},
	} {
		if slot[1] != "" {
			out = append(out, slot)
		}
	}
	return out
}

// PlannedContext is the context that a run would begin with, a line for each value.
func PlannedContext(l *fsm.Loop, values *value.Map) (lines []string) {
	for k, v := range ownContext(l, values).All() {
		lines = append(lines, k+": "+string(value.AppendJSON(nil, v)))
	}
	return lines
}

// ownContext leaves out what every run has where it is as it always is: that is of use to loops that read it,
// and says nothing about this one.
func ownContext(l *fsm.Loop, values *value.Map) *value.Map {
	own := new(value.Map)
	usual := new(value.Map)
	usual.Set("input", values.Value("input"))
	engine.Fill(usual, l, "")
	usual.Delete("input")
	usual.Delete("run_dir")
	for k, v := range values.All() {
		_, declared := l.Context.Get(k)
		if always, has := usual.Get(k); has && !declared && value.Equal(v, always) {
			continue
		}
		own.Set(k, v)
	}
	return own
}

// A Resolver puts into the definition of a loop, and into those of the loops that its states run, the
// definition of each of these as "_subloop" of its state. What cannot be found is reported, and left out, as
// are a loop inside itself and one whose name is a template.
type Resolver struct {
	Child    func(name string, from *fsm.Loop) (*fsm.Loop, error) // finds the loop that a state runs
	Document func(file string) (*value.Map, error)                // returns the definition of a loop
	Tell     func(text string)
}

// Resolve changes m, which is the definition of l.
func (r Resolver) Resolve(m *value.Map, l *fsm.Loop) { r.resolve(m, l, nil) }

func (r Resolver) resolve(m *value.Map, l *fsm.Loop, inside []string) {
	inside = append(inside, l.File)
	states, _ := m.Value("states").(*value.Map)
	for _, name := range l.Order {
		s := l.States[name]
		state, _ := states.Value(name).(*value.Map)
		if s == nil || state == nil || s.Loop == "" || strings.Contains(s.Loop, "${") {
			continue
		}
		sub, err := r.Child(s.Loop, l)
		var inner *value.Map
		if err == nil && !slices.Contains(inside, sub.File) {
			inner, err = r.Document(sub.File)
		}
		if err != nil {
			r.Tell("state " + humanize.Quote(name) + " of " + l.Name + ": " + humanize.OneLine(err))
		}
		if inner != nil {
			r.resolve(inner, sub, inside[:len(inside):len(inside)])
			state.Set("_subloop", inner)
		}
	}
}

// RunPlan returns what a run would do.
func RunPlan(planned *engine.Plan) api.RunPlan {
	l := planned.Loop
	plan := api.RunPlan{
		Loop: l.Name, File: l.File, Initial: l.Initial, MaxSteps: l.MaxSteps,
		Context: ownContext(l, planned.Values),
	}
	for _, name := range l.Order {
		s := l.States[name]
		if s == nil {
			continue
		}
		state := api.PlannedState{
			Name: name, Action: api.Text(s.Action), Terminal: s.Terminal,
			Failure: s.Terminal && s.Failure, Loop: s.Loop,
		}
		if s.Loop != "" {
			state.With = OrEmpty(s.With)
		}
		if s.Fragment != nil {
			state.Fragment = s.Fragment.Name
		}
		if s.Evaluate != nil {
			state.Evaluate = s.Evaluate.Type
		}
		for _, e := range Edges(s) {
			state.To = append(state.To, api.Pair[string]{Key: e[0], Value: e[1]})
		}
		plan.States = append(plan.States, state)
	}
	if planned.Tree != nil {
		plan.Worktree = plannedTree(planned.Tree)
	}
	return plan
}
