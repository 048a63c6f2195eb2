package inspect

import (
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

// GivenAnswers returns the answers among the commands of a run, in their order: the first to each question, which alone counts.
func GivenAnswers(commands []persistence.Command) (all []GivenAnswer) {
	for _, c := range commands {
		text := func(m *value.Map, key string) string {
			s, _ := m.Value(key).(string)
			return s
		}
		address, is := strings.CutPrefix(text(c.Args, "name"), fsm.AnswerName(""))
		if c.Kind != persistence.CommandAnswer || !is || slices.ContainsFunc(all, func(g GivenAnswer) bool { return g.Address == address }) {
			continue
		}
		data, _ := c.Args.Value("data").(*value.Map)
		g := GivenAnswer{
			N: c.N, Address: address, State: text(c.Args, "state"), Path: text(c.Args, "path"), Question: text(c.Args, "question"),
			Choice: text(data, "choice"), By: text(c.Args, "from"), At: c.At,
		}
		if taken, _ := data.Value("withdraw").(bool); taken {
			g.Choice = fsm.AwaitWithdrawn
		}
		g.Fields, _ = data.Value("fields").(*value.Map)
		all = append(all, g)
	}
	return all
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
		text = "question " + g.Address
	}
	if g.Path != "" && g.Path != g.State {
		text += ", " + PlaceText(g.Path)
	}
	if g.Question != "" {
		text += ": " + value.Truncate(strings.Join(strings.Fields(g.Question), " "), 200)
	}
	return text
}
