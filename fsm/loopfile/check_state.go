package loopfile

import (
	"os"
	"slices"
	"strings"
)

// checkState checks keys that need each other.
func (d *decoder) checkState(s *stateDecl) {
	b := s.b
	pair := func(key, needs string) {
		if b.has(key) && !b.has(needs) && !s.open {
			d.errorf(b.keyPos(key), join(b.path, key), "missing-key", "%s needs %s", key, needs)
		}
	}
	d.checkRetry(s)
	d.checkGuard(s)
	d.checkCheck(s)
	if b.has("call") {
		d.checkCall(s)
	} else {
		d.checkAwait(s)
		d.checkBranches(s)
	}
	d.checkEach(s)
	pair("max_retries", "on_retry_exhausted")
	pair("on_retry_exhausted", "max_retries")
	pair("retryable_exit_codes", "on_error")
	pair("max_rate_limit_retries", "on_rate_limit_exhausted")
	pair("on_rate_limit_exhausted", "max_rate_limit_retries")
	if b.has("rate_limit_long_wait_ladder") && b.fields["rate_limit_long_wait_ladder"].val != nil &&
		len(s.RateLimitLadder) == 0 && len(b.fields["rate_limit_long_wait_ladder"].node.Content) == 0 {
		d.errorf(b.pos("rate_limit_long_wait_ladder"), join(b.path, "rate_limit_long_wait_ladder"), "range",
			"rate_limit_long_wait_ladder is empty; expected seconds, such as [300, 900]")
	}
	if s.Params.Len() > 0 && s.ActionType != "mcp_tool" && !b.has("call") && !s.open {
		d.errorf(b.keyPos("params"), join(b.path, "params"), "conflict",
			"params are the arguments of a tool; they need action_type: mcp_tool")
	}
	if b.has("message") && !s.Terminal && !s.open {
		d.errorf(b.keyPos("message"), join(b.path, "message"), "conflict",
			"a message is said when the run ends, and this state does not end it; give it to a state with "+
				"terminal: true")
	}
	if b.has("append_to_messages") && s.Append != "" && !strings.Contains(s.Append, "${") {
		d.errorf(b.pos("append_to_messages"), join(b.path, "append_to_messages"), "no-template",
			"append_to_messages would add the same text every time; expected a template such as "+
				"${captured.NAME.output}")
	}
}

// checkTransition checks that the state leads somewhere.
func (d *decoder) checkTransition(s *stateDecl) {
	b := s.b
	if b.has("route") || b.given("next") || s.mayEnd() || s.open || s.Loop != "" {
		return
	}
	for _, e := range b.order {
		if s.custom[e.name] || isVerdictKey(e.name) && b.given(e.name) {
			return
		}
	}
	d.errorf(s.Pos, s.path, "no-transition", "the state %s leads nowhere; expected on_yes and on_no, route, next "+
		"(which goes on even if it fails), or terminal: true", quote(s.Name))
}

func isVerdictKey(name string) bool { return strings.HasPrefix(name, "on_") && !notVerdicts[name] }

// checkAction warns about an action that may not be what its author thinks.
func (d *decoder) checkAction(s *stateDecl) {
	b := s.b
	declared := s.Extension != nil || slices.Contains(byWhere()[InState]["action_type"].Values, s.ActionType)
	program := firstWord(s.Action)
	if !declared && strings.HasPrefix(s.Action, "/") && isFile(program) {
		d.warnf(b.pos("action"), join(b.path, "action"), "slash-action",
			"an action that begins with / is a prompt; to run the program %s add action_type: shell", clip(program))
	}
}

// firstWord returns what is before the first blank or line end.
func firstWord(text string) string {
	if i := strings.IndexAny(text, " \n"); i >= 0 {
		return text[:i]
	}
	return text
}

func isFile(path string) bool {
	if len(path) > 4096 || strings.ContainsRune(path, 0) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
