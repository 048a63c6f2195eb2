package view

import (
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// PrintEvent prints one event as a line: time, kind, what is worth knowing. A line with the date and the zone
// precedes the first of a day.
func (page *Page) PrintEvent(e fsm.Event, verbose bool) {
	page.Day.Heading(page.Out, e.Time)
	when := "        "
	if !e.Time.IsZero() {
		when = e.Time.Local().Format(time.TimeOnly)
	}
	line := fmt.Sprintf("%s  %s%-16s  %s", when, strings.Repeat("  ", e.Depth), e.Kind,
		EventDetail(e, page.Paint, verbose))
	line = strings.TrimRight(line, " ")
	output := e.Kind == fsm.EventActionOutput
	if !verbose && !output {
		terminal.SayLine(page.Out, line)
		return
	}
	front := ""
	for part := range strings.SplitSeq(line, "\n") {
		if output {
			terminal.SayOutput(page.Out, front, part)
		} else {
			terminal.SayLine(page.Out, front+part)
		}
		front = strings.Repeat(" ", 28)
	}
}

// PrintFields prints what is recorded of an event, a key at a time, below its line.
func (page *Page) PrintFields(e fsm.Event) {
	const front = "            "
	for _, f := range e.Fields {
		if f.Value == nil {
			continue
		}
		lines := strings.Split(strings.TrimRight(inspect.Text(f.Value), "\n"), "\n")
		if len(lines) == 1 {
			terminal.SayLine(page.Out, front+f.Key+": "+lines[0])
			continue
		}
		terminal.SayLine(page.Out, front+f.Key+":")
		for _, line := range lines {
			terminal.SayLine(page.Out, front+"  "+line)
		}
	}
}
