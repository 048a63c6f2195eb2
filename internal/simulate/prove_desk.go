package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// DeskProof says which loop is proven, and what is printed.
type DeskProof struct {
	Name           string
	Context        []string
	Counterexample int // the property, from 1, of which only the script that breaks it is printed; 0 = all is printed
	Quiet          bool
	JSON           bool
}

// Prove proves a loop and prints what holds of all its runs; with JSON it returns an [api.Proven]. It reports
// false if a property is broken, or steps or prompts have no bound.
func (d *Desk) Prove(ctx context.Context, o *DeskProof) (answer any, good bool, err error) {
	r, err := d.Subject(o.Name, nil, o.Context, project.Overrides{}, o.JSON || o.Quiet || o.Counterexample > 0)
	if err != nil {
		return nil, false, err
	}
	p := Prove(r.Loop, r.library)
	if o.Counterexample > len(p.Checked) {
		return nil, false, engine.Misuse("prove", "there is no property %d: the loop has %s", o.Counterexample,
			humanize.Count(len(p.Checked), "property"))
	}
	scripts := make([][]string, len(p.Checked))
	for i := range p.Checked {
		if lines, ok := p.Scenario(i, func(replies Replies, observe func(fsm.Event)) (fsm.Outcome, error) {
			return d.walk(ctx, r, replies, observe)
		}); ok {
			scripts[i] = lines
		}
	}
	good = p.Good()
	if o.Counterexample > 0 {
		c := p.Checked[o.Counterexample-1]
		switch {
		case scripts[o.Counterexample-1] != nil:
			for _, line := range scripts[o.Counterexample-1] {
				terminal.SayLine(d.Out, line)
			}
			return nil, true, nil
		case c.Holds:
			return nil, false, engine.Misuse("prove", "the property %d holds: %s", o.Counterexample,
				c.Property.String())
		}
		return nil, false, engine.Refuse(engine.Failed, "verdicts alone do not break the property %d: %s",
			o.Counterexample, brokenBy(&c))
	}
	if o.JSON {
		return proven(p, scripts), good, nil
	}
	d.printProof(r, o, p, scripts)
	return nil, good, nil
}

// walk walks through a loop with made-up results.
func (d *Desk) walk(ctx context.Context, r *Subject, replies Replies, observe func(fsm.Event)) (fsm.Outcome, error) {
	verify, _ := d.Getenv(engine.EnvVerify)
	return Simulate(ctx, Simulation{
		Loop: r.Loop, Values: r.Values.Clone(), Library: r.library, Files: action.Files{Dir: r.project.WorkDir()},
		Dir: r.project.WorkDir(), Lessons: r.Lessons(),
		Getenv: d.Getenv, Replies: replies, Observe: observe, Verify: verify == "1",
	})
}

// Good reports whether steps and prompts have a bound and all properties hold.
func (r *Proof) Good() bool { return r.Bounded() && r.Kept() }

// Bounded reports whether steps and prompts have a bound.
func (r *Proof) Bounded() bool { return r.AllSteps.Most < Unbounded && r.Prompts.Most < Unbounded }

// Kept reports whether every property is known to hold.
func (r *Proof) Kept() bool {
	return !slices.ContainsFunc(r.Checked, func(c Checked) bool { return !c.Holds })
}

// Summary returns two lines about a loop: how its runs end and what they use at most, and what is wrong with that.
func (r *Proof) Summary() (lines [2]string) {
	lines[0] = r.endText() + "; " + r.usesText()
	var wrong []string
	for _, c := range r.Checked {
		if !c.Holds {
			wrong = append(wrong, "broken: "+c.Property.String())
		}
	}
	if len(r.Never) > 0 {
		wrong = append(wrong, "never reached: "+humanize.List(r.Never))
	}
	switch n := len(r.Checked); {
	case len(wrong) > 0:
		lines[1] = strings.Join(wrong, "; ")
	case n > 0:
		lines[1] = humanize.Count(n, "property") + map[bool]string{true: " holds; ", false: " hold; "}[n == 1] +
			r.repeatText()
	default:
		lines[1] = r.repeatText()
	}
	return lines
}

func (r *Proof) endText() string {
	if r.AllSteps.Most >= Unbounded {
		return "ends after " + r.Steps.text("step") + ", and what its sub-loops do has no bound"
	}
	text := "ends after " + r.Steps.text("step")
	if r.AllSteps.Most != r.Steps.Most {
		text += ", with its sub-loops " + r.AllSteps.text("step")
	}
	return text
}

func (r *Proof) usesText() string {
	if r.Prompts.Most == 0 {
		return "sends no prompt"
	}
	text := "sends " + r.Prompts.text("prompt") + ", "
	if r.Limited {
		return text + fmt.Sprintf("for %s and what the last prompt adds", humanize.USD(r.Cost))
	}
	return text + "and no budget limits what they cost"
}

func (r *Proof) repeatText() string {
	switch {
	case r.Cycle == nil && r.Retried != nil:
		return "repeats " + humanize.List(r.Retried) + " until max_retries is used up"
	case r.Cycle == nil:
		return "no state leads back to itself"
	}
	text := "repeats " + strings.Join(shorten(r.Cycle), " → ")
	if r.Steps.By != "" {
		text += " until " + r.Steps.By + " ends it"
	}
	return text
}

// text says how much it is, and which limit says so.
func (b Bound) text(what string) string {
	if b.Most >= Unbounded {
		return "any number of " + what + "s"
	}
	text := "at most " + humanize.Count(int(b.Most), what)
	if b.By != "" {
		text += " (" + b.By + ")"
	}
	return text
}

// shorten leaves out the middle of a long path.
func shorten(names []string) []string {
	const most = 9
	if len(names) <= most {
		return names
	}
	return slices.Concat(names[:most/2], []string{"…"}, names[len(names)-most/2:])
}

// brokenBy says how a run breaks a property.
func brokenBy(c *Checked) string {
	var b strings.Builder
	for i, name := range c.Path.States {
		if i > 0 {
			b.WriteString(" → ")
		}
		b.WriteString(name)
		if i < len(c.Path.Words) {
			b.WriteString(" " + c.Path.Words[i])
		}
	}
	if c.end != "" && c.end != fsm.EndTerminal {
		b.WriteString(", ends: " + c.end)
	}
	return b.String()
}

func (d *Desk) printProof(r *Subject, o *DeskProof, p *Proof, scripts [][]string) {
	w := d.Out
	if !o.Quiet {
		terminal.Say(w, "Loop: %s\n  %s\n\n", p.Loop.Name, r.project.Short(p.Loop.File))
	}
	terminal.Say(w, "Every run %s.\n", p.endText())
	terminal.Say(w, "It %s.\n", p.usesText())
	if p.Cycle != nil || p.Retried != nil {
		terminal.Say(w, "It %s.\n", p.repeatText())
	} else {
		terminal.Say(w, "No state leads back to itself.\n")
	}
	if len(p.Waits) > 0 {
		terminal.Say(w, "It may wait without an end in %s.\n", humanize.List(p.Waits))
	}
	if !o.Quiet {
		if len(p.Ends) > 0 {
			terminal.Say(w, "\nShortest path to each end:\n")
			d.printPaths(p.Ends)
		}
		if len(p.Failing) > 0 {
			terminal.Say(w, "\nReached only after a failure or by a limit:\n")
			d.printPaths(p.Failing)
		}
	}
	if len(p.Never) > 0 {
		terminal.Say(w, "\nNever reached: %s\n", humanize.List(p.Never))
	}
	if len(p.Checked) > 0 {
		terminal.Say(w, "\nProperties:\n")
	}
	for i := range p.Checked {
		c := &p.Checked[i]
		switch {
		case c.Holds:
			terminal.Say(w, "  %s  %s\n", d.Paint.Green("holds"), c.Property.String())
			continue
		case c.Unknown:
			terminal.Say(w, "  unknown  %s: the loop is too large to find out\n", c.Property.String())
			continue
		}
		terminal.Say(w, "  %s  %s\n", d.Paint.Red("broken"), c.Property.String())
		terminal.Say(w, "    %s\n", brokenBy(c))
		if scripts[i] == nil {
			terminal.Say(w, "    Verdicts alone do not lead there, so there is no script for loops simulate.\n")
			continue
		}
		terminal.Say(w, "    loops prove %s --counterexample %d | loops simulate %s --script -\n",
			humanize.ShellWord(o.Name), i+1, humanize.ShellWord(o.Name))
	}
	if len(p.Notes) > 0 && !o.Quiet {
		terminal.Say(w, "\nTaken as possible, because only a run knows:\n")
		for _, note := range p.Notes {
			terminal.Say(w, "  %s\n", note)
		}
	}
}

// mostPaths is how many paths are printed.
const mostPaths = 20

func (d *Desk) printPaths(paths []ProofPath) {
	for i, p := range paths {
		if i == mostPaths {
			terminal.Say(d.Out, "  and %d more; --json has all\n", len(paths)-i)
			break
		}
		steps := shorten(p.States)
		line := strings.Join(steps, " → ")
		name := p.End
		if len(p.States) > 0 {
			last := p.States[len(p.States)-1]
			switch {
			case p.End == fsm.EndTerminal || p.End == "":
				name = last
			case p.End == fsm.EndError && len(p.Words) > 0:
				name = fmt.Sprintf("%s, no route for %s", p.End, p.Words[len(p.Words)-1])
			}
		}
		if p.Steps > 0 {
			line = humanize.Count(p.Steps, "step") + ": " + line
		}
		if line = strings.TrimSuffix(line, ": "); line != "" {
			name += ": " + line
		}
		terminal.Say(d.Out, "  %s\n", name)
	}
}

// proven is a proof as programs get it.
func proven(p *Proof, scripts [][]string) api.Proven {
	o := api.Proven{
		Loop: p.Loop.Name, File: p.Loop.File, Bounded: p.Bounded(), Holds: p.Kept(),
		Steps: p.Steps.object(), AllSteps: p.AllSteps.object(), Prompts: p.Prompts.object(),
		Repeats: orNone(p.Cycle), Ends: pathObjects(p.Ends), AfterFail: pathObjects(p.Failing),
		Never: orNone(p.Never), MayWait: orNone(p.Waits),
		Properties: []api.ProvenProperty{}, Notes: orNone(p.Notes),
	}
	if p.Limited {
		o.CostUSD = &p.Cost
	}
	for i, c := range p.Checked {
		x := api.ProvenProperty{Property: c.Property.String(), Kind: c.Property.Kind, Script: scripts[i]}
		if !c.Unknown {
			x.Holds = &c.Holds
		}
		if !c.Holds && !c.Unknown {
			x.Path = &pathObjects([]ProofPath{c.Path})[0]
		}
		o.Properties = append(o.Properties, x)
	}
	return o
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func pathObjects(paths []ProofPath) []api.ProvenPath {
	out := make([]api.ProvenPath, len(paths))
	for i, p := range paths {
		out[i] = api.ProvenPath{
			End: api.Text(p.End), Failure: p.Failed, Steps: p.Steps, States: orNone(p.States),
			Words: orNone(p.Words),
		}
	}
	return out
}

func (b Bound) object() api.Bound {
	o := api.Bound{By: api.Text(b.By), Exact: b.Exact}
	if b.Most < Unbounded {
		o.Most = &b.Most
	}
	return o
}
