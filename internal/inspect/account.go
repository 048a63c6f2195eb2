package inspect

import (
	"fmt"
	"strings"

	"loops/fsm"
	"loops/internal/diagram"
	"loops/internal/humanize"
	"loops/persistence"
)

// What the graph of a run can show of its states.
const (
	ByOutcome = "outcome" // how it was left last
	ByVisits  = "visits"
	ByTime    = "time"
	ByCost    = "cost"
)

// Measures returns all of these words.
func Measures() []string { return []string{ByOutcome, ByVisits, ByTime, ByCost} }

// An Account adds up what a run did in each state of its loop.
type Account struct {
	Course
	Costs  *CostSheet
	Reader Reader // of the visits that Take returns

	byState map[string]*Cost
	latest  map[string]*Visit // of each state of the run's own loop
	because Because
}

// NewAccount returns an Account that prices what was recorded without a cost as known does.
func NewAccount(known func(model string, u fsm.Usage) (float64, bool)) *Account {
	return &Account{Costs: &CostSheet{Prices: known}, byState: map[string]*Cost{}, latest: map[string]*Visit{}}
}

// Take takes the next event of the run and returns what it cost, and the visit it belongs to.
func (t *Account) Take(e fsm.Event) (Cost, *Visit) {
	v := t.Reader.Add(e)
	before := t.Costs.Total
	t.Costs.AddTo(v, e)
	t.Add(e, v)
	t.remember(e, v)
	t.because.Add(e)
	cost := t.Costs.Total.since(before)
	if cost.Prompts+cost.Judges > 0 {
		line := t.byState[t.Current()]
		if line == nil {
			line = &Cost{}
			t.byState[t.Current()] = line
		}
		line.Plus(cost)
	}
	return cost, v
}

// Decided returns the step that decided how the run ended, and its state, as [Because.Decided] does.
func (t *Account) Decided(r persistence.Run) (step int, state string) { return t.because.Decided(r) }

// remember keeps the newest visit of each state.
func (t *Account) remember(e fsm.Event, v *Visit) {
	if v == nil || e.Kind != fsm.EventStateEnter {
		return
	}
	if len(v.Above) > 0 {
		v = v.Above[0]
	}
	t.latest[v.State] = v
}

// outcome returns how the run left a state last.
func (t *Account) outcome(r persistence.Run, name string) diagram.Amount {
	v := t.latest[name]
	switch {
	case v == nil: // a terminal state, which does nothing
		return diagram.Amount{Tone: diagram.Good}
	case v.To() == "" && (r.Resumable || !v.Over() && v.Verdict() == ""): // the run stands there
		return diagram.Amount{Tone: diagram.Other}
	}
	_, decided := t.Decided(r)
	a := diagram.Amount{Text: v.Verdict(), Tone: diagram.Other}
	tone := ToneOf(v.Verdict())
	if code, ended := v.Exit(); ended && code != 0 && tone != Success {
		a.Text = strings.TrimPrefix(fmt.Sprintf("%s, exit %d", a.Text, code), ", ")
	}
	switch {
	case Wasted(r) && name == decided, tone == Failure, v.Verdict() == "" && v.Failed():
		a.Tone = diagram.Fell
	case tone == Success, v.Verdict() == "":
		a.Tone = diagram.Good
	}
	return a
}

// since returns what was used after before.
func (l Cost) since(before Cost) Cost {
	return Cost{
		Prompts: l.Prompts - before.Prompts, Judges: l.Judges - before.Judges, CostUSD: l.CostUSD - before.CostUSD,
		Unknown: l.Unknown - before.Unknown, Bounded: l.Bounded - before.Bounded,
		UnknownUSD: l.UnknownUSD - before.UnknownUSD, Input: l.Input - before.Input, Output: l.Output - before.Output,
		CacheRead: l.CacheRead - before.CacheRead, CacheWrite: l.CacheWrite - before.CacheWrite,
		Time: l.Time - before.Time,
	}
}

// Measure returns what the run did, to be drawn.
func (t *Account) Measure(r persistence.Run, by string) diagram.Measure {
	m := diagram.Measure{By: by, Order: t.Order, States: map[string]diagram.Amount{}}
	for _, way := range t.Taken {
		m.Taken = append(m.Taken, diagram.Step(way))
	}
	for _, name := range t.Order {
		var amount diagram.Amount
		switch by {
		case ByOutcome:
			amount = t.outcome(r, name)
		case ByTime:
			spent := t.Time(name)
			amount = diagram.Amount{Value: spent.Seconds(), Text: humanize.Duration(spent)}
		case ByCost:
			if line := t.byState[name]; line != nil {
				amount = diagram.Amount{Value: line.CostUSD, Text: line.Text()}
			}
		default:
			n := t.Visits(name)
			amount = diagram.Amount{Value: float64(n), Text: humanize.Count(n, "visit")}
		}
		m.States[name] = amount
	}
	if Wasted(r) {
		m.Failed = t.Current()
	}
	return m
}

// Wasted reports whether a run ended so that what it cost led to nothing.
func Wasted(r persistence.Run) bool {
	return r.Status == persistence.Failed || r.Status == persistence.TimedOut
}
