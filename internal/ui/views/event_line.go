package views

import (
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/ui"
)

// PrintEvent prints one event as a line: time, kind, what is worth knowing.
func (page *Page) PrintEvent(e fsm.Event, verbose bool) {
	when := "        "
	if !e.Time.IsZero() {
		when = e.Time.Local().Format(time.TimeOnly)
	}
	line := fmt.Sprintf("%s  %s%-16s  %s", when, strings.Repeat("  ", e.Depth), e.Kind, EventDetail(e, page.Paint, verbose))
	line = strings.TrimRight(line, " ")
	output := e.Kind == fsm.EventActionOutput
	if !verbose && !output {
		ui.SayLine(page.Out, line)
		return
	}
	front := ""
	for part := range strings.SplitSeq(line, "\n") {
		if output {
			ui.SayOutput(page.Out, front, part)
		} else {
			ui.SayLine(page.Out, front+part)
		}
		front = strings.Repeat(" ", 28)
	}
}
