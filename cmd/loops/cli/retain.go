package cli

import (
	"fmt"

	"loops/engine"
	"loops/internal/phrase"
	"loops/internal/ui/progress"
	"loops/internal/ui/views"
)

// retained tells what retention removed beside a run. Quiet, it tells only what went wrong.
func (a *app) retained(n engine.Retained, print progress.Printer, quiet bool) {
	if text := retainedText(n.Removed, n.Late); text != "" && !quiet {
		print.Note(text)
		for _, r := range n.Removed {
			if r.Tree != nil {
				progress.NoteLines(print, "", views.TreeLines(*r.Tree))
			}
		}
	}
	if n.Err != nil {
		print.Note("loops: retention: " + oneLine(a.refused(n.Err)))
	}
}

// retainedText says what went and, where the time was too short, who removes the rest; "" where there is nothing to say.
func retainedText(gone []engine.Removed, late bool) string {
	const rest = "loops prune does it at once, a later run goes on with it."
	switch {
	case len(gone) == 0 && late:
		return "Retention had no time to remove anything: " + rest
	case len(gone) == 0:
		return ""
	}
	text := fmt.Sprintf("Retention removed %s, %s.", phrase.Count(len(gone), "run"), phrase.Bytes(total(gone)))
	if late {
		text += " There may be more: " + rest
	}
	return text
}
