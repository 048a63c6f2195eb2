package fsm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// A Budget limits what a run, or all visits to one of its states, may use; sub-loops count. Zero means no limit.
type Budget struct {
	CostUSD      float64
	Tokens       int64
	Wall         time.Duration // of the run, all segments; of a state, what its prompts, judges and sub-loops took
	Steps        int           // state entries; of a state, those of the sub-loops it ran
	Prompts      int           // prompts and judges
	AllowUnknown bool          // the run continues although the cost of a prompt is not known
	Silent       bool          // prompts are not told the rest
}

// Spent is what prompts and judges have used.
type Spent struct {
	CostUSD  float64 // of those whose cost is known
	Unpriced int     // how many used tokens whose price is not known
	Usage    Usage
	Unsure   Unsure // those whose cost is not known, or only a part of it
	Prompts  int    // prompts and judges
	Steps    int    // state entries of sub-loops
	Wall     time.Duration
}

// An Unsure counts prompts and judges whose cost is not known.
type Unsure struct {
	Count   int
	Bounded int     // how many of these have a known upper bound
	USD     float64 // what these cost at most, beside what is known
}

// Plus adds up two of them.
func (u Unsure) Plus(v Unsure) Unsure {
	return Unsure{u.Count + v.Count, u.Bounded + v.Bounded, u.USD + v.USD}
}

func (s Spent) plus(t Spent) Spent {
	s.CostUSD += t.CostUSD
	s.Unpriced += t.Unpriced
	s.Unsure = s.Unsure.Plus(t.Unsure)
	s.Usage.Input += t.Usage.Input
	s.Usage.Output += t.Usage.Output
	s.Usage.CacheRead += t.Usage.CacheRead
	s.Usage.CacheWrite += t.Usage.CacheWrite
	s.Prompts += t.Prompts
	s.Steps += t.Steps
	s.Wall += t.Wall
	return s
}

// spentOn is what one prompt or judge used. One that was refused before anything was used does not count as a
// prompt. most is what it costs at most, in US dollars; 0 = that is not known.
func spentOn(res Result, most float64) Spent {
	s := Spent{Prompts: 1, Wall: res.Duration}
	r := res.Reply
	if r == nil {
		return s
	}
	s.Unsure = unsure(r, most)
	s.Usage = r.Usage
	switch r.Failure {
	case FailRateLimited, FailAuth, FailBilling, FailModel, FailMissing:
		if r.Usage == (Usage{}) && (r.Cost == nil || *r.Cost == 0) {
			s.Prompts = 0
		}
	}
	switch {
	case r.Cost != nil:
		s.CostUSD = *r.Cost
	case r.Usage.Total() > 0 || r.Coverage == CoverageNone && r.Complete:
		s.Unpriced = 1
	}
	return s
}

// unsure returns whether the cost of a reply is not known, or only a part of it.
func unsure(r *Reply, most float64) (u Unsure) {
	used := 0.0
	if r.Cost != nil {
		used = *r.Cost
	}
	nothing := r.Usage.Total() == 0 &&
		(r.Coverage == CoverageComplete || r.Failure == FailMissing || r.Failure == FailAuth || r.Failure == FailModel)
	if r.Coverage != CoveragePartial && (r.Cost != nil || nothing) {
		return u
	}
	if u.Count = 1; most > 0 {
		u.Bounded, u.USD = 1, max(0, most-used)
	}
	return u
}

// boundOf returns what a prompt or a judge costs at most, in US dollars; 0 = that is not known.
func (e *Executor) boundOf(a *Action) float64 {
	if e.keepsCost(a) {
		return a.MaxCost
	}
	return 0
}

// asked notes that a prompt or a judge is in flight, to be recorded before it is sent: if the process dies,
// what it cost is not known. The function that it returns notes that it has ended.
func (e *Executor) asked(most float64) (heard func()) {
	m, one := e.root().mem, Unsure{Count: 1}
	if most > 0 {
		one.Bounded, one.USD = 1, most
	}
	m.Outstanding = m.Outstanding.Plus(one)
	return func() {
		m.Outstanding = m.Outstanding.Plus(Unsure{-one.Count, -one.Bounded, -one.USD})
		if m.Outstanding.Count == 0 {
			m.Outstanding = Unsure{} // without what is lost in adding up
		}
	}
}

// spend counts against this loop and its state, and those it runs inside. The memory is recorded with what follows.
func (e *Executor) spend(s Spent) {
	e.pay(s)
	for x := e; x != nil; x = x.parent {
		m := x.mem
		m.Spent = m.Spent.plus(s)
		if m.StateSpent == nil {
			m.StateSpent = make(map[string]Spent)
		}
		m.StateSpent[m.Current] = m.StateSpent[m.Current].plus(s)
		x.warnBudget(e)
	}
}

// spendStep counts a state entry of a sub-loop against those it runs inside.
func (e *Executor) spendStep() {
	for x := e.parent; x != nil; x = x.parent {
		m := x.mem
		m.Spent.Steps++
		if st := x.cfg.Loop.States[m.Current]; st != nil && st.Budget != nil && st.Budget.Steps > 0 {
			if m.StateSpent == nil {
				m.StateSpent = make(map[string]Spent)
			}
			m.StateSpent[m.Current] = m.StateSpent[m.Current].plus(Spent{Steps: 1})
		}
	}
}

// A BudgetLine is one limit of a budget and how far it is used up.
type BudgetLine struct {
	Name        string // cost_usd, tokens, wall (in seconds), steps or prompts
	Spent, Most float64
	Unknown     bool // the cost is not known
}

// Lines returns the limits that b sets. Steps are those of the loop and of its sub-loops.
func (b *Budget) Lines(s Spent, wall time.Duration, steps int) []BudgetLine {
	return slices.DeleteFunc([]BudgetLine{
		{Name: "cost_usd", Spent: s.CostUSD, Most: b.CostUSD, Unknown: s.Unpriced > 0 && !b.AllowUnknown},
		{Name: "tokens", Spent: float64(s.Usage.Total()), Most: float64(b.Tokens)},
		{Name: wallName, Spent: wall.Seconds(), Most: b.Wall.Seconds()},
		{Name: "steps", Spent: float64(steps), Most: float64(b.Steps)},
		{Name: "prompts", Spent: float64(s.Prompts), Most: float64(b.Prompts)},
	}, func(l BudgetLine) bool { return l.Most <= 0 })
}

// A limit is one line of a budget, and whose it is.
type limit struct {
	of     *Executor
	state  string // "" = of the whole loop
	ended  int    // prompts and judges whose use is in Spent
	silent bool   // prompts are not told the rest of it
	BudgetLine
}

func (l *limit) reached() bool {
	return l.Unknown || l.Spent > l.Most || l.Spent == l.Most && l.Name != ceilingName
}

// An overrun is the error that a budget leaves nothing for a prompt or judge.
type overrun struct {
	limit
	cut bool // a prompt or a judge was ended by it
}

func (o *overrun) Error() string {
	if o.Name == ceilingName {
		return o.ceilingText()
	}
	whose := "loop " + o.of.mem.Loop
	if o.state != "" {
		whose = "state " + o.state + " of " + whose
	}
	if o.Unknown {
		return fmt.Sprintf("the budget of %s limits cost_usd, and what a prompt cost is not known: "+
			"give its model a price, continue without this limit, or set allow_unknown_cost: true", whose)
	}
	text := fmt.Sprintf("the budget of %s is used up: %s %s of %s", whose, o.Name, o.amount(o.Spent), o.amount(o.Most))
	if o.cut {
		text += "; the agent at work was ended"
	}
	return text
}

// wallName is the name of the limit of time.
const wallName = "wall"

// amount is a number of the limit as people write it: of time a time.
func (l *BudgetLine) amount(v float64) string {
	if l.Name != wallName {
		return amount(v)
	}
	d := time.Duration(v * float64(time.Second))
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// amount is a number of a budget as people write it.
func amount(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'f', 4, 64)
}

// limits yields the limits that hold here, the innermost first: of the current state, of its loop, of the state that
// runs the loop, and so on.
func (e *Executor) limits(yield func(*limit) bool) {
	for x := e; x != nil; x = x.parent {
		m := x.mem
		if st := x.cfg.Loop.States[m.Current]; st != nil && st.Budget != nil {
			s := m.StateSpent[m.Current]
			if !budgetLimits(x, st.Name, st.Budget, s, s.Wall, s.Steps, yield) {
				return
			}
		}
		if l := x.ceiling(); l != nil && !yield(l) {
			return
		}
		if b := x.cfg.Loop.Budget; b != nil && !budgetLimits(x, "", b, m.Spent, x.elapsed(), m.Step+m.Spent.Steps,
			yield) {
			return
		}
	}
}

func budgetLimits(x *Executor, state string, b *Budget, s Spent, wall time.Duration, steps int,
	yield func(*limit) bool,
) bool {
	for _, l := range b.Lines(s, wall, steps) {
		if !yield(&limit{x, state, s.Prompts, b.Silent, l}) {
			return false
		}
	}
	return true
}

// A need is what a run is about to use, and what budgets may leave nothing of.
type need int

const (
	needEntry  need = iota // to enter a state
	needTime               // to wait, or to begin an item or a retry in a state that was entered
	needPrompt             // to ask an agent
)

// stops reports whether a limit keeps the run from what it is about to use, once it is reached. A prompt may use any
// limit. Steps and time hold for a loop until its on_budget was followed: what that leads to, and the loops that this
// runs, may take as many as they need.
func (l *limit) stops(n need) bool {
	switch {
	case n == needPrompt:
		return true
	case l.Name == wallName || l.Name == "steps" && n == needEntry:
		return l.state != "" || !l.of.mem.BudgetRouted
	}
	return false
}

// usedUp returns the first limit that leaves nothing of what the run is about to use, or nil.
func (e *Executor) usedUp(n need) (over *overrun) {
	e.limits(func(l *limit) bool {
		if l.stops(n) && l.reached() {
			over = &overrun{limit: *l}
		}
		return over == nil
	})
	return over
}

// timeUp returns in how long the time of the loop, or the time that a budget leaves, is up.
func (e *Executor) timeUp() (left time.Duration, limited bool) {
	left, limited = e.loopUp()
	e.limits(func(l *limit) bool {
		if up, has := l.up(); has && l.stops(needTime) && (!limited || up < left) {
			left, limited = up, true
		}
		return true
	})
	return left, limited
}

// up returns in how long the limit is reached while the run waits. It reports false if waiting does not use it.
func (l *limit) up() (time.Duration, bool) {
	switch {
	case l.reached():
		return 0, true
	case l.Name != wallName || l.state != "":
		return 0, false
	}
	return time.Duration(math.Ceil((l.Most - l.Spent) * float64(time.Second))), true // or it is 0, and none is used up
}

// affordable returns an *overrun where a budget leaves nothing for a prompt or judge.
func (e *Executor) affordable() error {
	e.raiseLimits()
	if over := e.usedUp(needPrompt); over != nil {
		return over
	}
	return nil
}

// inFlight is what the prompts and judges that run now are expected to use of a limit: as much each as those
// that ended did in the mean, and all that is left while none has ended.
func (l *limit) inFlight() float64 {
	n := float64(l.of.asking)
	switch {
	case n == 0 || l.Name != "prompts" && l.Name != "cost_usd" && l.Name != "tokens":
		return 0
	case l.Name == "prompts":
		return n
	case l.ended == 0:
		return max(0, l.Most-l.Spent)
	}
	return n * l.Spent / float64(l.ended)
}

// errSettled means that a prompt or a judge waited for others in flight: its agent may be out by now.
var errSettled = errors.New("a prompt beside it has ended")

// reserve takes from the budgets what a prompt or a judge is expected to use, until settle is called, and sets
// what it may cost. Where others in flight leave nothing, it waits until one of them has settled, and may have
// used less; then the error is errSettled, and all that keeps an agent from being asked is to be looked at again.
// Other errors are an *overrun and errHalted. told is what a prompt is told of the rest; "" = nothing.
func (e *Executor) reserve(a *Action) (told string, settle func(), err error) {
	if err := e.affordable(); err != nil {
		return "", nil, err
	}
	if e.nothingLeft() {
		if !e.awaitSettled() {
			return "", nil, errHalted
		}
		return "", nil, errSettled
	}
	a.MaxCost = e.costLeft()
	if a.Kind == KindPrompt {
		told = e.steer(a)
	}
	for x := e; x != nil; x = x.parent {
		x.asking++
	}
	return told, func() {
		for x := e; x != nil; x = x.parent {
			x.asking--
		}
	}, nil
}

// nothingLeft reports whether what others in flight may use leaves nothing for one more.
func (e *Executor) nothingLeft() (taken bool) {
	e.limits(func(l *limit) bool {
		used := l.inFlight()
		taken = used > 0 && l.Spent+used >= l.Most
		return !taken
	})
	return taken
}

// awaitSettled waits until a prompt or a judge of another branch or item has ended, and while the run is paused
// then. It reports false if the run is to end, or its time is up.
func (e *Executor) awaitSettled() bool {
	news, up := e.machine.news, e.timeUp
	if e.mem.Flushing {
		up = nil // it acts once more, whatever the time is
	}
	e.rest(func() bool {
		return !e.nothingLeft() || e.halts() || up != nil && (e.over() || e.usedUp(needTime) != nil) || e.isHeld() ||
			e.machine.news != news
	}, up)
	return !e.halts() && (e.mem.Flushing || e.loopTimeout() == pass) && e.held() == pass
}

// costLeft is what the next prompt may cost, in USD; 0 = no limit.
func (e *Executor) costLeft() float64 {
	left := 0.0
	e.limits(func(l *limit) bool {
		if rest := math.Round((l.Most-l.Spent-l.inFlight())*1e6) / 1e6; l.Name == "cost_usd" && rest > 0 &&
			(left == 0 || rest < left) {
			left = rest
		}
		return true
	})
	return left
}

// maxCostField is what a prompt or a judge costs at most, in US dollars: its agent was told to end it above.
const maxCostField = "max_cost_usd"

// keepsCost reports whether the agent ends what is asked above a cost.
func (e *Executor) keepsCost(a *Action) bool {
	return a.MaxCost > 0 && e.cfg.Agents != nil && e.cfg.Agents.KeepsCost(a.Host)
}

// warnAt is how much of a limit is used when a warning is recorded.
const warnAt = 0.8

// warnBudget says once of each limit of this loop that little of it is left. The event is that of the loop that spent.
func (e *Executor) warnBudget(spender *Executor) {
	e.limits(func(l *limit) bool {
		if l.of != e {
			return false
		}
		if l.Name != ceilingName && l.Spent >= warnAt*l.Most && e.warnOnce(l.state+"/"+l.Name) {
			spender.emit(EventBudgetWarning, l.fields()...)
		}
		return true
	})
	e.noteCeiling(spender)
}

func (l *limit) fields() []Field {
	fields := []Field{{"loop", l.of.mem.Loop}}
	if l.state != "" {
		fields = append(fields, Field{"budget_of", l.state})
	}
	fields = append(fields, Field{"limit", l.Name}, Field{"spent", plainNumber(l.Spent)},
		Field{"budget", plainNumber(l.Most)})
	if l.Unknown {
		fields = append(fields, Field{"cost_unknown", true})
	}
	return fields
}

// plainNumber is a value that is written as an integer where it is one, to a millionth.
func plainNumber(v float64) any {
	v = math.Round(v*1e6) / 1e6
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return int64(v)
	}
	return v
}

// overspent leaves a state because of a budget: by its on_budget, or else by that of the loop, which is taken once. A
// budget of a loop around this one is that one's business: this loop ends, and continues where it was when the run is
// resumed with a higher one.
func (e *Executor) overspent(st *State, o *overrun) decision {
	m := e.mem
	if o.Name == ceilingName {
		if o.of == e {
			e.exceeded(&o.limit)
		}
		return decision{overrun: o}
	}
	slot := ""
	if o.of == e {
		if slot = st.OnBudget; slot == "" && !m.BudgetRouted {
			slot = e.cfg.Loop.OnBudget
		}
	}
	target, err := e.target(slot, e.scope(nil))
	if err != nil {
		return decision{fatal: err.Error()}
	}
	if o.of == e {
		fields := append([]Field{{"state", st.Name}}, o.fields()...)
		var next any
		if target != "" {
			next = target
		}
		e.emit(EventBudgetExceeded, append(fields, Field{"next", next})...)
	}
	if target == "" {
		return decision{overrun: o}
	}
	m.BudgetRouted = m.BudgetRouted || st.OnBudget == ""
	return decision{target: target}
}

// budgetLeft looks at the limits that not only prompts use up: steps and time. A limit of the loop leads to
// on_budget once, whose state is then entered. States that lead each other on by limits of their own end the
// run where they meet again.
func (e *Executor) budgetLeft() result {
	m, left := e.mem, map[string]bool{}
	for over := e.usedUp(needEntry); over != nil; over = e.usedUp(needEntry) {
		st := e.cfg.Loop.States[m.Current]
		if len(left) > 0 && (st == nil || st.Terminal) {
			break // which is looked at before budgets
		}
		d := e.overspent(st, over)
		left[m.Current] = true
		switch {
		case d.fatal != "":
			e.finish(EndError, d.fatal)
			return ended
		case d.overrun != nil || over.state != "" && left[d.target]:
			e.finish(over.end(e), over.Error())
			return ended
		}
		m.Previous, m.Current, m.JustRouted = m.Current, d.target, true
		m.BudgetRouted = m.BudgetRouted || over.state == ""
	}
	if len(left) == 0 {
		return pass
	}
	e.record(false)
	return again
}

// budgetRaised checks the budgets again when a run is resumed.
func (e *Executor) budgetRaised() {
	m := e.mem
	m.BudgetWarned = nil
	if e.usedUp(needPrompt) == nil {
		m.BudgetRouted = false
	}
}

// Prompts reports whether a visit to the state gives a prompt to an agent.
func Prompts(st *State) bool { return st.Loop == "" && acts(st) && KindOf(st) == KindPrompt }
