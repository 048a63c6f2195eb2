package cli

import (
	"fmt"
	"slices"
	"strings"

	"loops/fsm"
)

// printPlan prints what a run would do: the states in the order of the file, what each does and where it leads.
func (a *app) printPlan(p project, l *fsm.Loop, values *fsm.Map, asJSON bool) error {
	if asJSON {
		return writeJSON(a.out, planObject(p, l, values))
	}
	w := a.out
	fmt.Fprintf(w, "Execution plan for: %s\n  file: %s\n", l.Name, p.short(l.File))
	fmt.Fprintf(w, "Initial state: %s\nMax steps: %d\n", l.Initial, l.MaxSteps)
	if l.MaxIterations > 0 {
		fmt.Fprintf(w, "Max passes: %d\n", l.MaxIterations)
	}
	if l.Timeout > 0 {
		fmt.Fprintf(w, "Timeout: %s\n", duration(l.Timeout))
	}
	if l.Backoff > 0 {
		fmt.Fprintf(w, "Pause between states: %s\n", duration(l.Backoff))
	}
	fmt.Fprintln(w, "\nStates:")
	for _, name := range l.Order {
		s := l.States[name]
		if s == nil {
			continue
		}
		fmt.Fprintf(w, "  [%s]%s\n", name, kindOf(s))
		if s.Action != "" {
			fmt.Fprintf(w, "      action: %s\n", strings.ReplaceAll(strings.TrimSpace(s.Action), "\n", "\n              "))
		}
		if s.Evaluate != nil {
			fmt.Fprintf(w, "      evaluate: %s\n", s.Evaluate.Type)
		}
		for _, e := range edges(s) {
			fmt.Fprintf(w, "      %s -> %s\n", e[0], e[1])
		}
	}
	fmt.Fprintln(w, "\nContext:")
	for _, k := range values.Keys() {
		v, _ := values.Get(k)
		fmt.Fprintf(w, "  %s: %s\n", k, fsm.AppendJSON(nil, v))
	}
	fmt.Fprintln(w, "\nNothing was run.")
	return nil
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
	verdicts := make([]string, 0, len(s.On))
	for v := range s.On {
		verdicts = append(verdicts, v)
	}
	slices.Sort(verdicts)
	for _, v := range verdicts {
		out = append(out, [2]string{"on_" + v, s.On[v]})
	}
	if s.Route != nil {
		for _, v := range s.Route.Table.Keys() {
			target, _ := s.Route.Table.Get(v)
			out = append(out, [2]string{"route " + v, text(target)})
		}
		if s.Route.Default != "" {
			out = append(out, [2]string{"route _", s.Route.Default})
		}
		if s.Route.Error != "" {
			out = append(out, [2]string{"route _error", s.Route.Error})
		}
	}
	for _, slot := range [][2]string{
		{"next", s.Next}, {"on_maintain", s.OnMaintain}, {"on_retry_exhausted", s.OnRetryExhausted},
	} {
		if slot[1] != "" {
			out = append(out, slot)
		}
	}
	return out
}

func planObject(p project, l *fsm.Loop, values *fsm.Map) *fsm.Map {
	states := make([]any, 0, len(l.Order))
	for _, name := range l.Order {
		s := l.States[name]
		if s == nil {
			continue
		}
		m := fsm.NewMap("name", name, "action", orNull(s.Action), "terminal", s.Terminal, "failure", s.Terminal && s.Failure)
		ways := fsm.NewMap()
		for _, e := range edges(s) {
			ways.Set(e[0], e[1])
		}
		m.Set("to", ways)
		states = append(states, m)
	}
	return fsm.NewMap("loop", l.Name, "file", p.short(l.File), "initial", l.Initial, "max_steps", int64(l.MaxSteps), "context", values, "states", states)
}
