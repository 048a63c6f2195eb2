package live

import (
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// remember keeps what the end of a failed run has to say about its last action.
func (p *Text) remember(e fsm.Event) {
	switch e.Kind {
	case fsm.EventStateEnter:
		if e.Depth == 0 {
			p.state, p.judged = inspect.Text(e.Get("state")), ""
		}
	case fsm.EventEvaluate:
		if e.Depth == 0 {
			p.judged = inspect.Text(e.Get("verdict"))
		}
	case fsm.EventActionStart:
		p.output, p.errors, p.shown = "", "", false
	case fsm.EventActionComplete:
		p.output, p.errors = inspect.Text(e.Get("output_preview")), inspect.Text(e.Get("stderr_preview"))
	case fsm.EventItemEnd:
		if inspect.Text(e.Get("verdict")) != "yes" {
			p.output, p.errors, p.shown = inspect.Text(e.Get("output")), inspect.Text(e.Get("stderr_preview")), false
		}
	}
}

func (p *Text) route(e fsm.Event, pad string) {
	line := "-> " + p.paint.Cyan(terminal.ValueText(e.Get("to")))
	if p.verdict != "" {
		line = p.takeVerdict() + " " + line
	}
	if why := terminal.ValueText(e.Get("reason")); why != "" {
		line += " (" + why + ")"
	}
	p.print(pad + Indent + line)
}

// takeVerdict returns the verdict that was not printed yet, with its reason.
func (p *Text) takeVerdict() string {
	line := p.mark(p.verdict)
	if p.why != "" {
		line += " (" + p.why + ")"
	}
	p.verdict, p.why = "", ""
	return line
}

func (p *Text) mark(verdict string) string {
	switch inspect.ToneOf(verdict) {
	case inspect.Success:
		return p.paint.Green(verdict)
	case inspect.Failure:
		return p.paint.Red(verdict)
	case inspect.Neutral:
	}
	return p.paint.Amber(humanize.PlainLine(verdict))
}
