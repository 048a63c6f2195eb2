package lint

import (
	"encoding/json"
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/expr"
	"loops/internal/humanize"
)

// stateRules look at the keys of a state.
func (c *checker) stateRules(s *fsm.State) {
	c.ignored(s)
	c.routeRules(s)
	c.plainSecret(s)
	if tool := s.Action; s.ActionType == "mcp_tool" && tool != "" && s.Loop == "" && !isTemplate(tool) {
		if server, name, ok := strings.Cut(tool, "/"); !ok || server == "" || name == "" {
			c.warnf("tool-name", valueAt("states", s.Name, "action"),
				"the action of an mcp_tool is SERVER/TOOL, and %s is not, so the call always fails",
				humanize.Quote(tool))
		}
	}
	if s.Each != nil && isList(s.Each.Glob) {
		c.warnf("quoted-list", ofState(s, "for_each"), "for_each is a text that looks like a list, and it is taken "+
			"for a pattern of paths; write the list without quotes around it")
	}
	if s.Terminal && s.Action != "" && s.Name != c.l.OnMaxSteps && s.Name != c.l.OnMaxIterations {
		c.warnf("terminal-action", ofState(s, "action"),
			"the action of a terminal state never runs; move it to a state before this one")
	}
	if s.Route != nil && s.Route.Default != "" && s.Route.Error != "" && s.Next == "" && !s.Terminal {
		c.warnf("route-default", key("states", s.Name, "route", "_error"),
			"with both _ and _error, _error takes the verdict error and _ every other one")
	}
}

// isList reports whether a pattern of paths is probably meant as a list: ["a"], [a, b].
func isList(glob string) bool {
	glob = strings.TrimSpace(glob)
	if !strings.HasPrefix(glob, "[") || !strings.HasSuffix(glob, "]") {
		return false
	}
	if strings.Contains(glob, ",") && strings.Index(glob, "]") == len(glob)-1 {
		return true
	}
	for _, ref := range expr.References(glob) {
		glob = strings.ReplaceAll(glob, ref.Text, "0")
	}
	return json.Valid([]byte(glob))
}

// ignored warns of keys that have no effect because of another one.
func (c *checker) ignored(s *fsm.State) {
	var on []string
	for _, v := range slices.SortedFunc(slices.Values(verdicts(s)), byRank) {
		if v != "error" && s.On[v] != "" {
			on = append(on, "on_"+v)
		}
	}
	has := func(list []string, route, evaluate bool) []string {
		if route && s.Route != nil {
			list = append(list, "route")
		}
		if evaluate && s.Evaluate != nil {
			list = append(list, "evaluate")
		}
		return list
	}
	unheard := func(because, why string, deaf []string) {
		if len(deaf) == 0 {
			return
		}
		have := "have"
		if len(deaf) == 1 {
			have = "has"
		}
		at := ofState(s, deaf[0])
		c.gather("ignored", because+" "+strings.Join(deaf, " "), s.Name, at, "%s%s, so %s %s no effect here", why,
			c.seen(ofState(s, because), at), humanize.And(deaf), have)
	}
	switch {
	case s.Terminal && s.Name != c.l.OnMaxSteps && s.Name != c.l.OnMaxIterations:
		deaf := on
		if s.On["error"] != "" {
			deaf = append(deaf, "on_error")
		}
		if s.Next != "" {
			deaf = append([]string{"next"}, deaf...)
		}
		unheard("terminal", "a run ends in a terminal state", has(deaf, true, true))
	case s.Next != "":
		unheard("next", "next leads on whatever happens", has(on, true, true))
	case s.Loop != "" && s.Each == nil:
		unheard("loop", "the end of a sub-loop is its verdict", has(nil, false, true))
		fallthrough
	default:
		if s.Route != nil {
			unheard("route", "route decides alone", on)
		}
	}
	c.modelless(s)
}

// byRank sorts the verdicts of the key table before those that authors make up.
func byRank(a, b string) int {
	ranks := []string{"yes", "no", "error", "partial", "blocked"}
	ra, rb := slices.Index(ranks, a), slices.Index(ranks, b)
	switch {
	case ra >= 0 && rb >= 0:
		return ra - rb
	case ra >= 0:
		return -1
	case rb >= 0:
		return 1
	}
	return strings.Compare(a, b)
}

// modelless warns of settings for a language model where none is asked.
func (c *checker) modelless(s *fsm.State) {
	program := s.Extension != nil && s.Extension.Host == ""
	if s.ActionType != "shell" && s.ActionType != "mcp_tool" && s.ActionType != "http" &&
		s.ActionType != "contract" && !program {
		return
	}
	for _, k := range []struct{ name, value string }{{"session_mode", s.SessionMode}, {"permissions", s.Permissions}} {
		if k.value != "" {
			c.warnf("ignored", ofState(s, k.name), "%s has no effect here: it is of prompts, and this state has none",
				k.name)
		}
	}
	if judged(s) {
		return
	}
	if s.Evaluate != nil && (s.Evaluate.Type == "comparator" || s.Evaluate.Type == "contract") {
		return
	}
	model := "model"
	if _, hint := fsm.ModelHint(s.Model); hint {
		model = "model_hint"
	}
	for _, k := range []struct{ name, value string }{{model, s.Model}, {"effort", s.Effort}, {"host", s.Host}} {
		if k.value != "" {
			c.warnf("ignored", ofState(s, k.name), "%s has no effect here: no language model is asked in this state",
				k.name)
		}
	}
	if s.CostCeiling != nil {
		c.warnf("ignored", ofState(s, "cost_ceiling"), "cost_ceiling has no effect here: no language model is asked "+
			"in this state")
	}
}

// loopRules look at the keys of the top level.
func (c *checker) loopRules() {
	l := c.l
	if l.InputKey != "" && l.InputKey != "input" && len(l.RequiredInputs) == 0 {
		c.warnf("input-not-required", valueAt("input_key"),
			"the input goes to context.%s, and nothing says that a run needs it; add required_inputs: [%s]",
			humanize.Clip(l.InputKey), humanize.Clip(l.InputKey))
	}
	if l.MaxIterations > 0 && !l.Maintain {
		c.warnf("ignored", key("max_iterations"), "max_iterations counts the full passes of a loop with maintain: "+
			"true, so it has no effect here; the cap on steps is max_steps")
	}
}
