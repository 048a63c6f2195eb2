package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// EventDetail is what an event says beside its kind, on one line.
func EventDetail(e fsm.Event, p terminal.Paint, verbose bool) string {
	get := func(k string) string { return inspect.Text(e.Get(k)) }
	switch e.Kind {
	case fsm.EventStateEnter:
		return get("state") + "  (step " + get("iteration") + ")"
	case fsm.EventActionStart:
		if verbose {
			return get("action")
		}
		return humanize.Cut(humanize.FirstLine(get("action")), 120)
	case fsm.EventActionOutput:
		return get("line")
	case fsm.EventActionComplete:
		ms, _ := e.Get("duration_ms").(int64)
		line := p.Green("ok")
		if code := terminal.ValueText(e.Get("exit_code")); code != "0" {
			line = p.Red("exit=" + code)
		}
		if status := get("status"); status != "" {
			line += "  status=" + status
		}
		line += "  " + humanize.Duration(time.Duration(ms)*time.Millisecond)
		if errors := get("stderr_preview"); verbose && errors != "" {
			line += "\n" + strings.TrimRight(errors, "\n")
		}
		return line
	case fsm.EventEvaluate:
		return strings.TrimSpace(get("verdict") + "  " + inspect.Pairs(e, "verdict"))
	case fsm.EventRoute:
		return strings.TrimSpace(get("from") + " -> " + get("to") + "  " + inspect.Pairs(e, "from", "to"))
	case fsm.EventLoopComplete:
		line := fmt.Sprintf("%s  after %s  [%s]", get("final_state"), stepsText(get("iterations")),
			get("terminated_by"))
		if why := inspect.Text(e.Get("merge_error")); why != "" {
			line += "  not merged: " + why
		}
		if get("failure_terminal") == "true" {
			line += "  failure"
		}
		return strings.TrimSpace(line + "  " + cmp.Or(get("error"), humanize.FirstLine(get("message"))))
	}
	return inspect.Pairs(e)
}

// stepsText writes the number of steps an event names.
func stepsText(n string) string {
	if n == "1" {
		return "1 step"
	}
	return n + " steps"
}
