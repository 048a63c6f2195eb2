package app

import (
	"context"
	"errors"
	"fmt"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// Summaries returns what statistics and costs need of runs, from what the store keeps of them or else from their
// events. Damage is passed to tell, and reading continues after it. It belongs to one goroutine.
type Summaries struct {
	f    project.Finder
	tell Tell
	kept persistence.Summaries // those that the store keeps; nil = none was asked for yet

	damaged int // runs whose records are
}

// NewSummaries returns the summaries of the runs of a store. Close is to be called.
func NewSummaries(f project.Finder, tell Tell) *Summaries {
	return &Summaries{f: f, tell: tell}
}

// Of returns the summary of a run.
func (s *Summaries) Of(ctx context.Context, r persistence.Run) (*inspect.Summary, error) {
	persistence.CountReads(ctx, 1)
	if s.kept == nil {
		s.kept = s.f.Store.Summaries()
	}
	if text, ok := s.kept.Of(r); ok {
		if m, ok := inspect.ParseSummary(text); ok {
			if d := m.Damage; d != nil {
				s.report(&persistence.DamageError{
					File:   map[bool]string{true: r.Events, false: r.Log}[d.Journal],
					Offset: d.Offset, What: d.What,
				}, readOn)
			}
			return &m, nil
		}
	}
	reader := inspect.NewSummaryReader()
	var damage error // the first: there is a line for each run
	err := eachEvent(ctx, s.f, r, func(err error, then string) {
		if damage == nil {
			damage = err
			s.report(err, then)
		}
	}, reader.Add)
	if err != nil {
		return nil, err
	}
	var died *fsm.Snapshot
	if damage == nil {
		died = diedWith(ctx, s.f, r)
	}
	m := reader.Close(project.Alive(r), died)
	known := damage == nil
	if d, ok := errors.AsType[*persistence.DamageError](damage); ok && (d.File == r.Events || d.File == r.Log) {
		m.Damage, known = &inspect.Damage{Journal: d.File == r.Events, Offset: d.Offset, What: d.What}, true
	}
	if known {
		s.kept.Keep(r, m.Text())
	}
	return m, nil
}

// report tells what is damaged first in the records of a run.
func (s *Summaries) report(err error, then string) {
	if s.damaged++; s.damaged <= mostDamaged {
		s.tell(err, then)
	}
}

// Close writes the summaries that were made, for the next reader, and tells of how many runs it was not told that their
// records are damaged.
func (s *Summaries) Close() {
	if more := s.damaged - mostDamaged; more > 0 {
		s.tell(fmt.Errorf("%s with damaged records besides", humanize.Count(more, "run")),
			"what can be read of them counts")
	}
	if s.kept != nil {
		s.kept.Close()
	}
}
