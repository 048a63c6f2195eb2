package fsm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/fsm/value"
)

// A Vote is the answer of one person to a question, which may need equal answers of several.
type Vote struct {
	N      uint64 // number of the answer in the run
	Person string // by which people are told apart; "" = nobody knows, which is one person
	By     string // who answered, as it is shown
	Choice string // or AwaitWithdrawn
	Fields *value.Map
	At     time.Time
}

// A Tally is what the answers to a question come to.
type Tally struct {
	Votes  []Vote // the last one of each person until it was decided, oldest first
	Agreed []Vote // those that decided, the last one of which did; none = the question is open
}

// Count counts the answers to a question that needs quorum equal ones of different people, given in their
// order. A person's last answer counts until it is decided, and what comes later does not. A question that one
// person takes back is decided.
func Count(quorum int, given []Vote) (t Tally) {
	for _, v := range given {
		t.Votes = append(slices.DeleteFunc(t.Votes, func(old Vote) bool { return old.Person == v.Person }), v)
		equal := slices.DeleteFunc(slices.Clone(t.Votes), func(o Vote) bool { return o.Choice != v.Choice })
		if v.Choice == AwaitWithdrawn {
			equal = []Vote{v}
		}
		if len(equal) >= quorum || v.Choice == AwaitWithdrawn {
			t.Agreed = equal
			return t
		}
	}
	return t
}

// By returns who decided: "ada, bob".
func (t Tally) By() string {
	var names []string
	for _, v := range t.Agreed {
		if v.By != "" {
			names = append(names, v.By)
		}
	}
	return strings.Join(names, ", ")
}

// Fields returns what was said beside the choice by those who decided; of a field that several filled in the
// last text counts.
func (t Tally) Fields() *value.Map {
	all := value.NewMap()
	for _, v := range t.Agreed {
		for _, k := range v.Fields.Keys() {
			all.Set(k, v.Fields.Value(k))
		}
	}
	return all
}

// Standing says how far a question is that needs several answers: "approve by ada, reject by bob (2 equal
// answers decide)"; "" where one answer decides.
func (q *OpenQuestion) Standing() string { return standing(q.Quorum, q.Votes) }

func standing(quorum int, votes []Vote) string {
	if quorum < 2 {
		return ""
	}
	words := make([]string, len(votes))
	for i, v := range votes {
		if words[i] = v.Choice; v.By != "" {
			words[i] += " by " + v.By
		}
	}
	if len(words) == 0 {
		words = []string{"no answer yet"}
	}
	return fmt.Sprintf("%s (%d equal answers of different people decide)", strings.Join(words, ", "), quorum)
}

// vote returns the answer that a signal is. Of an approval that a former version asked with other words it has
// those of now.
func (a *Ask) vote(s Signal) Vote {
	said, _ := s.Data.(*value.Map)
	v := Vote{N: s.N, By: s.From, Person: s.From, At: s.At}
	v.Choice, _ = said.Value("choice").(string)
	v.Fields, _ = said.Value("fields").(*value.Map)
	if person, ok := said.Value("person").(string); ok {
		v.Person = person
	}
	if a != nil && a.Approval {
		if now, err := a.Chosen(v.Choice); err == nil {
			v.Choice = now
		}
	}
	if taken, _ := said.Value("withdraw").(bool); taken {
		v.Choice = AwaitWithdrawn
	}
	return v
}

// tellVotes records in the history which answers came that do not decide yet. Those that were told before are in w.
func (e *Executor) tellVotes(w *Awaiting, address string, quorum int, given []Vote, t Tally) {
	heard := *w
	for i, v := range given {
		if v.N <= w.Heard {
			continue
		}
		heard.Heard = v.N
		now := Count(quorum, given[:i+1])
		e.emit(EventHumanVote, Field{"state", w.State}, Field{"address", address}, Field{"response", v.Choice}, Field{"by", v.By}, Field{"number", int64(v.N)}, //nolint:gosec // there are never so many
			Field{"standing", standing(quorum, now.Votes)})
	}
	if heard.Heard != w.Heard {
		heard.Seen = oneLine(standing(quorum, t.Votes))
		e.mem.Awaiting = &heard
	}
}
