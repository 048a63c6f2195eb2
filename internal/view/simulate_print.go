package view

import (
	"strings"

	"loops/fsm"
	"loops/internal/inspect"
)

// SimulationNote is what else an event has to say; "" of those that are about what was not done.
func SimulationNote(e fsm.Event) string {
	switch e.Kind {
	case fsm.EventNote, fsm.EventActionOutput, fsm.EventMessagesAppend, fsm.EventPromptSizeWarn,
		fsm.EventWorktreeAttached, fsm.EventWorktreeDetached:
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(e.Kind, "_", " ") + ": " + inspect.Pairs(e))
}
