package engine

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// An Answer is a user's answer to the question that a run asks.
type Answer struct {
	Choice    string            // its name, or its number in the list of choices
	Fields    map[string]string // as texts, by name
	From      string            // who answers; "" = the user of this process
	Person    string            // by which a quorum tells people apart; "" = From
	Known     []string          // the names and teams by which the face knows who answers; nil = it does not
	Link      string            // the id of the link by which it came, which answers once; "" = it came by none
	Confirmed bool              // the user confirmed the choice, which questions may ask for
	Withdraw  bool              // the question is taken back: there is no choice
	// of the question; "" = the one question that the run has asked in all: where it asked others, that is
	// refused
	Address string
}

// ErrUnconfirmed is in the refusal of a choice that is to be confirmed and was not.
var ErrUnconfirmed = errors.New("the choice is to be confirmed")

// An Answered is an answer that is on record.
type Answered struct {
	Answer
	N        uint64
	Run      persistence.Run
	Question *fsm.OpenQuestion
	Open     int    // questions of the run besides that have no answer yet
	Standing string // of a question with a quorum that is still open: the answers so far; "" = the question is answered
}

// Answer records the answer to a question of a run, with who gave it. It is recorded when Answer returns, even
// for a run that no process carries. A question is answered once: a *Refusal names who was first. An answer
// never reaches another question than the one at its address, so that an approval that comes late approves
// nothing else.
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
	open := m.Questions()
	s.From, s.Address = cmp.Or(s.From, User()), fsm.QuestionAt(open, s.Address)
	given := Answered{Answer: s, Run: a.Before}
	if s.Address != "" && !slices.ContainsFunc(open, func(q *fsm.OpenQuestion) bool { return q.Address == s.Address }) {
		if err := a.answeredFirst(ctx, s.Address, "question "+humanize.Quote(fsm.ShownAddress(s.Address)), 0); err !=
			nil {
			return given, err
		}
	}
	if len(open) == 0 || !a.Before.Resumable && !alive(a.Before) {
		return given, refuse(NotFound, "run %s asks nothing: it is %s in state %s", id, inspect.Outcome(a.Before),
			a.Before.State)
	}
	unanswered := Unanswered(ctx, store, id, open)
	if given.Question, err = a.meant(ctx, m, unanswered, s); err != nil {
		return given, err
	}
	for _, q := range unanswered {
		if q.Address != given.Question.Address {
			given.Open++
		}
	}
	if err := given.mayAnswer(); err != nil {
		return given, err
	}
	if s.Link != "" {
		if used, err := LinkUsed(ctx, store, id, s.Link); err != nil || !used.IsZero() {
			return given, cmp.Or(err,
				error(refuse(Failed, "this link was used at %s: %s", humanize.Clock(used), s.Choice)))
		}
	}
	fields, err := given.check() // the choice by its name
	if err != nil {
		return given, refuse(Usage, "%v", err)
	}
	if !s.Confirmed && given.Question.Confirms(given.Choice) {
		again := Do(OpAnswer, string(id), Setting{SetQuestion, fsm.ShownAddress(given.Question.Address)},
			Setting{SetYes, ""})
		return given, &Refusal{
			Kind: Usage, Err: ErrUnconfirmed,
			Text: textf("%s is a choice to be confirmed: %s %s", given.Choice, again, given.Choice),
		}
	}
	if err := a.first(ctx, given.Question, 0); err != nil {
		return given, err
	}
	data := value.NewMap("choice", given.Choice)
	if fields.Len() > 0 {
		data.Set("fields", fields)
	}
	if s.Withdraw {
		data.Set("withdraw", true)
	}
	if s.Link != "" {
		data.Set("link", s.Link)
	}
	if s.Person != "" && s.Person != s.From {
		data.Set("person", s.Person)
	}
	q := given.Question
	args := value.NewMap("name", fsm.AnswerName(q.Address), "data", data, "from", s.From, "state", q.Wait.State,
		"question", value.Truncate(q.Question, mostQuestion))
	if q.Path != "" {
		args.Set("path", q.Path)
	}
	if q.Quorum > 1 {
		args.Set("quorum", int64(q.Quorum))
	}
	c, err := a.record(ctx, persistence.Command{
		Kind: persistence.CommandAnswer, Segment: persistence.AnySegment,
		Args: args,
	})
	if err != nil {
		return given, a.notRecorded(err, "the answer")
	}
	given.N = c.N
	a.rouse(persistence.CommandAnswer)
	if q.Quorum > 1 {
		if left := Unanswered(ctx, store, id, []*fsm.OpenQuestion{q}); len(left) > 0 {
			given.Standing = left[0].Standing()
		}
	}
	return given, a.first(ctx, given.Question, c.N)
}

// meant returns the question that an answer is for. An answer without an address is taken while the run has
// asked one question in all: who gives it can have seen no other.
func (a *asking) meant(ctx context.Context, m *fsm.Snapshot, unanswered []*fsm.OpenQuestion,
	s Answer,
) (*fsm.OpenQuestion, error) {
	open := m.Questions()
	if s.Address != "" {
		i := slices.IndexFunc(open, func(q *fsm.OpenQuestion) bool { return q.Address == s.Address })
		if i < 0 {
			return nil, refuse(NotFound, "run %s asks no question %s%s", a.id,
				humanize.Quote(fsm.ShownAddress(s.Address)), a.commands("; it asks:", unanswered, s))
		}
		return open[i], nil
	}
	if m.Asked == 1 && len(open) == 1 {
		return open[0], nil
	}
	if len(unanswered) == 0 {
		return nil, a.first(ctx, open[0], 0)
	}
	return nil, refuse(Usage, "run %s has asked %s, so an answer must name the one that it is for%s", a.id,
		humanize.Count(max(m.Asked, len(open)), "question"), a.commands(":", unanswered, s))
}

// commands are the commands that answer questions, a line each, after a text. None where there are no questions.
func (a *asking) commands(front string, questions []*fsm.OpenQuestion, s Answer) Text {
	if len(questions) == 0 {
		return textf("")
	}
	choice := any(cmp.Or(s.Choice, "CHOICE"))
	if s.Withdraw {
		choice = Setting{Name: SetWithdraw}
	}
	args := []any{}
	for _, q := range questions {
		args = append(args, AnswerRemedy(string(a.id), q.Address), choice, q.Wait.State,
			strings.Join(strings.Fields(value.Truncate(q.Question, mostSaid)), " "))
	}
	return Text{front + strings.Repeat("\n  %s %s  (state %s: %s)", len(questions)), args}
}

// AnswerRemedy returns the command that answers the question of a run at an address; the choice is to be added.
func AnswerRemedy(run, address string) Remedy {
	return Do(OpAnswer, run, Setting{SetQuestion, fsm.ShownAddress(address)})
}

// How much of a question is kept with its answer, and repeated in a message, in bytes.
const (
	mostQuestion = 4 << 10
	mostSaid     = 200
)

// User returns the user of this process as the operating system knows it, the number where it has no name.
func User() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}

// MayAnswer reports whether who of a question lets this user answer; it does where the user is not known.
func (a Answer) MayAnswer(q *fsm.OpenQuestion) bool {
	return len(q.Who) == 0 || len(a.Known) == 0 ||
		slices.ContainsFunc(a.Known, func(name string) bool { return slices.Contains(q.Who, name) })
}

// mayAnswer refuses an answer of a user who is known and is not among those that are asked.
func (a *Answered) mayAnswer() error {
	if a.MayAnswer(a.Question) {
		return nil
	}
	who := a.Question.Who
	return refuse(Usage, "the question of state %s is for %s, and you are %s", humanize.Quote(a.Question.Wait.State),
		humanize.And(who), humanize.And(a.Known))
}

// check checks the answer against the question, names its choice, and returns what was said beside it, typed.
func (a *Answered) check() (_ *value.Map, err error) {
	if !a.Withdraw {
		if a.Choice, err = a.Question.Chosen(a.Choice); err != nil {
			return nil, err
		}
		return a.Question.Fill(a.Fields)
	}
	if a.Choice != "" || len(a.Fields) > 0 {
		return nil, errors.New("a question that is taken back has no answer")
	}
	return nil, nil
}

// Questions returns the questions of a run that have no answer on record yet.
func (e *Engine) Questions(ctx context.Context, id persistence.ID) ([]*fsm.OpenQuestion, error) {
	if err := unnamed(string(id)); err != nil {
		return nil, err
	}
	store, err := e.Records(ctx)
	if err != nil {
		return nil, err
	}
	m, err := store.Snapshot(ctx, id)
	return Unanswered(ctx, store, id, m.Questions()), err
}

// Unanswered returns the questions of a run that have no answer on record yet, with the answers so far to those
// that need several. A run that no process carries takes its answers when it is resumed.
func Unanswered(ctx context.Context, store *project.Records, id persistence.ID,
	open []*fsm.OpenQuestion,
) []*fsm.OpenQuestion {
	if len(open) == 0 {
		return nil
	}
	// an answer that cannot be read is not on record: whoever answers again is told
	given, votes, _ := answers(ctx, store, id)
	for _, q := range open {
		q.Votes = votes[q.Address]
	}
	return slices.DeleteFunc(slices.Clone(open), func(q *fsm.OpenQuestion) bool {
		return slices.ContainsFunc(given, func(g inspect.GivenAnswer) bool { return g.Address == q.Address })
	})
}

// Given returns the answers on record to questions of a run, in their order. Those that cannot be read are left out.
func Given(ctx context.Context, store *project.Records, id persistence.ID) ([]inspect.GivenAnswer, error) {
	given, _, err := answers(ctx, store, id)
	return given, err
}

// answers returns the answers of a run, and those so far to questions that need several, by address.
func answers(ctx context.Context, store *project.Records, id persistence.ID) ([]inspect.GivenAnswer,
	map[string][]fsm.Vote, error,
) {
	commands, err := store.Commands(ctx, id, 0)
	if _, damaged := errors.AsType[*persistence.DamageError](err); damaged || errors.Is(err, persistence.ErrNotFound) {
		err = nil // of a run that waits in its first state nothing is on record yet
	}
	given, votes := inspect.GivenAnswers(commands)
	return given, votes, err
}

// first refuses if the question was answered before number mine; 0 = at all.
func (a *asking) first(ctx context.Context, q *fsm.OpenQuestion, mine uint64) error {
	return a.answeredFirst(ctx, q.Address, "question of state "+humanize.Quote(q.Wait.State), mine)
}

// answeredFirst is first of the question at an address; it may be over. which names it for people.
func (a *asking) answeredFirst(ctx context.Context, address, which string, mine uint64) error {
	given, _ := Given(ctx, a.store, a.id) // then the answer is on record, or cannot be recorded, which is told
	i := slices.IndexFunc(given, func(g inspect.GivenAnswer) bool { return g.Address == address })
	if i < 0 || mine > 0 && given[i].N >= mine {
		return nil
	}
	by := ""
	if given[i].By != "" {
		by = " by " + given[i].By
	}
	return refuse(Failed, "the %s was answered first%s, at %s: %s", which, by, humanize.Clock(given[i].At),
		given[i].Choice)
}
