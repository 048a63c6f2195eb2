package views

import (
	"fmt"
	"strings"

	"loops/engine"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/plain"
	"loops/internal/ui"
	"loops/persistence"
)

// A Pending is a run that asks something.
type Pending struct {
	Run      persistence.Run
	Question *fsm.OpenQuestion
}

// Object is the question for a program.
func (p Pending) Object() *value.Map {
	q := p.Question
	fields := value.NewMap()
	for _, f := range q.Fields {
		fields.Set(f.Name, f.Type)
	}
	m := value.NewMap("address", q.Address, "instance_id", string(p.Run.ID), "run_id", p.Run.RunID, "loop", p.Run.Loop, "state", q.Wait.State, "question", q.Question,
		"choices", ui.Texts(q.Choices), "fields", fields, "show", ui.OrNull(q.Show), "who", ui.Texts(q.Who), "since", ui.Stamp(q.Wait.Since), "until", nil)
	if !q.Wait.Until.IsZero() {
		m.Set("until", ui.Stamp(q.Wait.Until))
	}
	return m
}

// PrintAsked prints a question, and how it is answered. whole shows what is shown with it, too.
func (page *Page) PrintAsked(p Pending, whole bool) {
	q := p.Question
	head := fmt.Sprintf("%s  %s  asks since %s", p.Run.ID, q.Wait.State, humanize.Clock(q.Wait.Since))
	if !q.Wait.Until.IsZero() {
		head += ", until " + humanize.Clock(q.Wait.Until)
	}
	if len(q.Who) > 0 {
		head += ", " + strings.Join(q.Who, ", ")
	}
	page.indented("", head)
	for line := range strings.SplitSeq(strings.TrimSpace(q.Question), "\n") {
		page.indented("  ", plain.Line(line))
	}
	if whole && q.Show != "" {
		for line := range strings.SplitSeq(strings.TrimRight(q.Show, "\n"), "\n") {
			page.indented("  | ", plain.Line(line))
		}
	}
	page.indented("  ", page.AnswerCommand(string(p.Run.ID), q))
}

// AnswerCommand is the command that answers a question, with its choices and fields.
func (page *Page) AnswerCommand(run string, q *fsm.OpenQuestion) string {
	command := page.Remedy(engine.AnswerRemedy(run, q.Address)) + " " + strings.Join(q.Choices, "|")
	for _, f := range q.Fields {
		command += " [--field " + f.Name + "=" + strings.ToUpper(f.Type) + "]"
	}
	return command
}

// AnswersObject is the answers to questions of a run for a program.
func AnswersObject(all []inspect.GivenAnswer) []any {
	return ui.List(all, func(g inspect.GivenAnswer) any {
		fields := g.Fields
		if fields == nil {
			fields = value.NewMap()
		}
		return value.NewMap("address", g.Address, "state", ui.OrNull(g.State), "path", ui.OrNull(g.Path), "question", ui.OrNull(g.Question), "choice", g.Choice, "fields", fields,
			"by", ui.OrNull(g.By), "at", ui.Stamp(g.At))
	})
}
