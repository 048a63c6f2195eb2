package app

import (
	"cmp"
	"context"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// Asked is the questions that are open, or the one that was answered.
type Asked struct {
	Open  []Pending
	given *engine.Answered // nil = nothing was answered
	whole bool             // one run was named
	s     *Service
}

// Answer answers the question of the run that arg means. Without a choice, or that it is taken back, it returns
// the open questions: those of the run, or of all runs for "", and only the one at an address if there is one.
func (s *Service) Answer(ctx context.Context, arg string, said engine.Answer) (*Asked, error) {
	e, f, err := s.control(ctx)
	if err != nil {
		return nil, err
	}
	if said.Choice == "" && !said.Withdraw {
		open, err := OpenQuestions(ctx, f.Store, arg)
		if err != nil {
			return nil, err
		}
		a := &Asked{whole: arg != "", s: s}
		for _, q := range open { // of several runs
			if said.Address == "" ||
				q.Question.Address == fsm.QuestionAt([]*fsm.OpenQuestion{q.Question}, said.Address) {
				a.Open = append(a.Open, Pending(q))
			}
		}
		if len(a.Open) == 0 && said.Address != "" {
			return nil, engine.Refuse(engine.NotFound, "no question %s is open",
				humanize.Quote(fsm.ShownAddress(said.Address)))
		}
		return a, nil
	}
	run, ok, err := Addressed(ctx, f, arg)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &engine.NothingError{Finder: f, Verb: "answer", Arg: arg}
	}
	given, err := e.Answer(ctx, run.ID, said)
	if err != nil {
		return nil, several([]error{err})
	}
	return &Asked{Open: []Pending{{Run: run, Question: given.Question}}, given: &given, s: s}, nil
}

// Objects returns the questions for a program, with the answer that was given.
func (a *Asked) Objects() []any {
	return terminal.List(a.Open, func(p Pending) any {
		if a.given == nil {
			return p.Object()
		}
		return a.answered(p)
	})
}

// Object is what a program gets: the list of open questions, or the one that was answered.
func (a *Asked) Object() any {
	if a.given != nil {
		return a.answered(a.Open[0])
	}
	return a.Objects()
}

func (a *Asked) answered(p Pending) api.Answered {
	return api.Answered{
		Question: p.Object(), Choice: api.Text(a.given.Choice), By: api.Text(a.given.From),
		Alive: project.Alive(p.Run), Done: a.given.Standing == "",
	}
}

// Print prints the questions, or what happens to the answer.
func (a *Asked) Print(ctx context.Context) {
	page := a.s.Page
	if a.given == nil {
		if len(a.Open) == 0 {
			terminal.SayLine(page.Out, "No run asks anything.")
		}
		for _, p := range a.Open {
			page.PrintAsked(p.Run, p.Question, a.whole)
		}
		return
	}
	run := a.given.Run
	text := answeredText(*a.given)
	if open := a.given.Standing; open != "" {
		text += ". The question stays open: " + open
	} else if !project.Alive(run) {
		text += ". The run continues " + a.s.continues(ctx, run)
	}
	if a.given.Open > 0 {
		text += ". The run asks " + humanize.Count(a.given.Open, "other question") + " without an answer: " +
			page.Command("answer", string(run.ID))
	}
	terminal.SayLine(page.Out, text)
}

// answeredText says which question was answered: its state, the branch or item that asked it, and its text. Two
// users who answer a run one after the other may have answered two.
func answeredText(a engine.Answered) string {
	q := a.Question
	text := "Answered " + q.Wait.State + " of " + string(a.Run.ID)
	if q.Path != "" && q.Path != q.Wait.State {
		text += ", " + inspect.PlaceText(q.Path)
	}
	asked := strings.Join(strings.Fields(q.Question), " ")
	return text + ", " + humanize.Quote(value.Truncate(asked, mostAsked)) + ": " +
		cmp.Or(a.Choice, "the question is taken back")
}

// mostAsked is how much of a question is repeated when it is answered.
const mostAsked = 200
