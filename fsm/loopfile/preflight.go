package loopfile

import (
	"math/big"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
)

// Preflight reports what the context of a run lacks: every ${context.NAME} in an action or in the prompt of a
// judge must have a value, unless it is escaped or has a fallback (:default= or ?) or another state sets it,
// and every required input must be set and not empty, and every required parameter set. Each missing name is
// reported once, at the first state that needs it. The context is the one the run would start with.
func Preflight(l *fsm.Loop, context *value.Map) []fsm.Problem {
	var problems []fsm.Problem
	said := map[string]bool{}
	report := func(pos fsm.Pos, path, rule, message string) {
		problems = append(problems, fsm.Problem{
			Pos: pos, Severity: fsm.SeverityError, Rule: rule, Path: path,
			Message: message,
		})
	}
	for _, name := range l.RequiredInputs {
		if v, _ := context.Get(name); truthy(v) || said[name] {
			continue
		}
		said[name] = true
		report(place(l, l.Pos, fsm.KeyPlace, "required_inputs"), "required_inputs", "missing-input",
			"the input "+quote(name)+" is required and not set; "+remedy(l, name))
	}
	for _, p := range l.Parameters {
		if _, ok := context.Get(p.Name); ok || !p.Required || said[p.Name] {
			continue
		}
		said[p.Name] = true
		report(p.Pos, "parameters."+clip(p.Name), "missing-input",
			"the parameter "+quote(p.Name)+" is required and not set; "+remedy(l, p.Name))
	}
	setBy := assigned(l)
	for _, state := range l.Order {
		s := l.States[state]
		look := func(text string, key ...string) {
			for _, r := range references(text) {
				if r.Namespace != "context" || guarded(r) {
					continue
				}
				name, _, _ := strings.Cut(r.Path, ".")
				if _, ok := context.Get(name); ok || said[name] || setBy[name].besides(state) {
					continue
				}
				said[name] = true
				hint := ""
				if context.Len() < 1000 {
					hint = didYouMean(name, context.Keys())
				}
				at := append([]string{"states", state}, key...)
				report(place(l, s.Pos, r.Offset, at...), join("states", state)+"."+strings.Join(key, "."),
					"missing-context",
					"the state "+quote(state)+" uses "+clip(r.Text)+", but the context has no "+quote(name)+hint+"; "+
						remedy(l, name))
			}
		}
		if c := s.Call; c == nil {
			look(s.Action, "action")
		} else {
			c.EachText(func(text string, path ...string) { look(text, append([]string{"call"}, path...)...) })
		}
		if s.Evaluate != nil {
			look(s.Evaluate.Prompt, "evaluate", "prompt")
		}
	}
	return problems
}

// setters are the states that give a key of the context its value: the first, and whether there are more.
type setters struct {
	first string
	more  bool
}

// besides reports whether a state other than this one is among them. What only the state itself sets is not there yet
// when its action begins.
func (s setters) besides(state string) bool { return s.more || s.first != "" && s.first != state }

// assigned finds which states set which keys of the context during a run.
func assigned(l *fsm.Loop) map[string]setters {
	by := map[string]setters{}
	for _, state := range l.Order {
		for _, a := range l.States[state].Set {
			if s, ok := by[a.Key]; !ok {
				by[a.Key] = setters{first: state}
			} else if s.first != state {
				by[a.Key] = setters{s.first, true}
			}
		}
	}
	return by
}

// place finds something in the file of a loop, or where it is at least.
func place(l *fsm.Loop, near fsm.Pos, offset int, path ...string) fsm.Pos {
	if l.Place == nil {
		return near
	}
	return l.Place(offset, path...)
}

// remedy returns how to give a context key a value.
func remedy(l *fsm.Loop, name string) string {
	if name == l.InputKey {
		return "give it as INPUT after the name of the loop"
	}
	return "give it with --context " + clip(name) + "=VALUE"
}

// truthy is the test of the language: false, 0, "", nothing and empty lists and mappings are not.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	case float64:
		return v != 0
	case *big.Int:
		return v.Sign() != 0
	case []any:
		return len(v) > 0
	case *value.Map:
		return v.Len() > 0
	}
	return true
}
