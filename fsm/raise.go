package fsm

import (
	"math"
	"time"
)

// A Raise is more of the limits of a run that is running. What is 0 is not raised, and a limit that the run
// does not have stays none.
type Raise struct {
	Steps, Passes int
	CostUSD       float64
	Tokens        int64
	Prompts       int
	Time          time.Duration
}

// Plus returns the sum of two.
func (r Raise) Plus(s Raise) Raise {
	return Raise{
		r.Steps + s.Steps, r.Passes + s.Passes, r.CostUSD + s.CostUSD, r.Tokens + s.Tokens,
		r.Prompts + s.Prompts, r.Time + s.Time,
	}
}

// Raised is what a run remembers of how its limits were raised while it was running.
type Raised struct {
	N       uint64 // number of the last Raise that was taken
	Attempt int    // RunName.Attempt in which By was taken: the loop of a later one has it in its limits
	By      Raise  // all of them together
}

// In returns what the limits of a run were raised by while it ran with this RunName.Attempt.
func (r *Raised) In(attempt int) Raise {
	if r == nil || r.Attempt != attempt {
		return Raise{}
	}
	return r.By
}

// Apply returns the loop with its limits raised: those of the loop and those of its budget, which hold side by side.
func (r Raise) Apply(l *Loop) *Loop {
	raised := *l
	raise(&raised.MaxSteps, r.Steps)
	raise(&raised.MaxIterations, r.Passes)
	raise(&raised.Timeout, r.Time)
	if l.Budget != nil {
		b := *l.Budget
		raise(&b.Steps, r.Steps)
		raise(&b.CostUSD, r.CostUSD)
		raise(&b.Tokens, r.Tokens)
		raise(&b.Prompts, r.Prompts)
		raise(&b.Wall, r.Time)
		raised.Budget = &b
	}
	return &raised
}

func raise[T int | int64 | float64 | time.Duration](limit *T, by T) {
	if *limit > 0 {
		*limit += by
	}
}

// raiseLimits takes what was asked for since it was looked at last. It is called before limits are looked at,
// also by a sub-loop: the limits of what it runs inside hold for it.
func (e *Executor) raiseLimits() {
	root := e
	for root.parent != nil {
		root = root.parent
	}
	if root.cfg.Raise == nil {
		return
	}
	for {
		m, attempt, after := root.mem, root.cfg.Run.Attempt, uint64(0)
		if m.Raised != nil {
			after = m.Raised.N
		}
		n, by, who, ok := root.cfg.Raise(after)
		if !ok {
			return
		}
		m.Raised = &Raised{N: n, Attempt: attempt, By: m.Raised.In(attempt).Plus(by)}
		before := root.cfg.Loop
		root.cfg.Loop = by.Apply(before)
		if before.Timeout > 0 {
			root.moreTimeBelow(by.Time)
		}
		m.BudgetWarned, m.BudgetRouted = nil, m.BudgetRouted && root.usedUp(needPrompt) != nil
		for _, l := range Raises(before, root.cfg.Loop) {
			fields := []Field{{"limit", l.Name}, {"from", shortest(l.From)}, {"to", shortest(l.To)}}
			if who != "" {
				fields = append(fields, Field{"by", who})
			}
			e.emit(EventLimitRaised, fields...)
		}
	}
}

// moreTime gives a sub-loop the time that the run was given, where it has the rest of the run's, and not
// less of its own.
func (e *Executor) moreTime(more time.Duration) {
	above := e.parent
	c, st := e.self, above.cfg.Loop.States[above.mem.Current]
	if more <= 0 || c.Timeout <= 0 || st == nil {
		return
	}
	limits := []time.Duration{0}
	if !e.inline {
		own, err := above.childLoop(c.Name)
		if err != nil {
			return // its definition is gone: it keeps the time it has
		}
		if st = branchState(st, e.branch); st == nil {
			return
		}
		limits = []time.Duration{own.Timeout, st.Timeout}
	}
	to := c.Timeout + more
	for _, most := range limits {
		if most > 0 {
			to = min(to, most)
		}
	}
	mine := *e.cfg.Loop
	mine.Timeout, c.Timeout = to, to
	e.cfg.Loop = &mine
}

// moreTimeBelow does so for all sub-loops that run, also in branches.
func (e *Executor) moreTimeBelow(more time.Duration) {
	if e.below != nil {
		e.below.moreTime(more)
		e.below.moreTimeBelow(more)
	}
	if e.crew != nil {
		for _, r := range e.crew.live {
			r.x.moreTime(more)
			r.x.moreTimeBelow(more)
		}
	}
}

// branchState is the state that a sub-loop runs as: st, also for an item, or the one of its branch; nil if
// there is none.
func branchState(st *State, branch string) *State {
	if branch == "" || st == nil || st.Each != nil && ItemOf(branch) > 0 {
		return st
	}
	if b := st.Branches.Named(branch); b != nil {
		return b.State
	}
	return nil
}

// A RaisedLimit is a limit of a loop that is higher in another version of it. Times are in seconds.
type RaisedLimit struct {
	Name     string // max_steps, max_iterations, timeout, or budget.NAME as BudgetLine has it
	From, To float64
}

// Raises returns the limits that are higher in now than in before.
func Raises(before, now *Loop) (all []RaisedLimit) {
	add := func(name string, from, to float64) {
		if from < to {
			all = append(all, RaisedLimit{name, from, to})
		}
	}
	add("max_steps", float64(before.MaxSteps), float64(now.MaxSteps))
	add("max_iterations", float64(before.MaxIterations), float64(now.MaxIterations))
	add("timeout", before.Timeout.Seconds(), now.Timeout.Seconds())
	if before.Budget == nil || now.Budget == nil {
		return all
	}
	after := now.Budget.Lines(Spent{}, 0, 0)
	for i, l := range before.Budget.Lines(Spent{}, 0, 0) { // both have the same lines: what is no limit stays none
		add("budget."+l.Name, l.Most, after[i].Most)
	}
	return all
}

// shortest is a number as an event has it: whole ones without a fraction.
func shortest(v float64) any {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return int64(v)
	}
	return v
}
