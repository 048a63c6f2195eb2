package view

import (
	"strconv"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// PrintBlamed shows which step wrote a line, and what is to be said of the step.
func PrintBlamed(page *Page, b *engine.Blamed, story *inspect.Story, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(page.Out, api.Blamed{
			File: b.File, Line: b.Line, Text: b.Text, Instance: string(b.Run.ID), Loop: b.Run.Loop,
			Step: b.Snapshot.Step, Time: api.Stamp(b.Snapshot.Time), Commit: b.Snapshot.Commit,
			Explanation: Explanation(story),
		})
	}
	terminal.SayLine(page.Out, humanize.PlainLine(b.File)+":"+strconv.Itoa(b.Line)+": "+humanize.PlainLine(b.Text))
	terminal.Say(page.Out, "Written by step %s of %s, kept on %s\n\n",
		b.Snapshot.Step, b.Run.ID, b.Snapshot.Time.Format("2006-01-02 15:04:05"))
	page.PrintExplanation(story, true)
	return nil
}
