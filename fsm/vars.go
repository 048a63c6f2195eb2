package fsm

import (
	"strings"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// The variables in which a shell action finds the run's texts. Unlike templates they need no quoting.
const (
	varContext  = "LOOPS_CONTEXT_"
	varCaptured = "LOOPS_CAPTURED_"
	varEvent    = "LOOPS_EVENT_"
	varPrev     = "LOOPS_PREV_OUTPUT"
)

// vars are the variables of a shell action: every context value and the output of every capture as ${...} would
// insert it, and the output of the state before. Where two names become one variable, the first has it.
func (e *Executor) vars() []Var {
	vars := append(e.mem.vars(e.captured()), e.leftVars()...)
	if p := e.place(); p != nil {
		vars = append(vars, p.round.itemVars(p.item)...)
	}
	return vars
}

// Vars returns the variables of a shell action after what the memory remembers.
func (m *Snapshot) Vars() []Var { return m.vars(m.Captured) }

func (m *Snapshot) vars(captured *value.Map) []Var {
	vars := make([]Var, 0, m.Context.Len()+captured.Len()+1)
	for _, k := range m.Context.Keys() {
		v, _ := m.Context.Get(k)
		vars = append(vars, Var{varContext + VarName(k), inserted(v)})
	}
	for _, k := range captured.Keys() {
		v, _ := captured.Get(k)
		if rec, ok := v.(*value.Map); ok {
			if file, _ := rec.Value("file").(string); file != "" && expr.IsCut(rec, "output") {
				vars = append(vars, Var{varCaptured + VarName(k) + "_FILE", file})
			} else if out, ok := rec.Get("output"); ok {
				vars = append(vars, Var{varCaptured + VarName(k), inserted(out)})
			}
		}
	}
	for _, k := range m.Event.Keys() {
		vars = append(vars, Var{varEvent + VarName(k), inserted(m.Event.Value(k))})
	}
	if m.PrevResult != nil {
		if file, _ := m.PrevResult.Value("file").(string); file != "" {
			vars = append(vars, Var{varPrev + "_FILE", file})
		} else {
			vars = append(vars, Var{varPrev, inserted(m.PrevResult.Value("output"))})
		}
	}
	return vars
}

// inserted is what a template puts in place of a value.
func inserted(v any) string {
	if v == nil {
		return ""
	}
	return value.Text(v)
}

// VarName is the name of a context key or a capture as part of an environment variable: upper case, and "_" for
// everything that is not an ASCII letter or digit.
func VarName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
}
