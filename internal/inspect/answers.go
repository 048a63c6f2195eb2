package inspect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/persistence"
)

// A GivenAnswer is an answer to a question of a run, as it is recorded.
type GivenAnswer struct {
	N        uint64 // number of its command
	Address  string // of the question
	State    string // that asked; "" = a former version recorded it
	Path     string // the branches and items that the state is in, as that of an OpenQuestion
	Question string // its beginning; "" = a former version recorded it
	Choice   string // or [fsm.AwaitWithdrawn]
	Fields   *value.Map
	By       string // "" = it is not known
	At       time.Time
}

// GivenAnswers returns the answers among the commands of a run, in the order in which each decided its
// question: the first to a question, or of one with a quorum those that agree, as one. votes are the answers so
// far to the other questions, by their addresses.
func GivenAnswers(commands []persistence.Command) (all []GivenAnswer, votes map[string][]fsm.Vote) {
	type question struct {
		quorum int
		votes  []fsm.Vote
		given  map[uint64]GivenAnswer // by their numbers
	}
	asked := map[string]*question{}
	for _, c := range commands {
		g, vote, quorum, is := givenAnswer(c)
		if !is {
			continue
		}
		q := asked[g.Address]
		if q == nil {
			q = &question{quorum: quorum, given: map[uint64]GivenAnswer{}}
			asked[g.Address] = q
		}
		q.votes = append(q.votes, vote)
		q.given[g.N] = g
	}
	votes = map[string][]fsm.Vote{}
	for address, q := range asked {
		t := fsm.Count(q.quorum, q.votes)
		if len(t.Agreed) == 0 {
			votes[address] = t.Votes
			continue
		}
		g := q.given[t.Agreed[len(t.Agreed)-1].N]
		if g.By = t.By(); q.quorum > 1 {
			g.Fields = t.Fields()
		}
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b GivenAnswer) int { return cmp.Compare(a.N, b.N) })
	return all, votes
}

// givenAnswer reads the answer that a command is, and how many equal ones its question needs.
func givenAnswer(c persistence.Command) (g GivenAnswer, vote fsm.Vote, quorum int, is bool) {
	text := func(m *value.Map, key string) string {
		s, _ := m.Value(key).(string)
		return s
	}
	address, is := strings.CutPrefix(text(c.Args, "name"), fsm.AnswerName(""))
	if c.Kind != persistence.CommandAnswer || !is {
		return g, vote, 0, false
	}
	data, _ := c.Args.Value("data").(*value.Map)
	g = GivenAnswer{
		N: c.N, Address: address, State: text(c.Args, "state"), Path: text(c.Args, "path"),
		Question: text(c.Args, "question"),
		Choice:   text(data, "choice"), By: text(c.Args, "from"), At: c.At,
	}
	if taken, _ := data.Value("withdraw").(bool); taken {
		g.Choice = fsm.AwaitWithdrawn
	}
	g.Fields, _ = data.Value("fields").(*value.Map)
	n, _ := c.Args.Value("quorum").(int64)
	return g, fsm.Vote{
		N: g.N, Person: cmp.Or(text(data, "person"), g.By), By: g.By, Choice: g.Choice,
		Fields: g.Fields, At: g.At,
	}, int(n), true
}

// Text says what was answered, by whom and when: "approve by ada at 2026-11-28 02:30:00, reason=it is green".
func (g GivenAnswer) Text() string {
	text := quoted(g.Choice)
	if g.By != "" {
		text += " by " + g.By
	}
	text += " at " + humanize.Clock(g.At)
	for _, k := range g.Fields.Keys() {
		text += ", " + k + "=" + value.Truncate(value.Text(g.Fields.Value(k)), 60)
	}
	return text
}

// Asked says which question it answers: "approve, item 2: Ship it?".
func (g GivenAnswer) Asked() string {
	text := g.State
	if text == "" {
		text = "question " + fsm.ShownAddress(g.Address)
	}
	if g.Path != "" && g.Path != g.State {
		text += ", " + PlaceText(g.Path)
	}
	if g.Question != "" {
		text += ": " + value.Truncate(strings.Join(strings.Fields(g.Question), " "), 200)
	}
	return text
}
