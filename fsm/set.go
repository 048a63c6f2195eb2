package fsm

import (
	"errors"
	"fmt"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// An Assignment gives a key of the context the value of an expression.
type Assignment struct {
	Key   string
	Value *expr.Program
	Pos   Pos // of the expression
}

// A Case is one row of a route that is a list: where to go if a condition holds.
type Case struct {
	When *expr.Program // nil = in any case
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

// An expressionError is the error of an expression in a run.
type expressionError struct {
	text   string // begins with the place in the file if that is known
	source string // the line of the file, and a line with a caret under the place; "" if it is not known
}

func (e *expressionError) Error() string { return e.text }

// expressionFailed returns the error of an expression, which is the value of key.
func expressionFailed(key string, p *expr.Program, err error) error {
	wrong, ok := errors.AsType[*expr.Error](err)
	if !ok {
		wrong = &expr.Error{Message: err.Error()}
	}
	at, ok := p.Place(wrong)
	if !ok {
		return fmt.Errorf("%s: %s: %w", key, p, wrong)
	}
	pos := Pos{at.File, at.Line, at.Col}
	return &expressionError{fmt.Sprintf("%s: %s: %s", pos, key, wrong.Message), at.Source}
}

// sourceOf returns the lines of a file that an error is about, "" if it has none.
func sourceOf(err error) string {
	if e, ok := errors.AsType[*expressionError](err); ok {
		return e.source
	}
	return ""
}

// assign gives the context the values that the state sets: one after the other, so that each sees those before
// it. prev is the result that its expressions see.
func (e *Executor) assign(st *State, prev *value.Map) error {
	if len(st.Set) == 0 {
		return nil
	}
	scope := e.scope(nil)
	values, set := e.mem.Context.Clone(), value.NewMap()
	scope.Context, scope.Prev = values, prev
	for _, a := range st.Set {
		v, err := a.Value.Eval(scope)
		if text, ok := v.(string); ok && len(text) > maxAssigned {
			err = fmt.Errorf("the text has %d bytes, and at most %d can be kept in the context", len(text), maxAssigned)
		}
		if err != nil {
			return expressionFailed("set "+a.Key, a.Value, err)
		}
		values.Set(a.Key, v)
		set.Set(a.Key, v)
	}
	e.mem.Context = values
	e.emit(EventSet, Field{"state", st.Name}, Field{"values", set})
	return nil
}

// Expressions returns the expressions of a state: those of set, of its route and of its evaluator.
func Expressions(s *State) (all []*expr.Program) {
	if s != nil {
		s.EachExpression(func(p *expr.Program, _ ...string) { all = append(all, p) })
	}
	return all
}

// choose returns the target of the first case that holds; "" = none does.
func (r *Route) choose(scope *expr.Scope) (string, error) {
	for i, c := range r.Cases {
		if c.When == nil {
			return c.To, nil
		}
		holds, err := c.When.True(scope)
		if err != nil {
			return "", expressionFailed(fmt.Sprintf("route[%d].when", i), c.When, err)
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
		return Verdict{}, expressionFailed("evaluate.expression", cfg.Expression, err)
	}
	return yesNo(yes, "expression", cfg.Expression.String()), nil
}
