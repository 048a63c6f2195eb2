package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// An Answer is a user's answer to the question that a run asks.
type Answer struct {
	Choice   string
	Fields   map[string]string // as texts, by name
	From     string            // who answers, as far as that is known
	Known    []string          // the names and teams by which the face knows who answers; nil = it does not
	Withdraw bool              // the question is taken back: there is no choice
	Address  string            // of the question, among several of a run; "" = the first that has no answer
}

// An Answered is an answer that is on record.
type Answered struct {
	Answer
	N        uint64
	Run      persistence.Run
	Question *fsm.OpenQuestion
	Open     int // questions of the run besides that have no answer yet
}

// Answer records the answer to the question that a run asks, for the visit to the state in which it asks. It is recorded when
// Answer returns, also for a run that no process carries. A question is answered once: a *Refusal names who was first.
func (e *Engine) Answer(ctx context.Context, id persistence.ID, s Answer) (Answered, error) {
	store, err := e.Records(ctx)
	if err != nil {
		return Answered{}, err
	}
	a := &asking{e: e, store: store, id: id}
	if a.Before, err = a.now(ctx); err != nil {
		return Answered{}, err
	}
	m, err := store.Snapshot(ctx, id)
	if m == nil && err != nil {
		return Answered{}, store.Failed(err)
	}
	given := Answered{Answer: s, Run: a.Before}
	open := m.Questions()
	if s.Address != "" && !slices.ContainsFunc(open, func(q *fsm.OpenQuestion) bool { return q.Address == s.Address }) {
		if err := a.answeredFirst(ctx, s.Address, "question "+humanize.Quote(s.Address), 0); err != nil {
			return given, err
		}
	}
	if len(open) == 0 || !a.Before.Resumable && !alive(a.Before) {
		return given, refuse(NotFound, "run %s asks nothing: it is %s in state %s", id, inspect.Outcome(a.Before), a.Before.State)
	}
	unanswered := Unanswered(ctx, store, id, open)
	if s.Address != "" {
		if open = slices.DeleteFunc(open, func(q *fsm.OpenQuestion) bool { return q.Address != s.Address }); len(open) == 0 {
			return given, refuse(NotFound, "run %s asks no question %s", id, humanize.Quote(s.Address))
		}
	}
	given.Question = open[0]
	if s.Address == "" && len(unanswered) > 0 {
		given.Question = unanswered[0]
	}
	for _, q := range unanswered {
		if q.Address != given.Question.Address {
			given.Open++
		}
	}
	if err := given.mayAnswer(); err != nil {
		return given, err
	}
	fields, err := given.check()
	if err != nil {
		return given, refuse(Usage, "%v", err)
	}
	if err := a.first(ctx, given.Question, 0); err != nil {
		return given, err
	}
	data := value.NewMap("choice", s.Choice)
	if fields.Len() > 0 {
		data.Set("fields", fields)
	}
	if s.Withdraw {
		data.Set("withdraw", true)
	}
	args := value.NewMap("name", fsm.AnswerName(given.Question.Address), "data", data)
	if s.From != "" {
		args.Set("from", s.From)
	}
	c, err := a.record(ctx, persistence.Command{Kind: persistence.CommandAnswer, Segment: persistence.AnySegment, Args: args})
	if err != nil {
		return given, a.notRecorded(err, "the answer")
	}
	given.N = c.N
	a.rouse(persistence.CommandAnswer)
	return given, a.first(ctx, given.Question, c.N)
}

// mayAnswer refuses an answer of a user who is known and is not among those that are asked.
func (a *Answered) mayAnswer() error {
	who := a.Question.Who
	if len(who) == 0 || len(a.Known) == 0 || slices.ContainsFunc(a.Known, func(name string) bool { return slices.Contains(who, name) }) {
		return nil
	}
	return refuse(Usage, "the question of state %s is for %s, and you are %s", humanize.Quote(a.Question.Wait.State), humanize.And(who), humanize.And(a.Known))
}

// check checks the answer against the question, and returns what was said beside the choice, typed.
func (a *Answered) check() (*value.Map, error) {
	if !a.Withdraw {
		return a.Question.Takes(a.Choice, maps.Clone(a.Fields))
	}
	if a.Choice != "" || len(a.Fields) > 0 {
		return nil, errors.New("a question that is taken back has no answer")
	}
	return nil, nil
}

// Question returns the first question of a run that has no answer on record yet, nil where there is none.
func (e *Engine) Question(ctx context.Context, id persistence.ID) (*fsm.OpenQuestion, error) {
	if err := unnamed(string(id)); err != nil {
		return nil, err
	}
	store, err := e.Records(ctx)
	if err != nil {
		return nil, err
	}
	m, err := store.Snapshot(ctx, id)
	if open := Unanswered(ctx, store, id, m.Questions()); len(open) > 0 {
		return open[0], err
	}
	return nil, err
}

// Unanswered returns the questions of a run that have no answer on record yet: a run that no process carries takes its answers when it is
// resumed.
func Unanswered(ctx context.Context, store *project.Records, id persistence.ID, open []*fsm.OpenQuestion) []*fsm.OpenQuestion {
	a := &asking{store: store, id: id}
	var free []*fsm.OpenQuestion
	for _, q := range open {
		if a.first(ctx, q, 0) == nil {
			free = append(free, q)
		}
	}
	return free
}

// first refuses if the question has an answer before number mine; 0 = any.
func (a *asking) first(ctx context.Context, q *fsm.OpenQuestion, mine uint64) error {
	return a.answeredFirst(ctx, q.Address, "question of state "+humanize.Quote(q.Wait.State), mine)
}

// answeredFirst is first of the question at an address; it may be over. which names it for people.
func (a *asking) answeredFirst(ctx context.Context, address, which string, mine uint64) error {
	box := &inbox{id: a.id}
	box.store, _ = a.store.Store.(persistence.Controller)
	all, err := box.Signals(ctx, fsm.AnswerName(address), 0)
	if err != nil || len(all) == 0 || all[0].N == mine {
		return nil //nolint:nilerr // then the answer is on record, or cannot be recorded, which is told
	}
	first := all[0]
	said, _ := first.Data.(*value.Map)
	what, _ := said.Value("choice").(string)
	if what == "" {
		what = fsm.AwaitWithdrawn
	}
	by := ""
	if first.From != "" {
		by = " by " + first.From
	}
	return refuse(Failed, "the %s was answered first%s, at %s: %s", which, by, humanize.Clock(first.At), fmt.Sprint(what))
}
