package cli

import (
	"context"
	"errors"
	"fmt"

	"loops/fsm"
	"loops/internal/diagram"
	"loops/internal/inspect"
	"loops/persistence"
)

// runNamed returns the run with that id, nil where arg is no run's. An id that more than one run has is an error.
func runNamed(ctx context.Context, f finder, arg string) (*persistence.Run, error) {
	found, err := f.run(ctx, "", arg)
	if err != nil {
		return nil, f.store.failed(err)
	}
	if len(found) == 0 {
		if found, err = f.last(ctx, arg); err != nil {
			return nil, f.store.failed(err)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], only(arg, found)
}

// oneRun returns the run that arg means: the one with that id, else the newest of the loop with that name.
func oneRun(ctx context.Context, f finder, arg string) (persistence.Run, error) {
	run, err := runNamed(ctx, f, arg)
	if err != nil {
		return persistence.Run{}, err
	}
	if run != nil {
		return *run, nil
	}
	runs, err := f.runs(ctx, arg, 1)
	if err != nil {
		return persistence.Run{}, f.store.failed(err)
	}
	if len(runs) > 0 {
		return runs[0], nil
	}
	return persistence.Run{}, noSuchRun(ctx, f, arg)
}

// ranLoop returns the loop that a run is of: as it was recorded in def, or else as the file is now that has its name, and
// which file that is. It is nil where neither can be read.
func (a *app) ranLoop(f finder, r persistence.Run, def *definition) (l *fsm.Loop, path string) {
	if main := def.main(); main != nil {
		if l, err := main.load(); err == nil {
			return l, ""
		}
	}
	lib, err := a.library(f.project)
	if err != nil {
		return nil, ""
	}
	if path, err = f.project.resolve(r.Loop); err != nil {
		return nil, ""
	}
	file, err := lib.load(path)
	if err != nil || file.loop == nil || file.loop.Name != r.Loop {
		return nil, ""
	}
	return file.loop, path
}

// by says what a graph of a run shows.
const (
	byVisits = "visits"
	byTime   = "time"
	byCost   = "cost"
)

// A tally adds up what a run did in each state of its loop.
type tally struct {
	inspect.Course
	sheet  *costSheet
	visits inspect.Reader
	costs  map[string]*costLine // by state
}

func newTally(known prices) *tally {
	return &tally{sheet: &costSheet{prices: known}, costs: map[string]*costLine{}}
}

// add takes the next event of the run and returns what it cost, and the visit it belongs to.
func (t *tally) add(e fsm.Event) (costLine, *inspect.Visit) {
	v := t.visits.Add(e)
	before := t.sheet.total
	t.sheet.addTo(v, e)
	t.Add(e, v)
	cost := t.sheet.total.since(before)
	if cost.Prompts+cost.Judges > 0 {
		line := t.costs[t.Current()]
		if line == nil {
			line = &costLine{}
			t.costs[t.Current()] = line
		}
		line.plus(cost)
	}
	return cost, v
}

// since returns what was used after before.
func (l costLine) since(before costLine) costLine {
	return costLine{
		Prompts: l.Prompts - before.Prompts, Judges: l.Judges - before.Judges, CostUSD: l.CostUSD - before.CostUSD,
		Unknown: l.Unknown - before.Unknown, Input: l.Input - before.Input, Output: l.Output - before.Output,
		CacheRead: l.CacheRead - before.CacheRead, CacheWrite: l.CacheWrite - before.CacheWrite, Time: l.Time - before.Time,
	}
}

// measure returns what the run did, to be drawn.
func (t *tally) measure(r persistence.Run, by string) diagram.Measure {
	m := diagram.Measure{By: by, Order: t.Order, States: map[string]diagram.Amount{}}
	for _, way := range t.Taken {
		m.Taken = append(m.Taken, diagram.Step(way))
	}
	for _, name := range t.Order {
		var amount diagram.Amount
		switch by {
		case byTime:
			spent := t.Time(name)
			amount = diagram.Amount{Value: spent.Seconds(), Text: duration(spent)}
		case byCost:
			if line := t.costs[name]; line != nil {
				amount = diagram.Amount{Value: line.CostUSD, Text: line.cost()}
			}
		default:
			n := t.Visits(name)
			amount = diagram.Amount{Value: float64(n), Text: count(n, "visit")}
		}
		m.States[name] = amount
	}
	if wasted(r) {
		m.Failed = t.Current()
	}
	return m
}

// graphOfRun returns the graph of a run's loop with what the run did, which was added up. An error says that the recorded
// loop cannot be read; the graph is there nevertheless, and note says what it is drawn from.
func (a *app) graphOfRun(ctx context.Context, f finder, r persistence.Run, t *tally, by string) (g *diagram.Graph, note string, err error) {
	def, err := f.store.readDefinition(ctx, r.ID)
	if errors.Is(err, persistence.ErrNotFound) {
		err = nil // the run was removed meanwhile
	}
	l, path := a.ranLoop(f, r, def)
	switch {
	case path != "" && err != nil:
		note = "the loop is drawn from " + f.project.short(path) + " as it is now; the one that the run began with cannot be read"
	case path != "":
		note = "the loop is drawn from " + f.project.short(path) + " as it is now; with which one the run began is not recorded"
	}
	if l == nil {
		g, note = &diagram.Graph{Name: r.Loop}, "the loop of this run is not known any more: what is drawn is what the run did"
	} else {
		g = diagram.Of(l)
	}
	g.Measure(t.measure(r, by))
	if err != nil {
		err = f.store.failed(err)
	}
	return g, note, err
}

// checkBy refuses a word that --by does not know.
func checkBy(by, see string) error {
	switch by {
	case "", byVisits, byTime, byCost:
		return nil
	}
	return usageError{fmt.Sprintf("--by %q: expected visits, time or cost", by), see}
}
