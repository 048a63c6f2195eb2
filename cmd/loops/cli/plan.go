package cli

import (
	"fmt"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/model"
	"loops/internal/phrase"
	"loops/internal/ui"
)

// printPlan prints what a run would do: the states in the order of the file, what each does and where it leads.
func (a *app) printPlan(planned *engine.Plan, asJSON bool) error {
	p, l, values, tree := planned.Project, planned.Loop, planned.Values, planned.Tree
	if asJSON {
		plan := planObject(p, l, values)
		if tree != nil {
			plan.Set("worktree", plannedTreeObject(tree))
		}
		return ui.WriteJSON(a.out, plan)
	}
	w := a.out
	ui.Say(w, "Execution plan for: %s\n  file: %s\n", l.Name, p.Short(l.File))
	ui.Say(w, "Initial state: %s\nMax steps: %d\n", l.Initial, l.MaxSteps)
	if l.MaxIterations > 0 {
		ui.Say(w, "Max passes: %d\n", l.MaxIterations)
	}
	if l.Timeout > 0 {
		ui.Say(w, "Timeout: %s\n", phrase.Duration(l.Timeout))
	}
	if l.Backoff > 0 {
		ui.Say(w, "Pause between states: %s\n", phrase.Duration(l.Backoff))
	}
	for _, line := range plannedTree(p, tree) {
		ui.SayLine(w, line)
	}
	ui.Say(w, "\nStates:\n")
	for _, name := range l.Order {
		s := l.States[name]
		if s == nil {
			continue
		}
		ui.Say(w, "  [%s]%s\n", name, kindOf(s))
		if s.Fragment != nil {
			ui.Say(w, "      fragment: %s%s\n", s.Fragment.Name, bindings(s.Fragment.Bindings))
		}
		if s.Loop != "" {
			ui.Say(w, "      loop: %s%s\n", s.Loop, bindings(s.With))
			ui.Say(w, "            %s\n", a.subloopLine(p, l, s))
		}
		if s.Action != "" {
			ui.Say(w, "      action: %s\n", ui.BlockOf("              ", strings.Split(strings.TrimSpace(s.Action), "\n")))
			if from := l.Place(0, "states", name, "action").File; from != l.File {
				ui.Say(w, "              (from %s)\n", p.Short(from))
			}
		}
		if s.Evaluate != nil {
			ui.Say(w, "      evaluate: %s\n", s.Evaluate.Type)
		}
		for _, e := range edges(s) {
			ui.Say(w, "      %s -> %s\n", e[0], e[1])
		}
	}
	if len(l.Parameters) > 0 {
		ui.Say(w, "\nParameters:\n")
		for _, prm := range l.Parameters {
			ui.Say(w, "  %s\n", parameterLine(prm))
		}
	}
	ui.Say(w, "\nContext:\n")
	for _, k := range values.Keys() {
		v, _ := values.Get(k)
		ui.Say(w, "  %s: %s\n", k, value.AppendJSON(nil, v))
	}
	ui.Say(w, "\nNothing was run.\n")
	return nil
}

// bindings writes what a state gives a fragment or a loop.
func bindings(given *value.Map) string {
	if given.Len() == 0 {
		return ""
	}
	return " with " + string(value.AppendJSON(nil, given))
}

// subloopLine says which loop a state would run.
func (a *app) subloopLine(p *project.Project, l *fsm.Loop, s *fsm.State) string {
	if strings.Contains(s.Loop, "${") {
		return "(which one is known when it runs)"
	}
	lib, err := p.Library()
	if err != nil {
		return "(" + err.Error() + ")"
	}
	child, err := lib.Subloops(project.Overrides{}, nil).Loop(s.Loop, l)
	if err != nil {
		return "(" + oneLine(err) + ")"
	}
	return fmt.Sprintf("(%s: %s, at most %s)", p.Short(child.File), phrase.Count(len(child.States), "state"), phrase.Count(child.MaxSteps, "step"))
}

func kindOf(s *fsm.State) string {
	switch {
	case s.Terminal && s.Failure:
		return " end, failure"
	case s.Terminal:
		return " end"
	}
	return ""
}

// edges returns the ways out of a state as pairs of condition and target.
func edges(s *fsm.State) [][2]string {
	var out [][2]string
	for _, v := range model.Verdicts(s) {
		out = append(out, [2]string{"on_" + v, s.On[v]})
	}
	if s.Route != nil {
		for _, v := range s.Route.Table.Keys() {
			target, _ := s.Route.Table.Get(v)
			out = append(out, [2]string{"route " + v, inspect.Text(target)})
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
		{"on_interrupted", s.OnInterrupted},
		{"on_budget", s.OnBudget},
	} {
		if slot[1] != "" {
			out = append(out, slot)
		}
	}
	return out
}

func planObject(p *project.Project, l *fsm.Loop, values *value.Map) *value.Map {
	states := make([]any, 0, len(l.Order))
	for _, name := range l.Order {
		s := l.States[name]
		if s == nil {
			continue
		}
		m := value.NewMap("name", name, "action", ui.OrNull(s.Action), "terminal", s.Terminal, "failure", s.Terminal && s.Failure)
		if s.Loop != "" {
			m.Set("loop", s.Loop)
			m.Set("with", s.With)
		}
		if s.Fragment != nil {
			m.Set("fragment", s.Fragment.Name)
		}
		if s.Evaluate != nil {
			m.Set("evaluate", s.Evaluate.Type)
		}
		ways := value.NewMap()
		for _, e := range edges(s) {
			ways.Set(e[0], e[1])
		}
		m.Set("to", ways)
		states = append(states, m)
	}
	return value.NewMap("loop", l.Name, "file", p.Short(l.File), "initial", l.Initial, "max_steps", int64(l.MaxSteps), "context", values, "states", states)
}
