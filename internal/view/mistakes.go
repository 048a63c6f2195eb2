package view

import (
	"fmt"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// SettingsText says which files have mistakes, what follows from that, and what the mistakes are.
func SettingsText(e *project.SettingsError, then string) terminal.Block {
	lines := append(e.Problems[:0:0], e.Problems...)
	for i := range lines {
		lines[i].File = e.Project.Short(lines[i].File)
	}
	files := e.Files()
	verb := " has"
	if len(files) > 1 {
		verb = " have"
	}
	return terminal.Block(humanize.PlainLine(humanize.And(files))+verb+" mistakes"+then+":\n") + terminal.LinesOf(lines)
}

// NoIDText says that no run has an id, and what the user may have meant.
func NoIDText(no *project.NoIDError) string {
	switch {
	case no.Runs > 0:
		return fmt.Sprintf("%s is a loop with %s, and no run; loops history %s lists their ids, loops prune "+
			"removes old ones", no.ID, humanize.Count(no.Runs, "run"), humanize.ShellWord(no.ID))
	case no.Near != "":
		return fmt.Sprintf("there is no run %s; did you mean %s?", no.ID, no.Near)
	}
	return fmt.Sprintf("there is no run %s; loops history NAME lists the runs of a loop", no.ID)
}

// NoSuchStep returns the error for a step that the run has not, which came to last; nil = to no step.
func NoSuchStep(r persistence.Run, number string, last *inspect.Visit) error {
	if last == nil {
		return engine.Refuse(engine.NotFound, "nothing is recorded of the steps of run %s", r.ID)
	}
	return engine.Refuse(engine.NotFound, "run %s has no step %s: it has taken %s; see: loops history %s -e "+
		"state_enter -n 0",
		r.ID, number, humanize.Count(last.Step, "step"), humanize.ShellWord(string(r.ID)))
}
