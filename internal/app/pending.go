package app

import (
	"loops/fsm"
	"loops/internal/api"
	"loops/persistence"
)

// A Pending is a run that asks something.
type Pending struct {
	Run      persistence.Run
	Question *fsm.OpenQuestion
}

// Object returns the question for a program.
func (p Pending) Object() api.Question {
	q := p.Question
	o := api.Question{
		Address: q.Address, Instance: string(p.Run.ID), RunID: p.Run.RunID, Loop: p.Run.Loop, State: q.Wait.State,
		Text: q.Question, Choices: q.Choices,
		Show: api.Text(q.Show), Who: q.Who, Confirm: q.Confirm, Since: api.Stamp(q.Wait.Since),
		Until: api.StampOrNull(q.Wait.Until), Reminded: q.Reminders,
		RemindAt: api.StampOrNull(q.RemindAt), Quorum: max(1, q.Quorum),
	}
	for _, f := range q.Fields {
		o.Fields = append(o.Fields, api.Pair[string]{Key: f.Name, Value: f.Type})
	}
	for _, v := range q.Votes {
		o.Votes = append(o.Votes, api.Vote{Choice: v.Choice, By: api.Text(v.By), Fields: v.Fields, At: api.Stamp(v.At)})
	}
	return o
}
