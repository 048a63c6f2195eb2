package simulate

import (
	"fmt"
	"strings"

	"loops/fsm"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/live"
	"loops/internal/terminal"
	"loops/internal/view"
)

// A simulationPrinter prints the way of a simulation, as lines while it is running or as JSON at its end.
type simulationPrinter struct {
	d     *Desk
	r     *Subject
	o     *DeskSimulation
	paint terminal.Paint

	head  string              // line of the state entered last, not printed yet
	more  []string            // lines below that one
	steps []api.SimulatedStep // for JSON

	verdict string // not printed yet
	state   string // outermost, entered last
	judged  string // its verdict
}

func newSimulationPrinter(d *Desk, r *Subject, o *DeskSimulation) *simulationPrinter {
	p := &simulationPrinter{d: d, r: r, o: o, paint: d.Paint}
	if !o.JSON {
		d.simulationHeader(r, o)
	}
	return p
}

func (d *Desk) simulationHeader(r *Subject, o *DeskSimulation) {
	if o.Quiet {
		return
	}
	terminal.Say(d.Out, "Simulating loop: %s\nMax steps: %d\n  loop: %s\n", r.Loop.Name, r.Loop.MaxSteps,
		r.project.Short(r.Loop.File))
	switch {
	case o.how.Seed != nil:
		terminal.Say(d.Out, "  seed: %d\n", *o.how.Seed)
	case o.how.Script != "":
		terminal.Say(d.Out, "  script: %s\n", o.how.Script)
	case o.how.Scenario != "":
		terminal.Say(d.Out, "  scenario: %s\n", o.how.Scenario)
	}
	fmt.Fprintln(d.Out)
}

func (p *simulationPrinter) event(e fsm.Event) {
	switch {
	case e.Kind == fsm.EventStateEnter && e.Depth == 0:
		p.state, p.judged = inspect.Text(e.Get("state")), ""
	case e.Kind == fsm.EventEvaluate && e.Depth == 0:
		p.judged = inspect.Text(e.Get("verdict"))
	}
	switch {
	case p.o.JSON:
		p.collect(e)
	case !p.o.Quiet:
		p.show(e)
	}
}

// show prints an event.
func (p *simulationPrinter) show(e fsm.Event) {
	pad := strings.Repeat("  ", e.Depth)
	if e.Kind != fsm.EventRoute && p.verdict != "" {
		p.line(pad + live.Indent + p.verdict)
		p.verdict = ""
	}
	switch e.Kind {
	case fsm.EventLoopStart:
		if e.Depth > 0 {
			p.line(pad + "sub-loop " + inspect.Text(e.Get("loop")))
		}
	case fsm.EventStateEnter:
		p.flush()
		step := fmt.Sprintf("%s[%s/%d] ", pad, inspect.Text(e.Get("iteration")), p.r.Loop.MaxSteps)
		if e.Depth > 0 { // the cap is that of the outermost loop
			step = fmt.Sprintf("%s[%s] ", pad, inspect.Text(e.Get("iteration")))
		}
		p.head = step + p.paint.Bold(inspect.Text(e.Get("state")))
		if st := p.r.Loop.States[inspect.Text(e.Get("state"))]; e.Depth == 0 && st != nil && st.Await != nil {
			p.head += " -> " + p.short(st.Await.String())[0]
		} else if e.Depth == 0 && st != nil && st.Branches != nil {
			p.head += " -> " + p.short(st.Branches.String())[0]
		} else if e.Depth == 0 && st != nil && st.Each != nil {
			p.head += " -> " + p.short(st.Each.String())[0]
		}
	case fsm.EventActionRetry:
		p.flush()
		p.head = fmt.Sprintf("%s%sretry %s of %s", pad, live.Indent, inspect.Text(e.Get("retry")),
			inspect.Text(e.Get("times")))
	case fsm.EventActionStart:
		lines := p.short(inspect.Text(e.Get("action")))
		p.head += " -> " + lines[0]
		for _, line := range lines[1:] {
			p.more = append(p.more, pad+live.Indent+line)
		}
	case fsm.EventActionComplete:
		for _, line := range p.short(inspect.Text(e.Get("output_preview"))) {
			p.line(pad + live.Indent + p.paint.Dim(humanize.PlainLine(line)))
		}
		if code := inspect.Text(e.Get("exit_code")); code != "0" {
			p.line(pad + live.Indent + p.paint.Red("exit: "+code))
		}
	case fsm.EventEvaluate:
		p.verdict = inspect.Text(e.Get("verdict"))
		if p.verdict == "" {
			p.verdict = `""`
		}
		if why := inspect.Text(e.Get("error")); why != "" {
			p.verdict += " (" + humanize.Cut(humanize.FirstLine(humanize.PlainLine(why)), 160) + ")"
		}
	case fsm.EventRoute:
		line := "-> " + p.paint.Cyan(inspect.Text(e.Get("to")))
		if p.verdict != "" {
			line = p.verdict + " " + line
		}
		if why := inspect.Text(e.Get("reason")); why != "" {
			line += " (" + why + ")"
		}
		p.verdict = ""
		p.line(pad + live.Indent + line)
	case fsm.EventLoopComplete:
		p.flush()
		if e.Depth > 0 {
			p.line(fmt.Sprintf("%ssub-loop ended: %s [%s]", pad, inspect.Text(e.Get("final_state")),
				inspect.Text(e.Get("terminated_by"))))
		}
	default:
		if note := view.SimulationNote(e); note != "" {
			p.line(pad + live.Indent + p.paint.Amber(note))
		}
	}
}

// short is a text on one line, or with -v all its lines.
func (p *simulationPrinter) short(s string) []string {
	if p.o.Verbose {
		return strings.Split(strings.TrimSpace(s), "\n")
	}
	return []string{humanize.Cut(humanize.PlainLine(humanize.FirstLine(s)), 120)}
}

func (p *simulationPrinter) flush() {
	if p.head != "" {
		terminal.SayLine(p.d.Out, p.head)
		p.head = ""
		for _, line := range p.more {
			terminal.SayLine(p.d.Out, line)
		}
		p.more = nil
	}
}

func (p *simulationPrinter) line(s string) {
	p.flush()
	terminal.SayLine(p.d.Out, s)
}

// collect notes an event for JSON.
func (p *simulationPrinter) collect(e fsm.Event) {
	if e.Kind == fsm.EventStateEnter {
		p.steps = append(p.steps, api.SimulatedStep{
			Depth: e.Depth, Step: number(e.Get("iteration")),
			State: inspect.Text(e.Get("state")),
		})
		return
	}
	i := len(p.steps) - 1
	for i >= 0 && p.steps[i].Depth != e.Depth { // the step of the loop it is about
		i--
	}
	if i < 0 {
		return
	}
	step, text := &p.steps[i], func(key string) *string { return new(inspect.Text(e.Get(key))) }
	switch e.Kind {
	case fsm.EventLoopStart, fsm.EventLoopComplete:
	case fsm.EventActionStart:
		step.Action, step.Prompt = text("action"), new(e.Get("is_prompt") == true)
	case fsm.EventActionComplete:
		step.ExitCode, step.Output = new(number(e.Get("exit_code"))), new(*string)
		if e.Get("output_preview") != nil {
			*step.Output = text("output_preview")
		}
	case fsm.EventEvaluate:
		step.Evaluator, step.Verdict = text("type"), text("verdict")
	case fsm.EventRoute:
		step.To = text("to")
	default:
		if note := view.SimulationNote(e); note != "" {
			step.Notes = append(step.Notes, note)
		}
	}
}

// number returns a number of an event.
func number(v any) int64 {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	n, _ := v.(int64)
	return n
}

// finish says how the run would end; for a program it returns that with the way there.
func (p *simulationPrinter) finish(o fsm.Outcome) any {
	if p.o.JSON {
		return api.Simulated{Tried: tried(p.r, p.o), Path: p.steps, End: p.d.endOf(o)}
	}
	p.flush()
	if !p.o.Quiet {
		if p.verdict != "" {
			terminal.SayLine(p.d.Out, live.Indent+p.verdict)
		}
		fmt.Fprintln(p.d.Out)
	}
	terminal.Say(p.d.Out, "Would end: %s: %s (%s; exit code %d)\n", inspect.EndWord(o, p.r.Loop.MaxSteps),
		o.FinalState, humanize.Count(o.Steps, "step"), p.d.Code(o))
	if o.Error != "" {
		line := "Error: " + o.Error
		if o.Error == inspect.NoTransition && p.judged != "" {
			line += ": " + inspect.Untransitioned(p.r.Loop, p.state, p.judged)
		}
		terminal.SayLine(p.d.Out, line)
	}
	if !p.o.Quiet {
		terminal.SayLine(p.d.Out, "Nothing was run.")
	}
	return nil
}

// tried says of what loop results were made up, and how.
func tried(r *Subject, o *DeskSimulation) api.Tried {
	t := o.how
	t.Loop, t.File, t.MaxSteps = r.Loop.Name, r.Loop.File, r.Loop.MaxSteps
	return t
}

// endOf returns how a run would end.
func (d *Desk) endOf(o fsm.Outcome) api.EndOfRun {
	return api.EndOfRun{End: end(o), Steps: o.Steps, ExitCode: d.Code(o)}
}

func end(o fsm.Outcome) api.End {
	return api.End{TerminatedBy: o.TerminatedBy, State: o.FinalState, Failure: o.Failure, Error: api.Text(o.Error)}
}

// printTally says how often each end was reached; for a program it returns that.
func (d *Desk) printTally(r *Subject, o *DeskSimulation, t *Tally) any {
	mean := float64(t.Steps) / float64(t.Runs)
	if o.JSON {
		all := api.SimulatedRuns{
			Tried: tried(r, o), Runs: t.Runs,
			Steps: api.StepCounts{Least: t.Least, Most: t.Most, Mean: mean},
		}
		for _, e := range t.Endings() {
			all.Ends = append(all.Ends, api.EndCount{
				End: end(e.Outcome), ExitCode: d.Code(e.Outcome), Runs: e.Runs,
				Share: float64(e.Runs) / float64(t.Runs), Seed: e.Seed,
			})
		}
		return all
	}
	d.simulationHeader(r, o)
	terminal.Say(d.Out, "%d runs would take %d to %d steps, %.1f on average, and end so:\n", t.Runs, t.Least, t.Most,
		mean)
	for _, e := range t.Endings() {
		terminal.Say(d.Out, "%8d  %5.1f%%  %s: %s (such as --seed %d)\n", e.Runs, 100*float64(e.Runs)/float64(t.Runs),
			inspect.EndWord(e.Outcome, r.Loop.MaxSteps), e.Outcome.FinalState, e.Seed)
		if e.Outcome.Error != "" {
			terminal.Say(d.Out, "%18s%s\n", "", humanize.Cut(humanize.FirstLine(humanize.PlainLine(e.Outcome.Error)),
				160))
		}
	}
	if !o.Quiet {
		terminal.SayLine(d.Out, "Nothing was run.")
	}
	return nil
}
