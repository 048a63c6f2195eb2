package lint

import (
	"fmt"
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
)

// Optional gives advice that many loops do well without: that of the rules whose [Rule.Optional] is set. Its
// problems are sorted and limited as those of [Check] are.
func Optional(l *fsm.Loop) []fsm.Problem {
	c := newChecker(l)
	if len(l.Scope) == 0 {
		c.warnf("no-scope", key("scope"), "without scope a run locks the whole project directory, so no other run "+
			"without scope can work beside it; list the paths it works on")
	}
	by := make([][]int, len(c.states))
	for i, next := range c.g.next {
		for _, j := range next {
			by[j] = append(by[j], i)
		}
	}
	for i, s := range c.states {
		if s.Terminal && s.Failure && !c.worked(by[i], i) {
			c.warnf("failure-without-work", ofState(s),
				"no state with an action or a loop leads to %s, so a run that fails there leaves no reason; put a "+
					"state before it that prints one", humanize.Quote(s.Name))
		}
		if ev := s.Evaluate; ev != nil && ev.Type == "llm_structured" && ev.Prompt != "" && s.Next == "" {
			p := strings.ToLower(ev.Prompt)
			if !strings.Contains(p, "verbatim") && !strings.Contains(p, "quote") && !strings.Contains(p, "evidence") {
				c.warnf("judge-evidence", valueAt("states", s.Name, "evaluate", "prompt"),
					"this judge is not asked for evidence; ask it to quote what its verdict rests on")
			}
		}
	}
	c.unguarded()
	return c.sorted()
}

// unguarded reports once where prompts that fail permanently suspend the run.
func (c *checker) unguarded() {
	var names []string
	var first *fsm.State
	for _, s := range c.states {
		if !s.Terminal && s.Loop == "" && s.Next != "" && s.On["error"] == "" && s.OnSuspended == "" && isPrompt(s) {
			if first == nil {
				first = s
			}
			names = append(names, humanize.Quote(s.Name))
		}
	}
	if first == nil {
		return
	}
	const most = 3
	which := humanize.And(names)
	if more := len(names) - most; more > 0 {
		which = strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	c.warnf("prompt-refused", ofState(first, "next"), "a prompt that no host can answer (login, billing, unknown "+
		"model, no host) suspends the run here, because %s %s next, no on_suspended and no on_error; to go "+
		"elsewhere, add on_suspended",
		which, map[bool]string{true: "has", false: "have"}[len(names) == 1])
}

// worked reports whether a state that does something leads to the state i.
func (c *checker) worked(from []int, i int) bool {
	for _, j := range from {
		if s := c.states[j]; j != i && (s.Action != "" || s.Loop != "") {
			return true
		}
	}
	return false
}
