package lint

import (
	"slices"
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
)

// An answer is what a kind of state can come to.
type answer struct {
	by       string   // what gives the verdicts
	verdicts []string // besides error
	must     []string // those of them that a route has to take: only by mistake are they left out
	open     bool     // there may be others
}

var answers = map[string]answer{
	"exit_code":           {verdicts: []string{"yes", "no"}, must: []string{"yes", "no"}},
	"output_numeric":      {verdicts: []string{"yes", "no"}, must: []string{"yes", "no"}},
	"output_json":         {verdicts: []string{"yes", "no"}, must: []string{"yes", "no"}},
	"output_contains":     {verdicts: []string{"yes", "no"}, must: []string{"yes", "no"}},
	"diff_stall":          {verdicts: []string{"yes", "no"}, must: []string{"yes", "no"}},
	"score_stall":         {verdicts: []string{"yes", "no"}, must: []string{"yes", "no"}},
	"open_question_stall": {verdicts: []string{"yes", "no"}, must: []string{"yes", "no"}},
	"action_stall":        {verdicts: []string{"yes", "no"}, must: []string{"yes", "no"}},
	"contract":            {verdicts: []string{"yes", "no"}, must: []string{"yes", "no"}},
	"harbor_scorer":       {verdicts: []string{"yes", "no"}, must: []string{"yes", "no"}},
	"comparator": {
		verdicts: []string{"yes", "no", "tie", "no_baseline"},
		must:     []string{"yes", "no", "tie", "no_baseline"},
	},
	"convergence": {
		verdicts: []string{"target", "progress", "stall"},
		must:     []string{"target", "progress", "stall"},
	},
	"mcp_result": {
		verdicts: []string{"success", "tool_error", "not_found", "timeout"},
		must:     []string{"success"},
	},
	"llm_structured": {
		verdicts: []string{"yes", "no", "blocked", "partial", "cannot_judge"},
		must:     []string{"yes"},
	},
	"classify":           {open: true},
	fsm.EvaluateLearning: {open: true},
}

// answerOf returns what a state without next can come to. It is open where that is not known.
func answerOf(s *fsm.State) answer {
	typ := ""
	switch {
	case s.Each != nil:
		return answer{by: "for_each", verdicts: []string{"yes", "partial", "no", "empty"}, must: []string{"yes", "no"}}
	case s.Loop != "":
		return answer{by: "a sub-loop", verdicts: []string{"yes", "no", "timeout"}, must: []string{"yes", "no"}}
	case s.Await != nil:
		if s.Await.Ask != nil {
			return answer{
				by:       "a question",
				verdicts: append(slices.Clone(s.Await.Ask.Choices), "timeout", "withdrawn"), must: s.Await.Ask.Choices,
			}
		}
		a := answer{by: "a wait", verdicts: []string{"yes"}, must: []string{"yes"}}
		if s.Timeout > 0 {
			a.verdicts = append(a.verdicts, "timeout", "no")
		} else if s.Await.Run != "" {
			a.verdicts = append(a.verdicts, "no")
		}
		return a
	case s.Branches != nil:
		return answer{by: "parallel", verdicts: []string{"yes", "partial", "no"}, must: []string{"yes", "no"}}
	case s.Evaluate != nil:
		typ = s.Evaluate.Type
	case isPrompt(s):
		typ = "llm_structured"
	case s.ActionType == "mcp_tool" && s.Action != "":
		typ = "mcp_result"
	case isShell(s), s.Action != "" && (fsm.KindOf(s) == fsm.KindProgram || s.Call != nil):
		typ = "exit_code"
	default:
		return answer{by: "a state without action and evaluate", verdicts: []string{"yes"}, must: []string{"yes"}}
	}
	a, ok := answers[typ]
	a.by = typ
	a.open = a.open || !ok || typ == "llm_structured" && s.Evaluate != nil && s.Evaluate.Schema != nil
	return a
}

// Verdicts returns the verdicts that a state can come to, error among them; it is open where there may be others.
func Verdicts(s *fsm.State) (verdicts []string, open bool) {
	a := answerOf(s)
	return append(slices.Clone(a.verdicts), "error"), a.open
}

// judged reports whether a language model finds the verdict of a state.
func judged(s *fsm.State) bool {
	if s.Evaluate != nil {
		return s.Evaluate.Type == "llm_structured"
	}
	return isPrompt(s)
}

// routeRules check that the routes of a state and the verdicts it can come to fit each other.
func (c *checker) routeRules(s *fsm.State) {
	if s.Terminal || s.Next != "" {
		return
	}
	a := answerOf(s)
	if !a.open {
		if !c.impossible(s, a) {
			c.uncaught(s, a)
		} else if !c.l.Maintain && !slices.ContainsFunc(append(slices.Clone(a.verdicts), "error"),
			func(v string) bool { return takes(s, v) }) {
			c.warnf("uncaught-verdict", ofState(s), "none of the verdicts of %s leads out of the state %s, so a run "+
				"that comes here always ends with an error; add a route for %s", a.by, humanize.Quote(s.Name),
				humanize.And(a.must))
		}
	}
	if judged(s) && s.Route == nil && s.Loop == "" && s.On["yes"] != "" {
		var missing []string
		for _, v := range []string{"no", "partial"} {
			if s.On[v] == "" {
				missing = append(missing, "on_"+v)
			}
		}
		if len(missing) > 0 {
			c.warnf("partial-route", ofState(s, "on_yes"),
				"a judge also answers no and partial, and the state %s has no %s; without a route for its verdict a "+
					"run ends there", humanize.Quote(s.Name), strings.Join(missing, " and no "))
		}
	}
	if s.Route != nil && len(s.Route.Cases) > 0 && !slices.ContainsFunc(s.Route.Cases, func(row fsm.Case) bool {
		return row.When == nil || row.When.String() == "true"
	}) {
		c.warnf("open-route", valueAt("states", s.Name, "route"),
			"where none of the conditions of this route holds, a run ends with an error; add a last row without "+
				"when: {to: STATE}")
	}
	if s.Evaluate != nil && s.Evaluate.Type == "classify" && s.Route != nil && s.Route.Cases == nil &&
		s.Route.Default == "" {
		c.warnf("classify-default", valueAt("states", s.Name, "route"),
			"classify answers with whatever line it finds; add _ to the route for lines you did not expect")
	}
}

// impossible warns of routes for verdicts that never come. It reports whether there is one: such a route is meant for
// another verdict, so nothing is said then about those that lead nowhere.
func (c *checker) impossible(s *fsm.State, a answer) (found bool) {
	possible := append(slices.Clone(a.verdicts), "error")
	comes := func(v string) bool {
		return slices.Contains(possible, v) ||
			a.by == "llm_structured" &&
				(strings.HasPrefix(v, "cannot_judge_") ||
					slices.Contains(a.verdicts, strings.TrimSuffix(v, "_uncertain")))
	}
	if s.Route != nil {
		for _, v := range s.Route.Table.Keys() { // a list has none
			if comes(v) {
				continue
			}
			found = true
			hint := c.didYouMean(v, possible)
			if (v == "success" || v == "failure") && s.Loop == "" {
				hint = "; did you mean " + map[string]string{"success": `"yes"?`, "failure": `"no"?`}[v]
			}
			if v == "default" && s.Route.Default == "" {
				hint = "; the key for every other verdict is _"
			}
			c.warnf("impossible-verdict", key("states", s.Name, "route", v),
				"%s never gives the verdict %s%s (it gives %s)", a.by, humanize.Quote(v), hint, humanize.And(possible))
		}
		return found
	}
	words := make([]string, 0, len(possible)+2)
	for _, v := range possible {
		words = append(words, "on_"+v)
	}
	if slices.Contains(possible, "yes") {
		words = append(words, "on_success", "on_failure")
	}
	for _, v := range verdicts(s) {
		if comes(v) || s.On[v] == c.l.Otherwise {
			continue
		}
		found = true
		hint := c.didYouMean("on_"+v, words)
		if v == "yes" && slices.Contains(possible, "success") {
			hint = "; on_success is the same as on_yes, so success needs a route table: route: {success: …}"
		}
		c.warnf("impossible-verdict", ofState(s, "on_"+v),
			"%s never gives the verdict %s, so on_%s is never taken%s (it gives %s)", a.by, humanize.Quote(v),
			humanize.Clip(v), hint, humanize.And(possible))
	}
	return found
}

// uncaught warns of ordinary verdicts that lead nowhere.
func (c *checker) uncaught(s *fsm.State, a answer) {
	if c.l.Maintain || s.Route == nil && len(s.On) == 0 {
		return // a dead end starts over there; a state without any transition is an error of its own
	}
	var open []string
	for _, v := range a.must {
		if !takes(s, v) {
			open = append(open, v)
		}
	}
	if len(open) == 0 {
		return
	}
	verdict, which := "verdict", "this verdict"
	if len(open) > 1 {
		verdict, which = "verdicts", "one of these"
	}
	var add string
	if s.Route != nil {
		add = "to route, or _ for all others"
	} else {
		add = "as " + humanize.And(prefixed("on_", open))
	}
	if slices.Contains(open, "success") {
		add = "by a route table: route: {success: …}"
	}
	if alone := c.leftAlone(s); alone != "" && s.Route == nil {
		add += alone
	} else if slices.Contains(open, "no") && s.Route == nil {
		add += " with the state for failures, or name that in otherwise at the top level (next would go on " +
			"although it failed)"
	}
	c.warnf("uncaught-verdict", ofState(s), "the state %s has no transition for the %s %s of %s, and a run ends "+
		"with an error on %s; add it %s",
		humanize.Quote(s.Name), verdict, humanize.And(open), a.by, which, add)
}

func prefixed(prefix string, words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = prefix + w
	}
	return out
}

// takes reports whether a route of the state takes a verdict.
func takes(s *fsm.State, verdict string) bool {
	if s.Route != nil && s.Route.Cases != nil {
		return verdict != "error" || s.Route.Error != "" // which row holds only a run knows
	}
	if s.Route == nil {
		return s.On[verdict] != "" || verdict == "no" && s.On["error"] != ""
	}
	return tableTarget(s.Route, verdict) != "" || s.Route.Default != "" || (verdict == "no" || verdict == "error") &&
		s.Route.Error != ""
}
