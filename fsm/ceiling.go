package fsm

import (
	"fmt"
	"math"
)

// A CostCeiling limits what all visits to a state may cost together, as little-loops has it: the prompt that
// exceeds it is the last one, and the run ends as failed. A cost that is not known counts as nothing.
type CostCeiling struct {
	Most *float64 // US dollars; nil = no limit
	Warn *float64 // US dollars from which on a warning is recorded, once; nil = none
}

// ceilingName is the name of a ceiling among the limits of a budget.
const ceilingName = "cost_ceiling_per_state"

// ceiling returns the limit of the state that this loop is in, or nil.
func (e *Executor) ceiling() *limit {
	st := e.cfg.Loop.States[e.mem.Current]
	if st == nil || st.CostCeiling == nil || st.CostCeiling.Most == nil {
		return nil
	}
	s := e.mem.StateSpent[e.mem.Current]
	return &limit{
		e, st.Name, s.Prompts, true,
		BudgetLine{Name: ceilingName, Spent: s.CostUSD, Most: *st.CostCeiling.Most},
	}
}

// noteCeiling records once of the state that this loop is in that its cost came near its ceiling, and once that
// a cost is not known. The events are those of the loop that spent.
func (e *Executor) noteCeiling(spender *Executor) {
	st := e.cfg.Loop.States[e.mem.Current]
	if st == nil || st.CostCeiling == nil {
		return
	}
	s := e.mem.StateSpent[st.Name]
	if s.Unpriced > 0 && e.warnOnce(st.Name+"/cost_ceiling_unknown") {
		spender.emit(EventCostCeilingUnknown, Field{"state", st.Name}, Field{"reason", "unpriceable model"})
	}
	if w := st.CostCeiling.Warn; w != nil && s.CostUSD >= *w && e.warnOnce(st.Name+"/cost_warn_at") {
		spender.emit(EventCostCeilingWarn, Field{"state", st.Name}, Field{"cost_usd", usd(s.CostUSD)},
			Field{"cost_warn_at", plainNumber(*w)})
	}
}

// warnOnce reports whether this loop has not warned of what key names yet, and remembers that it does.
func (e *Executor) warnOnce(key string) bool {
	if e.mem.BudgetWarned[key] > 0 {
		return false
	}
	if e.mem.BudgetWarned == nil {
		e.mem.BudgetWarned = make(map[string]int)
	}
	e.mem.BudgetWarned[key] = 1
	return true
}

// costCeiling ends the run after a visit that exceeded the ceiling of its state.
func (e *Executor) costCeiling() (over bool) {
	l := e.ceiling()
	if l == nil || !l.reached() {
		return false
	}
	e.exceeded(l)
	e.finish(EndCostCeiling, (&overrun{limit: *l}).Error())
	return true
}

func (e *Executor) exceeded(l *limit) {
	e.emit(EventCostCeilingExceeded, Field{"state", l.state}, Field{"cost_usd", usd(l.Spent)},
		Field{ceilingName, plainNumber(l.Most)},
		Field{"action", "abort"})
}

// end returns how e ends for which the limit leaves nothing. A ceiling of a loop around it is that one's business.
func (o *overrun) end(e *Executor) string {
	if o.Name == ceilingName && o.of == e {
		return EndCostCeiling
	}
	return EndBudget
}

func (o *overrun) ceilingText() string {
	return fmt.Sprintf("state %s of loop %s cost %s US dollars, which exceeds its %s of %s", o.state, o.of.mem.Loop,
		amount(usd4(o.Spent)), ceilingName, amount(o.Most))
}

// usd is a cost as events have it, to four places.
func usd(v float64) any { return plainNumber(usd4(v)) }

func usd4(v float64) float64 { return math.Round(v*1e4) / 1e4 }
