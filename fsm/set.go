package fsm

import (
	"fmt"
	"slices"

	"loops/fsm/expression"
	"loops/fsm/template"
	"loops/fsm/value"
)

// An Assignment gives a key of the context the value of an expression.
type Assignment struct {
	Key   string
	Value *expression.Program
	Pos   Pos // of the expression
}

// A Case is one row of a route that is a list: where to go if a condition holds.
type Case struct {
	When *expression.Program // nil = in any case
	To   string
	Pos  Pos // of the row
}

// Condition names a case: when and its expression, or else.
func (c Case) Condition() string {
	if c.When == nil {
		return "else"
	}
	return "when " + c.When.String()
}

// maxAssigned is how long a text may be that an expression makes, in bytes. Longer ones belong into files.
const maxAssigned = 1 << 20

// assign gives the context the values that the state sets: one after the other, so that each sees those before it.
func (e *Executor) assign(st *State) error {
	if len(st.Set) == 0 {
		return nil
	}
	scope := e.scope(nil)
	values, set := e.mem.Context.Clone(), value.NewMap()
	scope.Context = values
	for _, a := range st.Set {
		v, err := a.Value.Eval(scope)
		if err != nil {
			return fmt.Errorf("set %s: %s: %w", a.Key, a.Value, err)
		}
		if text, ok := v.(string); ok && len(text) > maxAssigned {
			return fmt.Errorf("set %s: %s: the text has %d bytes, and at most %d can be kept in the context", a.Key, a.Value, len(text), maxAssigned)
		}
		values.Set(a.Key, v)
		set.Set(a.Key, v)
	}
	e.mem.Context = values
	e.emit(EventSet, Field{"state", st.Name}, Field{"values", set})
	return nil
}

// Expressions returns the expressions of a state: those of set, of its route and of its evaluator.
func Expressions(s *State) (all []*expression.Program) {
	if s == nil {
		return nil
	}
	for _, a := range s.Set {
		all = append(all, a.Value)
	}
	if s.Route != nil {
		for _, row := range s.Route.Cases {
			all = append(all, row.When)
		}
	}
	if s.Evaluate != nil {
		all = append(all, s.Evaluate.Expression)
	}
	return slices.DeleteFunc(all, func(p *expression.Program) bool { return p == nil })
}

// choose returns the target of the first case that holds; "" = none does.
func (r *Route) choose(scope *template.Scope) (string, error) {
	for i, c := range r.Cases {
		if c.When == nil {
			return c.To, nil
		}
		holds, err := c.When.True(scope)
		if err != nil {
			return "", fmt.Errorf("route[%d].when: %s: %w", i, c.When, err)
		}
		if holds {
			return c.To, nil
		}
	}
	return "", nil
}

// judgeExpression says yes where the expression is true.
func judgeExpression(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	yes, err := cfg.Expression.True(ev.Scope)
	if err != nil {
		return Verdict{}, fmt.Errorf("expression: %s: %w", cfg.Expression, err)
	}
	return yesNo(yes, "expression", cfg.Expression.String()), nil
}
