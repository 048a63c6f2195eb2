package loopfile

import (
	"maps"
	"slices"

	"loops/fsm"
	"loops/fsm/value"
)

func stateModel(s, def *fsm.State) *value.Map {
	w := objectOf{value.NewMap()}
	w.text("description", s.Description, "")
	if s.Call != nil {
		w.m.Set("call", callModel(s.Call))
	}
	if s.Call == nil || s.Action != s.Call.String() { // else the call says both
		w.text("action_type", s.ActionType, "")
		w.text("action", s.Action, "")
	}
	w.value("params", s.Params, s.Params != nil)
	w.text("loop", s.Loop, "")
	w.value("with", s.With, s.With != nil)
	w.flag("context_passthrough", s.Passthrough, false)
	w.text("worktree", s.Worktree, "")
	if f := s.Fragment; f != nil {
		w.m.Set("fragment_name", f.Name)
		w.value("fragment_bindings", f.Bindings, f.Bindings != nil)
		w.list("fragment_parameters", parametersModel(f.Parameters))
	}
	w.text("agent", s.Agent, "")
	w.texts("tools", s.Tools)
	w.model(s.Model)
	w.text("effort", s.Effort, "")
	w.value("host", hostModel(s.Host, s.Hosts), s.Host != "" || s.Hosts != nil)
	w.list("failover", failoverModel(s.Failover))
	w.text("session_mode", s.SessionMode, "")
	w.text("permissions", s.Permissions, "")
	w.seconds("timeout", s.Timeout, def.Timeout)
	w.seconds("idle_timeout", s.Idle, def.Idle)
	w.text("capture", s.Capture, "")
	w.text("append_to_messages", s.Append, "")
	w.text("message", s.Message, "")
	w.list("wait", awaitModel(s.Await))
	if s.Await != nil {
		w.list("ask", askModel(s.Await.Ask))
	}
	eachModel(w, s.Each)
	branchesModel(w, s.Branches, def)
	switch {
	case s.Evaluate == nil:
	case s.Evaluate.Type == fsm.EvaluateLearning: // a file cannot name it, but says what becomes it
		w.m.Set("type", "learning")
		w.m.Set("learning", value.NewMap("targets_csv", s.Evaluate.Source))
	default:
		w.m.Set("evaluate", evaluateModel(s.Evaluate))
	}
	for _, v := range Verdicts(s) {
		w.m.Set("on_"+v, s.On[v])
	}
	if len(s.Set) > 0 {
		set := value.NewMap()
		for _, a := range s.Set {
			set.Set(a.Key, a.Value.String())
		}
		w.m.Set("set", set)
	}
	if s.Route != nil && s.Route.Cases != nil {
		rows := []any{}
		for _, c := range s.Route.Cases {
			row := objectOf{value.NewMap()}
			if c.When != nil {
				row.text("when", c.When.String(), "")
			}
			row.text("to", c.To, "")
			rows = append(rows, row.m)
		}
		w.m.Set("route", rows)
	} else if s.Route != nil {
		table := s.Route.Table.Clone()
		r := objectOf{table}
		r.text("_", s.Route.Default, "")
		r.text("_error", s.Route.Error, "")
		w.m.Set("route", table)
	}
	w.text("next", s.Next, "")
	w.flag("terminal", s.Terminal, false)
	if s.Terminal && (s.Failure || s.Succeeds) { // some names make it true
		w.m.Set("failure", s.Failure)
	}
	w.text("on_maintain", s.OnMaintain, "")
	w.list("retry", retryModel(s.Retry))
	w.list("sandbox", sandboxModel(s.Sandbox))
	w.list("guard", guardKeys(s.Guard))
	w.value("check", checkKeys(s.Check), s.Check != nil)
	w.value("remember", rememberKeys(s.Remember), s.Remember != nil)
	w.count("max_retries", s.MaxRetries, def.MaxRetries)
	w.text("on_retry_exhausted", s.OnRetryExhausted, "")
	w.value("retryable_exit_codes", codeList(s.RetryableExitCodes), s.RetryableExitCodes != nil)
	w.value("max_rate_limit_retries", int64(s.MaxRateLimitRetries), s.OnRateLimitExhausted != "" ||
		s.MaxRateLimitRetries != def.MaxRateLimitRetries)
	w.text("on_rate_limit_exhausted", s.OnRateLimitExhausted, "")
	w.seconds("rate_limit_backoff_base_seconds", s.RateLimitBackoff, def.RateLimitBackoff)
	w.seconds("rate_limit_max_wait_seconds", s.RateLimitMaxWait, def.RateLimitMaxWait)
	if !slices.Equal(s.RateLimitLadder, def.RateLimitLadder) {
		ladder := []any{}
		for _, d := range s.RateLimitLadder {
			ladder = append(ladder, number64(d.Seconds()))
		}
		w.m.Set("rate_limit_long_wait_ladder", ladder)
	}
	w.list("throttle", throttleModel(s.Throttle))
	w.text("on_throttle_hard", s.OnThrottleHard, "")
	w.list("budget", budgetModel(s.Budget))
	w.list("velocity", velocityModel(s.Velocity))
	w.text("on_budget", s.OnBudget, "")
	w.list("cost_ceiling", ceilingModel(s.CostCeiling))
	w.text("on_guarded", s.OnGuarded, "")
	w.text("on_suspended", s.OnSuspended, "")
	w.text("on_interrupted", s.OnInterrupted, "")
	w.flag("idempotent", !s.Once, true)
	return w.m
}

// Verdicts returns the verdicts that a state has an on_ key for, the common ones first.
func Verdicts(s *fsm.State) []string {
	var out []string
	for _, v := range []string{"yes", "no", "error", "partial", "blocked"} {
		if _, ok := s.On[v]; ok {
			out = append(out, v)
		}
	}
	for _, v := range slices.Sorted(maps.Keys(s.On)) {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func evaluateModel(e *fsm.Evaluate) *value.Map {
	def := fsm.DefaultEvaluate(e.Type)
	w := objectOf{value.NewMap("type", e.Type)}
	w.value("source", e.Source, e.HasSource)
	w.value("operator", e.Operator, e.HasTarget || e.Operator != def.Operator) // a target asks for it
	w.value("target", e.Target, e.HasTarget)
	w.value("tolerance", e.Tolerance, e.Tolerance != nil)
	w.value("previous", e.Previous, e.HasPrevious)
	w.text("direction", e.Direction, def.Direction)
	w.text("key", e.Key, "")
	w.text("path", e.Path, "")
	if e.Expression != nil {
		w.text("expression", e.Expression.String(), "")
	}
	if e.Filter != nil {
		w.text("filter", e.Filter.String(), "")
	}
	w.value("yes", codeList(e.Yes), e.Yes != nil)
	w.value("no", codeList(e.No), e.No != nil)
	w.text("pattern", e.Pattern, "")
	w.flag("negate", e.Negate, false)
	w.texts("error_patterns", e.ErrorPatterns)
	w.value("line", e.Line, e.Line != nil)
	w.texts("scope", e.Scope)
	w.count("max_stall", e.MaxStall, def.MaxStall)
	w.text("history_file", e.HistoryFile, "")
	w.value("epsilon", number64(e.Epsilon), e.Epsilon != def.Epsilon)
	w.value("track", valueList(e.Track), !slices.Equal(e.Track, def.Track))
	w.count("max_repeat", e.MaxRepeat, def.MaxRepeat)
	w.text("prompt", e.Prompt, "")
	w.value("schema", e.Schema, e.Schema != nil)
	w.value("min_confidence", number64(e.MinConfidence), e.MinConfidence != def.MinConfidence)
	w.flag("uncertain_suffix", e.Uncertain, false)
	w.value("evidence", "verbatim", e.Verbatim)
	w.count("votes", e.Votes, def.Votes)
	w.count("quorum", e.Quorum, 0)
	w.text("model", e.Model, "")
	w.value("host", hostModel(e.Host, e.Hosts), e.Host != "" || e.Hosts != nil)
	w.text("effort", e.Effort, "")
	w.seconds("timeout", e.Timeout, def.Timeout)
	w.text("baseline_path", e.BaselinePath, "")
	w.flag("auto_promote", e.AutoPromote, false)
	w.count("min_pairs", e.MinPairs, def.MinPairs)
	w.value("pairs", e.Pairs, e.Pairs != nil)
	return w.m
}

func codeList(codes []int) []any {
	values := make([]any, len(codes))
	for i, n := range codes {
		values[i] = int64(n)
	}
	return values
}
