package view

import (
	"fmt"
	"strings"

	"loops/engine"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/persistence"
)

// PrintAsked prints a question, and how it is answered. whole shows what is shown with it, too.
func (page *Page) PrintAsked(run persistence.Run, q *fsm.OpenQuestion, whole bool) {
	head := fmt.Sprintf("%s  %s  asks since %s", run.ID, q.Wait.State, humanize.Clock(q.Wait.Since))
	if !q.Wait.Until.IsZero() {
		head += ", until " + humanize.Clock(q.Wait.Until)
	}
	if q.Reminders > 0 {
		head += ", reminded " + humanize.Count(q.Reminders, "time")
	}
	if len(q.Who) > 0 {
		head += ", " + strings.Join(q.Who, ", ")
	}
	page.indented("", head)
	for line := range strings.SplitSeq(strings.TrimSpace(q.Question), "\n") {
		page.indented("  ", humanize.PlainLine(line))
	}
	if whole && q.Show != "" {
		for line := range strings.SplitSeq(strings.TrimRight(q.Show, "\n"), "\n") {
			page.indented("  | ", humanize.PlainLine(line))
		}
	}
	if text := q.Standing(); text != "" {
		page.indented("  ", "so far: "+humanize.PlainLine(text))
	}
	if len(q.Confirm) > 0 {
		page.indented("  ", "to be confirmed: "+strings.Join(q.Confirm, ", "))
	}
	page.indented("  ", page.AnswerCommand(string(run.ID), q))
}

// AnswerCommand is the command that answers a question, with its choices and fields.
func (page *Page) AnswerCommand(run string, q *fsm.OpenQuestion) string {
	command := page.Remedy(engine.AnswerRemedy(run, q.Address)) + " " + strings.Join(q.Choices, "|")
	for _, f := range q.Fields {
		command += " [--field " + f.Name + "=" + strings.ToUpper(f.Type) + "]"
	}
	return command
}
