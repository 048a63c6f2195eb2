package loopfile

import (
	"os"
	"slices"
	"strings"

	"loops/fsm"
)

// checkState checks keys that need each other.
func (d *decoder) checkState(l *fsm.Loop, s *stateDecl) {
	b := s.b
	pair := func(key, needs string) {
		if b.has(key) && !b.has(needs) && !s.open {
			d.errorf(b.keyPos(key), join(b.path, key), "missing-key", "%s needs %s", key, needs)
		}
	}
	pair("max_retries", "on_retry_exhausted")
	pair("on_retry_exhausted", "max_retries")
	pair("retryable_exit_codes", "on_error")
	pair("max_rate_limit_retries", "on_rate_limit_exhausted")
	pair("on_rate_limit_exhausted", "max_rate_limit_retries")
	if b.has("rate_limit_long_wait_ladder") && b.fields["rate_limit_long_wait_ladder"].val != nil && len(s.RateLimitLadder) == 0 && len(b.fields["rate_limit_long_wait_ladder"].node.Content) == 0 {
		d.errorf(b.pos("rate_limit_long_wait_ladder"), join(b.path, "rate_limit_long_wait_ladder"), "range", "rate_limit_long_wait_ladder is empty; expected seconds, such as [300, 900]")
	}
	if s.Params.Len() > 0 && s.ActionType != "mcp_tool" && !s.open {
		d.errorf(b.keyPos("params"), join(b.path, "params"), "conflict", "params are the arguments of a tool; they need action_type: mcp_tool")
	}
	if b.has("append_to_messages") && s.Append != "" && !strings.Contains(s.Append, "${") {
		d.errorf(b.pos("append_to_messages"), join(b.path, "append_to_messages"), "no-template", "append_to_messages would add the same text every time; expected a template such as ${captured.NAME.output}")
	}
	if s.Terminal && s.Action != "" && s.Name != l.OnMaxSteps && s.Name != l.OnMaxIterations && !d.flags["terminal_action_ok"] {
		d.warnf(b.keyPos("action"), join(b.path, "action"), "terminal-action", "the action of a terminal state never runs; move it to a state before this one, or set terminal_action_ok: true")
	}
}

// checkRouting checks that the state leads somewhere, and that what it says about it is heard.
func (d *decoder) checkRouting(s *stateDecl) {
	b := s.b
	var short []string // on_ keys that only an evaluated verdict without a table uses
	for _, e := range b.order {
		if s.custom[e.name] || isVerdictKey(e.name) && b.given(e.name) {
			short = append(short, e.name)
		}
	}
	if len(short) == 0 && !b.has("route") && !b.given("next") && !s.mayEnd() && !s.open {
		d.errorf(s.Pos, s.path, "no-transition", "the state %s leads nowhere; expected next, on_yes and on_no, route, or terminal: true", quote(s.Name))
	}
	deaf := slices.DeleteFunc(slices.Clone(short), func(k string) bool { return k == "on_error" })
	switch {
	case s.Next != "":
		if b.has("route") {
			deaf = append(deaf, "route")
		}
		if b.has("evaluate") {
			deaf = append(deaf, "evaluate")
		}
		if len(deaf) > 0 {
			d.warnf(b.keyPos("next"), join(b.path, "next"), "ignored", "next leads on whatever happens, so %s %s no effect here", and(deaf), have(deaf))
		}
	case s.Route != nil && len(deaf) > 0:
		d.warnf(b.keyPos("route"), join(b.path, "route"), "ignored", "route decides alone, so %s %s no effect here", and(deaf), have(deaf))
	}
	if s.Evaluate != nil && s.Evaluate.Type == "classify" && s.Route != nil && s.Route.Default == "" && s.Next == "" && !d.flags["partial_route_ok"] {
		d.warnf(s.Route.Pos, join(b.path, "route"), "classify-default", "classify answers with whatever line it finds; add _ to the route for lines you did not expect, or set partial_route_ok: true")
	}
}

func isVerdictKey(name string) bool { return strings.HasPrefix(name, "on_") && !notVerdicts[name] }

func have(words []string) string {
	if len(words) == 1 {
		return "has"
	}
	return "have"
}

// checkAction warns about an action that may not be what its author thinks.
func (d *decoder) checkAction(s *stateDecl) {
	b := s.b
	if s.Action != "" && (s.ActionType == "prompt" || s.ActionType == "slash_command" || s.ActionType == "" && strings.HasPrefix(s.Action, "/")) {
		d.warnf(b.keyPos("action"), join(b.path, "action"), "no-host", "prompts are not run yet: this action will fail with exit code 1")
	}
	judged := s.Evaluate != nil && s.Evaluate.Type == "llm_structured"
	if s.ActionType == "shell" || s.ActionType == "mcp_tool" || s.ActionType == "contract" {
		if s.Evaluate != nil && (s.Evaluate.Type == "comparator" || s.Evaluate.Type == "contract") {
			judged = true
		}
		for _, key := range []string{"model", "effort"} {
			if b.has(key) && !judged {
				d.warnf(b.keyPos(key), join(b.path, key), "ignored", "%s has no effect here: no language model is asked in this state", key)
			}
		}
	}
	declared := slices.Contains(byWhere[InState]["action_type"].Values, s.ActionType)
	if declared || !strings.HasPrefix(s.Action, "/") {
		return
	}
	program, _, _ := strings.Cut(s.Action, "\n")
	program, _, _ = strings.Cut(program, " ")
	if len(program) > 4096 || strings.ContainsRune(program, 0) {
		return
	}
	if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() {
		d.warnf(b.pos("action"), join(b.path, "action"), "slash-action", "an action that begins with / is a prompt; to run the program %s add action_type: shell", clip(program))
	}
}
