package app

import (
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/terminal"
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
		"choices", terminal.Texts(q.Choices), "fields", fields, "show", terminal.OrNull(q.Show), "who", terminal.Texts(q.Who), "confirm", terminal.Texts(q.Confirm), "since", terminal.Stamp(q.Wait.Since), "until", nil, "reminders", int64(q.Reminders), "remind_at", nil)
	if !q.Wait.Until.IsZero() {
		m.Set("until", terminal.Stamp(q.Wait.Until))
	}
	m.Set("quorum", int64(max(1, q.Quorum)))
	m.Set("votes", terminal.List(q.Votes, func(v fsm.Vote) any {
		fields := v.Fields
		if fields == nil {
			fields = value.NewMap()
		}
		return value.NewMap("choice", v.Choice, "by", terminal.OrNull(v.By), "fields", fields, "at", terminal.Stamp(v.At))
	}))
	if !q.RemindAt.IsZero() {
		m.Set("remind_at", terminal.Stamp(q.RemindAt))
	}
	return m
}
