package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/plain"
	"loops/internal/ui"
	"loops/internal/ui/views"
)

// printLoop prints the summary of a loop: what to know before it is run, on a screen where it fits on one.
func (a *app) printLoop(p *project.Project, l *fsm.Loop) {
	paint := ui.Paint(a.coloured(a.Out))
	ui.Say(a.out, "%s  %s\n", paint.Bold(l.Name), paint.Dim(p.Short(l.File)))
	about, _, _ := strings.Cut(strings.TrimSpace(l.Description), "\n\n")
	for line := range strings.SplitSeq(about, "\n") {
		ui.SayLine(a.out, line)
	}
	fmt.Fprintln(a.out)
	var facts [][]string
	row := func(key, value string) {
		if value != "" {
			facts = append(facts, []string{key, value})
		}
	}
	row("starts in", l.Initial)
	row("ends in", views.Endings(l))
	row("limits", views.Limits(l))
	row("then", views.Handlers(l))
	row("inputs", views.Inputs(l))
	for i, prm := range l.Parameters {
		key := ""
		if i == 0 {
			key = "parameters"
		}
		row(key, views.ParameterLine(prm))
	}
	row("context", views.ContextLine(l))
	row("made of", strings.Join(views.MadeOf(p, l), ", "))
	row("locks", strings.Join(l.Scope, ", "))
	row("silenced", strings.Join(slices.Sorted(maps.Keys(l.SuppressFlags)), ", "))
	views.WriteTable(a.out, facts)
	fmt.Fprintln(a.out)
	var states [][]string
	for _, name := range l.Order {
		states = append(states, []string{plain.Line(name), views.Does(l.States[name]), views.Ways(l.States[name])})
	}
	views.WriteTable(a.out, states)
}
