package view

import (
	"strings"

	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// AmbiguousText lists the runs of which one is to be named.
func AmbiguousText(e *project.AmbiguousError) string {
	var rows [][]string
	for _, r := range e.Runs {
		rows = append(rows, []string{"  " + string(r.ID), inspect.Outcome(r), "started " + humanize.Clock(r.StartedAt)})
	}
	var b strings.Builder
	terminal.WriteTable(&b, rows)
	return humanize.PlainLine(e.What) + "; name one of them:\n" + strings.TrimRight(b.String(), "\n")
}

// HeldText says that a live process owns a run, and what to do.
func HeldText(e *persistence.HeldError) string {
	r := persistence.Run{ID: e.ID, Owner: e.Owner, Held: true}
	if OutOfSight(r) {
		return awayText(r)
	}
	return e.Error() + "; wait for it, or: loops stop " + humanize.ShellWord(string(e.ID))
}
