package lint

import (
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/pyregexp"
	"loops/internal/humanize"
)

// runVars are the variables every shell action has, besides those of context keys and captures.
var runVars = []string{
	"LOOPS_PREV_OUTPUT", "LOOPS_PREV_OUTPUT_FILE", "LOOPS_RUN_ID", "LOOPS_RUN_DIR", "LOOPS_STATE",
	"LOOPS_STEP", "LOOPS_ATTEMPT", "LOOPS_SCHEDULED_AT", "LOOPS_ACTION", "LOOPS_STORE",
}

// readsVar finds where a script reads one of our variables: $NAME, ${NAME (doubled in a loop file) or environ["NAME"].
var readsVar = pyregexp.Lazy(`(?:\$\{?[#!]?|\benviron\[["'])(LOOPS_[A-Z0-9_]+)`)

const (
	contextVar  = "LOOPS_CONTEXT_"
	capturedVar = "LOOPS_CAPTURED_"
	itemVar     = "LOOPS_ITEM"
	fileVar     = "_FILE" // ends the variable with the path of a text that is too long for one
)

// varRules warn of environment variables that no run sets.
func (c *checker) varRules() {
	known, first := map[string]bool{}, map[string]string{}
	scripts := slices.ContainsFunc(c.states, isShell)
	var contexts, captures []string
	add := func(list *[]string, prefix, name string, at spot) {
		v := prefix + fsm.VarName(name)
		if known[v] {
			if other := first[v]; scripts && other != "" && other != name {
				c.warnf("shared-variable", at, "%s and %s become the same variable, %s, which has the value of the "+
					"first; rename one of them", humanize.Quote(other), humanize.Quote(name), humanize.Clip(v))
				first[v] = "" // it is said once
			}
			return
		}
		first[v] = name
		known[v], known[v+fileVar] = true, true
		*list = append(*list, v)
	}
	for _, v := range runVars {
		known[v] = true
	}
	keys, names := c.contextNames()
	for _, k := range names {
		add(&contexts, contextVar, k, key("context", k))
	}
	for k := range keys { // those that every run has are no suggestions
		known[contextVar+fsm.VarName(k)], known[contextVar+fsm.VarName(k)+fileVar] = true, true
	}
	for _, s := range c.states {
		if s.Capture != "" {
			add(&captures, capturedVar, s.Capture, ofState(s, "capture"))
		}
		if s.Each != nil {
			for _, v := range []string{"", "_INDEX", "_COUNT", "_" + fsm.VarName(s.Each.As)} {
				known[itemVar+v], known[itemVar+v+fileVar] = true, true
			}
		}
	}
	hints := map[string]string{}
	for _, s := range c.states {
		if !isShell(s) || !strings.Contains(s.Action, "LOOPS_") {
			continue
		}
		for _, m := range readsVar().FindAllStringSubmatchIndex(s.Action, 10*maxHits) {
			name := s.Action[m[2]:m[3]]
			if known[name] || s.Action[m[2]-1] == '{' && substituted(s.Action[m[3]:]) || inComment(s.Action, m[0]) ||
				setsVar(s.Action, name) {
				continue
			}
			words, what := runVars, ""
			switch {
			case strings.HasPrefix(name, contextVar):
				words, what = contexts, "nothing in the loop gives a key of the context of that name a value"
			case strings.HasPrefix(name, capturedVar):
				words, what = captures, "no state captures anything of that name"
			}
			hint, ok := hints[name]
			if !ok {
				hint = c.didYouMean(name, words)
				hints[name] = hint
			}
			if what == "" {
				if hint == "" {
					continue // of another program
				}
				what = "no run sets it"
			}
			c.gather("unknown-variable", name, s.Name, spot{m[2], []string{"states", s.Name, "action"}},
				"the variable %s is empty: %s%s", humanize.Clip(name), what, hint)
		}
	}
}

// substituted reports whether bash has something else to take for a variable that is not set, as in ${NAME:-text}.
func substituted(rest string) bool {
	rest = strings.TrimPrefix(rest, ":")
	return rest != "" && strings.IndexByte("-+=?", rest[0]) >= 0
}

// inComment reports whether the line of a script holds nothing but a comment.
func inComment(script string, at int) bool {
	line := script[strings.LastIndexByte(script[:at], '\n')+1 : at]
	return strings.HasPrefix(strings.TrimLeft(line, " \t"), "#")
}

// setsVar reports whether a script gives a variable a value itself.
func setsVar(script, name string) bool {
	return slices.ContainsFunc([]string{name + "=", "read " + name, "read -r " + name, "for " + name},
		func(s string) bool { return strings.Contains(script, s) })
}
