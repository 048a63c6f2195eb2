package app

import (
	"context"

	"loops/engine/project"
	"loops/internal/inspect"
	"loops/internal/view"
	"loops/persistence"
)

// CostSheet reads what a run used.
func CostSheet(ctx context.Context, f project.Finder, r persistence.Run, known project.Prices, tell Tell) (*inspect.CostSheet, error) {
	persistence.CountReads(ctx, 1)
	sheet := &inspect.CostSheet{Prices: known}
	for e, err := range f.Store.EventsOf(ctx, r, 0) {
		if project.IsDamage(err) {
			tell(err, "what was used there is not counted")
			continue
		}
		if err != nil {
			return nil, f.Store.Failed(err)
		}
		sheet.Add(e)
	}
	return sheet, nil
}

// addCosts reads what the runs of a table cost.
func (s *Service) addCosts(ctx context.Context, f project.Finder, t *view.RunTable, runs []persistence.Run) error {
	known, err := f.Project.Pricer()
	if err != nil {
		return err
	}
	for _, r := range runs {
		sheet, err := CostSheet(ctx, f, r, known, s.damaged)
		if err != nil {
			return err
		}
		t.Costs[r.ID] = &sheet.Total
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
	var runs []persistence.Run
	if name == "" {
		runs, err = f.Store.Runs(ctx, persistence.Query{Filter: period.Filter()})
		runs = project.Current(runs)
	} else {
		runs, err = f.Runs(ctx, name, 0)
	}
	if err != nil {
		return nil, f.Store.Failed(err)
	}
	if len(runs) == 0 && name != "" {
		if _, err := s.Project.Resolve(name); err != nil {
			return nil, NoSuchRun(ctx, f, name)
		}
	}
	if len(runs) == 1 && f.IsNamed(runs[0], name) {
		sheet, err := CostSheet(ctx, f, runs[0], known, s.damaged)
		return &Costs{Run: &runs[0], Sheet: sheet}, err
	}
	c, filter := &Costs{}, period.Filter()
	for _, r := range runs {
		if !filter.Matches(r) {
			continue
		}
		sheet, err := CostSheet(ctx, f, r, known, s.damaged)
		if err != nil {
			return nil, err
		}
		if sheet.Asked() {
			c.Used = append(c.Used, view.RunUse{Run: r, Cost: sheet.Total})
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
