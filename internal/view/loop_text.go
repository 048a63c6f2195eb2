package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/diagram"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// PrintLoop prints the summary of a loop: what to know before it is run, on a screen where it fits on one.
func (page *Page) PrintLoop(p *project.Project, l *fsm.Loop) {
	paint := page.Paint
	terminal.Say(page.Out, "%s  %s\n", paint.Bold(l.Name), paint.Dim(p.Short(l.File)))
	about, _, _ := strings.Cut(strings.TrimSpace(l.Description), "\n\n")
	for line := range strings.SplitSeq(about, "\n") {
		terminal.SayLine(page.Out, line)
	}
	fmt.Fprintln(page.Out)
	var facts [][]string
	row := func(key, value string) {
		if value != "" {
			facts = append(facts, []string{key, value})
		}
	}
	row("starts in", l.Initial)
	row("ends in", Endings(l))
	row("limits", Limits(l))
	row("then", Handlers(l))
	row("inputs", Inputs(l))
	for i, prm := range l.Parameters {
		key := ""
		if i == 0 {
			key = "parameters"
		}
		row(key, ParameterLine(prm))
	}
	row("context", ContextLine(l))
	row("made of", strings.Join(MadeOf(p, l), ", "))
	row("schedule", ScheduleLine(l.Schedule))
	row("scope", ScopeText(l))
	row("silenced", strings.Join(slices.Sorted(maps.Keys(l.SuppressFlags)), ", "))
	terminal.WriteTable(page.Out, facts)
	fmt.Fprintln(page.Out)
	var states [][]string
	for _, name := range l.Order {
		states = append(states, []string{humanize.PlainLine(name), Does(l.States[name]), Ways(l.States[name])})
	}
	terminal.WriteTable(page.Out, states)
}

// ScopeText is what a run of a loop locks, on one line.
func ScopeText(l *fsm.Loop) string {
	if len(l.Scope) == 0 {
		return "the whole project"
	}
	return strings.Join(l.Scope, ", ")
}

// Drawing returns a loop as a drawing of so many columns.
func Drawing(l *fsm.Loop, columns int, coloured bool) string {
	return humanize.Ours(diagram.Of(l).Text(columns, coloured))
}
