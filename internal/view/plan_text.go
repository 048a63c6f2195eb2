package view

import (
	"fmt"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// PrintPlan prints what a run would do: the states in the order of the file, what each does and where it leads.
func (page *Page) PrintPlan(planned *engine.Plan, asJSON bool) error {
	p, l, values, tree := planned.Project, planned.Loop, planned.Values, planned.Tree
	if asJSON {
		return terminal.WriteJSON(page.Out, RunPlan(planned))
	}
	w := page.Out
	terminal.Say(w, "Execution plan for: %s\n  file: %s\n", l.Name, p.Short(l.File))
	terminal.Say(w, "Initial state: %s\nMax steps: %d\n", l.Initial, l.MaxSteps)
	if l.MaxIterations > 0 {
		terminal.Say(w, "Max passes: %d\n", l.MaxIterations)
	}
	if l.Timeout > 0 {
		terminal.Say(w, "Timeout: %s\n", humanize.Duration(l.Timeout))
	}
	if l.Backoff > 0 {
		terminal.Say(w, "Pause between states: %s\n", humanize.Duration(l.Backoff))
	}
	for _, line := range PlannedTree(p, tree) {
		terminal.SayLine(w, line)
	}
	terminal.Say(w, "\nStates:\n")
	for _, name := range l.Order {
		s := l.States[name]
		if s == nil {
			continue
		}
		terminal.Say(w, "  [%s]%s\n", name, KindOf(s))
		if s.Fragment != nil {
			terminal.Say(w, "      fragment: %s%s\n", s.Fragment.Name, Bindings(s.Fragment.Bindings))
		}
		if s.Loop != "" {
			terminal.Say(w, "      loop: %s%s\n", s.Loop, Bindings(s.With))
			terminal.Say(w, "            %s\n", page.subloopLine(p, l, s))
		}
		if s.Action != "" {
			terminal.Say(w, "      action: %s\n",
				terminal.BlockOf("              ", strings.Split(strings.TrimSpace(s.Action), "\n")))
			if from := l.Place(0, "states", name, "action").File; from != l.File {
				terminal.Say(w, "              (from %s)\n", p.Short(from))
			}
		}
		if s.Await != nil {
			terminal.Say(w, "      %s\n", s.Await.String())
		}
		if s.Branches != nil {
			terminal.Say(w, "      %s\n", s.Branches.String())
		}
		if s.Each != nil {
			terminal.Say(w, "      %s\n", s.Each.String())
		}
		if s.Evaluate != nil {
			terminal.Say(w, "      evaluate: %s\n", s.Evaluate.Type)
		}
		for _, e := range Edges(s) {
			terminal.Say(w, "      %s -> %s\n", e[0], e[1])
		}
	}
	if len(l.Parameters) > 0 {
		terminal.Say(w, "\nParameters:\n")
		for _, prm := range l.Parameters {
			terminal.Say(w, "  %s\n", ParameterLine(prm))
		}
	}
	terminal.Say(w, "\nContext:\n")
	for _, line := range PlannedContext(l, values) {
		terminal.Say(w, "  %s\n", line)
	}
	terminal.Say(w, "\nNothing was run.\n")
	return nil
}

// subloopLine says which loop a state would run.
func (page *Page) subloopLine(p *project.Project, l *fsm.Loop, s *fsm.State) string {
	if strings.Contains(s.Loop, "${") {
		return "(which one is known when it runs)"
	}
	lib, err := p.Library()
	if err != nil {
		return "(" + err.Error() + ")"
	}
	child, err := lib.Subloops(project.Overrides{}, nil).Loop(s.Loop, l)
	if err != nil {
		return "(" + humanize.OneLine(err) + ")"
	}
	return fmt.Sprintf("(%s: %s, at most %s)", p.Short(child.File), humanize.Count(len(child.States), "state"),
		humanize.Count(child.MaxSteps, "step"))
}
