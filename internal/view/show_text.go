package view

import (
	"fmt"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
)

// previewWidth is how much of an action the summary of a loop shows, in columns.
const previewWidth = 44

// Endings names the terminals.
func Endings(l *fsm.Loop) string {
	var out []string
	for _, name := range l.Order {
		if s := l.States[name]; s.Terminal {
			if s.Failure {
				name += " (failure)"
			}
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// Limits are the limits of a loop on one line.
func Limits(l *fsm.Loop) string {
	out := []string{humanize.Count(l.MaxSteps, "step")}
	if l.MaxIterations > 0 {
		out = append(out, passes(l.MaxIterations))
	}
	if l.Timeout > 0 {
		out = append(out, humanize.Duration(l.Timeout)+" in all")
	}
	out = append(out, budgetLimitsText(l.Budget)...)
	if l.Backoff > 0 {
		out = append(out, "a pause of "+humanize.Duration(l.Backoff)+" between states")
	}
	if l.Stall != nil {
		out = append(out, fmt.Sprintf("%d equal results in a row", l.Stall.Window))
	}
	if l.Maintain {
		out = append(out, "begins again where no way leads on")
	}
	return strings.Join(out, ", ")
}

// budgetLimitsText is what a budget allows, for a person.
func budgetLimitsText(b *fsm.Budget) (out []string) {
	if b == nil {
		return nil
	}
	if b.CostUSD > 0 {
		out = append(out, fmt.Sprintf("a cost of $%g", b.CostUSD))
	}
	if b.Tokens > 0 {
		out = append(out, humanize.Count(int(b.Tokens), "token"))
	}
	if b.Wall > 0 {
		out = append(out, "a budget of "+humanize.Duration(b.Wall))
	}
	if b.Steps > 0 {
		out = append(out, "a budget of "+humanize.Count(b.Steps, "step"))
	}
	if b.Prompts > 0 {
		out = append(out, humanize.Count(b.Prompts, "prompt"))
	}
	return out
}

func passes(n int) string {
	if n == 1 {
		return "1 pass"
	}
	return fmt.Sprintf("%d passes", n)
}

// Handlers says where caps lead.
func Handlers(l *fsm.Loop) string {
	var out []string
	for _, h := range [][2]string{
		{"steps used up", l.OnMaxSteps},
		{"passes used up", l.OnMaxIterations},
		{"budget used up", l.OnBudget},
	} {
		if h[1] != "" {
			out = append(out, h[0]+" -> "+h[1])
		}
	}
	if l.Stall != nil && l.Stall.OnRepeated != "abort" && l.Stall.OnRepeated != "" {
		out = append(out, "no progress -> "+l.Stall.OnRepeated)
	}
	return strings.Join(out, ", ")
}

// Inputs says what input a user can give the loop.
func Inputs(l *fsm.Loop) string {
	key := l.InputKey
	var out []string
	for _, name := range l.RequiredInputs {
		what := " (required)"
		if name == key {
			what = " (required, behind the name)"
			key = ""
		}
		out = append(out, name+what)
	}
	if _, ok := l.Context.Get(key); ok && key != "" {
		out = append(out, key+" (behind the name)")
	}
	return strings.Join(out, ", ")
}

// ParameterLine is a parameter of a loop on one line.
func ParameterLine(p fsm.Parameter) string {
	line := p.Name + ": " + p.Type
	if len(p.Values) > 0 {
		values := make([]string, len(p.Values))
		for i, v := range p.Values {
			values[i] = inspect.Text(v)
		}
		line += " of " + strings.Join(values, ", ")
	}
	switch {
	case p.Required:
		line += ", required"
	case p.Default != nil:
		line += " = " + humanize.Cut(humanize.PlainLine(oneLineOf(inspect.Text(p.Default))), 40)
	}
	if p.Description != "" {
		line += "; " + humanize.PlainLine(humanize.FirstLine(p.Description))
	}
	return line
}

// ContextLine is the context of a loop on one line.
func ContextLine(l *fsm.Loop) string {
	var out []string
	for _, k := range l.Context.Keys() {
		v, _ := l.Context.Get(k)
		out = append(out, k+"="+humanize.Cut(humanize.PlainLine(oneLineOf(inspect.Text(v))), 24))
	}
	return humanize.Cut(strings.Join(out, "  "), 200)
}

func oneLineOf(s string) string { return strings.Join(strings.Fields(s), " ") }

// MadeOf names the other files that a loop's states come from.
func MadeOf(p *project.Project, l *fsm.Loop) []string {
	var files []string
	add := func(pos fsm.Pos) {
		if name := p.Short(pos.File); pos.File != "" && pos.File != l.File && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	for _, k := range []string{"name", "initial", "max_steps", "context", "parameters"} {
		add(l.Place(0, k))
	}
	for _, name := range l.Order {
		add(l.Place(fsm.KeyPlace, "states", name))
		for _, k := range []string{"action", "evaluate", "loop", "on_yes", "next", "on_error"} {
			add(l.Place(fsm.KeyPlace, "states", name, k))
		}
	}
	slices.Sort(files)
	return files
}

// Does says in a few words what a state does.
func Does(s *fsm.State) string {
	var out []string
	switch {
	case s.Title() != "" && !s.Terminal:
		out = append(out, humanize.Cut(humanize.PlainLine(s.Title()), previewWidth))
	case s.Loop != "":
		text := "runs loop " + s.Loop
		if s.Worktree != "" {
			text += " in a work tree"
		}
		out = append(out, text)
	case s.Terminal && s.Failure:
		out = append(out, "end, failure")
	case s.Terminal:
		out = append(out, "end")
	case s.Await != nil:
		out = append(out, humanize.Cut(humanize.PlainLine(s.Await.String()), previewWidth))
	case s.Branches != nil:
		for _, b := range s.Branches.List {
			out = append(out, humanize.Cut(humanize.PlainLine("parallel "+b.Name+": "+b.Text()), previewWidth))
		}
	case s.Each != nil:
		out = append(out, humanize.Cut(humanize.PlainLine(s.Each.String()+": $ "+s.Action), previewWidth))
	case s.Action != "":
		kind := s.ActionType
		if kind == "" || kind == "shell" {
			kind = "$"
		} else {
			kind += ":"
		}
		out = append(out, humanize.Cut(kind+" "+humanize.PlainLine(firstCodeLine(s.Action)), previewWidth))
	}
	if s.Evaluate != nil && s.Next == "" {
		out = append(out, "? "+s.Evaluate.Type)
	}
	if s.Fragment != nil {
		out = append(out, "("+s.Fragment.Name+")")
	}
	return strings.Join(out, " ")
}

// firstCodeLine returns the first line of a script that is neither blank nor a comment.
func firstCodeLine(s string) string {
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return humanize.FirstLine(s)
}

// Ways writes the transitions out of a state, those to one target together: yes -> done  no, error -> fix.
func Ways(s *fsm.State) string {
	var targets []string
	when := map[string][]string{}
	for _, e := range Edges(s) {
		if when[e[1]] == nil {
			targets = append(targets, e[1])
		}
		when[e[1]] = append(when[e[1]], condition(e[0]))
	}
	out := make([]string, len(targets))
	for i, to := range targets {
		out[i] = strings.TrimSpace(strings.Join(when[to], ", ") + " -> " + to)
	}
	return strings.Join(out, "  ")
}

// condition returns as text when a key of a state leads on; "" is always.
func condition(key string) string {
	switch key {
	case "next":
		return ""
	case "route _":
		return "else"
	case "route _error":
		return "error"
	}
	return strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(key, "on_"), "route "), "_", " ")
}
