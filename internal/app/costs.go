package app

import (
	"context"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/view"
	"loops/persistence"
)

// notCounted is what damage means for costs.
const notCounted = "what was used there is not counted"

// costSums returns the summaries of runs whose costs are wanted.
func (s *Service) costSums(f project.Finder) *Summaries {
	return NewSummaries(f, func(err error, _ string) { s.damaged(err, notCounted) })
}

// CostSheet reads what a run used.
func CostSheet(ctx context.Context, f project.Finder, r persistence.Run, known project.Prices,
	tell Tell,
) (*inspect.CostSheet, error) {
	persistence.CountReads(ctx, 1)
	sheet := &inspect.CostSheet{Prices: known}
	damaged := false
	for e, err := range f.Store.EventsOf(ctx, r, 0) {
		if project.IsDamage(err) {
			damaged = true
			tell(err, notCounted)
			continue
		}
		if err != nil {
			return nil, f.Store.Failed(err)
		}
		sheet.Add(e)
	}
	sheet.Close(project.Alive(r))
	if m := diedWith(ctx, f, r); m != nil && !damaged {
		sheet.Complete(m)
	}
	return sheet, nil
}

// diedWith returns the memory of a run whose process died; nil = it did not, or the memory cannot be read.
func diedWith(ctx context.Context, f project.Finder, r persistence.Run) *fsm.Snapshot {
	if r.Status != persistence.Interrupted || r.Ended != "" || project.Alive(r) {
		return nil
	}
	m, err := f.Store.MemoryOf(ctx, r)
	if err != nil {
		return nil
	}
	return m
}

// addCosts reads what the runs of a table cost.
func (s *Service) addCosts(ctx context.Context, f project.Finder, t *view.RunTable, runs []persistence.Run) error {
	known, err := f.Project.Pricer()
	if err != nil {
		return err
	}
	sums := s.costSums(f)
	defer sums.Close()
	for _, r := range runs {
		sum, err := sums.Of(ctx, r)
		if err != nil {
			return err
		}
		t.Costs[r.ID] = new(sum.Cost(known))
	}
	return nil
}

// Costs are what runs used.
type Costs struct {
	Run   *persistence.Run   // one alone, with what its states used in Sheet; nil = several
	Sheet *inspect.CostSheet // of Run
	Used  []view.RunUse      // by each of several
}

// Costs reads what the run that name means used, or the runs of that loop, or all for "", which were active since then.
// prices is the file of a table of prices; "" = none.
func (s *Service) Costs(ctx context.Context, name, since, prices string) (*Costs, error) {
	period, err := NewPeriod(since, "", "cost")
	if err != nil {
		return nil, err
	}
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	known, err := s.Project.PricedBy(prices)
	if err != nil {
		return nil, err
	}
	q := persistence.Query{Filter: period.Filter()}
	if name != "" {
		some, err := f.Runs(ctx, name, 2)
		if err != nil {
			return nil, f.Store.Failed(err)
		}
		if len(some) == 0 {
			if _, err := s.Project.Resolve(name); err != nil {
				return nil, NoSuchRun(ctx, f, name)
			}
			return &Costs{}, nil
		}
		if len(some) == 1 && f.IsNamed(some[0], name) {
			sheet, err := CostSheet(ctx, f, some[0], known, s.damaged)
			return &Costs{Run: &some[0], Sheet: sheet}, err
		}
		q.Loop = some[0].Loop
	}
	c, sums := &Costs{}, s.costSums(f)
	defer sums.Close()
	for r, err := range project.EachCurrent(f.Each(ctx, q)) {
		if err != nil {
			return nil, f.Store.Failed(err)
		}
		sum, err := sums.Of(ctx, r)
		if err != nil {
			return nil, err
		}
		if used := sum.Cost(known); used.Asked() {
			c.Used = append(c.Used, view.RunUse{Run: r, Cost: used})
		}
	}
	return c, nil
}

// Object returns them for a program.
func (c *Costs) Object() any {
	if c.Run != nil {
		return view.RunCost(*c.Run, c.Sheet)
	}
	return view.Costs(c.Used)
}
