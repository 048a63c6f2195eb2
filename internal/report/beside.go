package report

import (
	"strings"

	"loops/fsm"
	"loops/internal/inspect"
)

// beside is what an event from inside a branch or an item adds to the output of the step that runs it: what its
// actions print, and which of them failed. Each line begins with the label. "" = nothing.
func beside(e fsm.Event, label string) string {
	var lines []string
	switch e.Kind {
	case fsm.EventActionStart:
		lines = append(lines, "$ "+firstLine(inspect.Text(e.Get("action"))))
	case fsm.EventActionOutput:
		lines = append(lines, strings.TrimSuffix(inspect.Text(e.Get("line")), "\n"))
	case fsm.EventActionComplete:
		if errors := strings.TrimSpace(inspect.Text(e.Get("stderr_preview"))); errors != "" {
			lines = append(lines, "[standard error]", errors)
		}
		if code := inspect.Text(e.Get("exit_code")); code != "0" {
			lines = append(lines, "[exit code "+code+"]")
		}
	case fsm.EventActionError:
		lines = append(lines, "[error] "+inspect.Text(e.Get("error")))
	}
	if len(lines) == 0 {
		return ""
	}
	return label + ": " + strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\n"+label+": ")
}
