package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/expr"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// Unused warns of context values that nothing in the loop looks at: most are mistyped. So it does of a
// positional input that nothing reads; nil = there is none.
func (e *Engine) Unused(l *fsm.Loop, input *string, pairs []string, warn Warn) {
	lib, err := e.p.Library()
	if warn == nil || err != nil || len(pairs) == 0 && input == nil {
		return
	}
	given := value.NewMap()
	if SetPairs(given, pairs) != nil {
		return // is said elsewhere
	}
	u := uses{
		loops: lib.Subloops(project.Overrides{}, nil), names: map[string]bool{}, read: map[string]bool{},
		seen: map[string]bool{},
	}
	u.loop(l)
	if u.any {
		return
	}
	if key := cmp.Or(l.InputKey, "input"); input != nil && inputValues(declared(l), l, *input).Value(key) == *input &&
		!u.reads(key) {
		warn.say(textf("nothing in %s reads the input: it is context.%s, as in ${context.%s}", e.p.Short(l.File), key,
			key))
	}
	for _, key := range given.Keys() {
		if u.names[key] || u.variable(key) {
			continue
		}
		warn.say(textf("nothing in %s uses the context value %s%s", e.p.Short(l.File), humanize.Quote(key),
			humanize.DidYouMean(key, slices.Sorted(maps.Keys(u.names)))))
	}
}

// uses collects which context values a loop looks at.
type uses struct {
	loops project.Subloops
	names map[string]bool // that are declared or read
	read  map[string]bool
	texts []string        // that mention variables of the environment, or the context without a template
	any   bool            // it may be any, for it is only known later which loop gets the whole context
	seen  map[string]bool // files of loops that were looked at
}

func (u *uses) loop(l *fsm.Loop) {
	if u.seen[l.File] {
		return
	}
	u.seen[l.File] = true
	for _, k := range slices.Concat(l.Context.Keys(), l.RequiredInputs, []string{l.InputKey}) {
		u.names[k] = true
	}
	for _, p := range l.Parameters {
		u.names[p.Name] = true
	}
	filled := value.NewMap("input", "")
	Fill(filled, &fsm.Loop{MaxIterations: 1}, "")
	for _, k := range filled.Keys() {
		u.names[k] = true
	}
	u.value(loopfile.ObjectOf(l))
	for _, name := range l.Order {
		s := l.States[name]
		switch {
		case !s.Passthrough:
		case strings.Contains(s.Loop, "${"):
			u.any = true
		default:
			if child, err := u.loops.Loop(s.Loop, l); err == nil {
				u.loop(child)
			} else {
				u.any = true // what is wrong is said when it runs
			}
		}
	}
}

// value looks for templates in a value of any depth.
func (u *uses) value(v any) {
	switch v := v.(type) {
	case *value.Map:
		for _, k := range v.Keys() {
			inner, _ := v.Get(k)
			u.value(inner)
		}
	case []any:
		for _, inner := range v {
			u.value(inner)
		}
	case string:
		for _, ref := range expr.References(v) {
			if ref.Namespace == "context" {
				name, _, _ := strings.Cut(ref.Path, ".")
				u.names[name], u.read[name] = true, true
				u.any = u.any || name == ""
			}
		}
		if strings.Contains(v, "LOOPS_CONTEXT") || strings.Contains(v, "context") {
			u.texts = append(u.texts, v)
		}
	}
}

// reads reports whether a state reads a context value: in a template, in an expression, or as a variable.
func (u *uses) reads(key string) bool {
	return u.read[key] || u.variable(key) || slices.ContainsFunc(u.texts, func(text string) bool {
		_, after, found := strings.Cut(text, "context")
		return found && strings.Contains(after, key) && !strings.Contains(text, "${")
	})
}

// variable reports whether a text mentions the environment variable of a context value.
func (u *uses) variable(key string) bool {
	name := "LOOPS_CONTEXT_" + fsm.VarName(key)
	for _, text := range u.texts {
		for rest := text; ; {
			_, after, found := strings.Cut(rest, name)
			if !found {
				break
			}
			if after == "" || fsm.VarName(after[:1]) == "_" && after[0] != '_' || strings.HasPrefix(after, "_FILE") {
				return true
			}
			rest = after
		}
	}
	return false
}
