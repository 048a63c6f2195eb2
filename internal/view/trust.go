package view

import (
	"fmt"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/confine"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// PrintForeign shows a loop that others wrote: who did, what changed since it was trusted, or all that it would do.
func (page *Page) PrintForeign(e *project.UntrustedError) {
	w := terminal.NewSink(page.Err)
	if len(e.Changes) > 0 {
		terminal.Say(w, "The loop %s was changed by others since you trusted it:\n", e.Loop.Name)
	} else {
		terminal.Say(w, "The loop %s was written by others, and you never ran it as it is:\n", e.Loop.Name)
	}
	for _, f := range e.Files {
		line := e.Project.Short(f.Path)
		for _, about := range []string{f.By, f.Date} {
			if about != "" {
				line += "  " + about
			}
		}
		terminal.SayLine(w, "  "+humanize.PlainLine(line))
	}
	fmt.Fprintln(w)
	if len(e.Changes) > 0 {
		terminal.SayLine(w, string(terminal.BlockOf("  ", e.Changes)))
		return
	}
	shown := *page
	shown.Out = w
	for _, l := range e.Loops() {
		shown.PrintWhole(e.Project, l)
	}
}

// PrintWhole prints the summary of a loop with what it may write and reach, and each of its actions.
func (page *Page) PrintWhole(p *project.Project, l *fsm.Loop) {
	page.PrintLoop(p, l)
	fmt.Fprintln(page.Out)
	terminal.WriteTable(page.Out,
		[][]string{{"may write", Writes(l)}, {"may reach", Reaches(l)}, {"may spend", Spends(l)}})
	terminal.WriteActions(page.Out, page.Paint, l)
}

// weakest returns what limits every action of a loop; nil = nothing does.
func weakest(l *fsm.Loop) *confine.Policy {
	if l.Sandbox.Limits() {
		return l.Sandbox
	}
	return nil
}

// Writes says what the actions of a loop may change, as far as the loop limits it.
func Writes(l *fsm.Loop) string {
	switch s := weakest(l); {
	case s == nil:
		return "all that you may: the loop has no sandbox"
	case s.Write != nil:
		return strings.Join(s.Write, ", ")
	case confine.Strength(s.Preset) >= confine.Strength(confine.Workspace):
		return "the work tree, temporary folders and caches (sandbox: " + s.Preset + ")"
	}
	return "all that you may"
}

// Reaches says which network the actions of a loop may reach, as far as the loop limits it.
func Reaches(l *fsm.Loop) string {
	switch s := weakest(l); {
	case s != nil && s.Network != nil:
		return strings.Join(s.Network, ", ")
	case s != nil && (s.Preset == confine.Offline || s.Preset == confine.Strict):
		return "no network (sandbox: " + s.Preset + ")"
	}
	return "any network"
}

// Spends says what the prompts of a loop may cost, as far as the loop limits it.
func Spends(l *fsm.Loop) string {
	if limits := budgetLimitsText(l.Budget); len(limits) > 0 {
		return strings.Join(limits, ", ")
	}
	for _, name := range l.Order {
		s := l.States[name]
		branches := s.Branches != nil && slices.ContainsFunc(s.Branches.List, func(b *fsm.Branch) bool {
			return fsm.Prompts(b.State)
		})
		if fsm.Prompts(s) || branches {
			return "what its prompts cost: the loop has no budget"
		}
	}
	return "nothing on prompts"
}

// TrustedLoop returns a loop that a user trusts.
func TrustedLoop(t project.TrustedLoop) api.TrustedLoop {
	return api.TrustedLoop{Loop: t.Loop, File: t.File, Why: t.Why, Time: api.Stamp(t.At), Files: t.Files}
}

// PrintTrusted lists the loops of a project that a user trusts.
func PrintTrusted(page *Page, all []project.TrustedLoop, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(page.Out, each(all, TrustedLoop))
	}
	why := map[string]string{
		project.TrustAsked: "shown", project.TrustSaid: "loops trust",
		project.TrustRan: "ran before",
	}
	if len(all) == 0 {
		terminal.SayLine(page.Out, "No loop of others is trusted here.")
		return nil
	}
	var rows [][]string
	for _, t := range all {
		rows = append(rows,
			[]string{
				humanize.PlainLine(t.Loop), humanize.PlainLine(t.File), t.At.Local().Format("2006-01-02"),
				why[t.Why],
			})
	}
	terminal.WriteTable(page.Out, rows)
	return nil
}
