package loopfile

import (
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/value"
)

// A stateDecl is a state with the mappings it was read from.
type stateDecl struct {
	*fsm.State
	b      *block
	ev     *block          // nil without evaluate
	path   string          // states.NAME
	open   bool            // part of it comes from something that could not be read
	custom map[string]bool // the on_<verdict> keys that are not in the table
	branch bool            // of the state around it, which routes
}

// mayEnd reports whether the state is terminal, or would be if what its author wrote were a boolean.
func (s *stateDecl) mayEnd() bool {
	return s.Terminal || s.b.has("terminal") && s.b.fields["terminal"].val == nil
}

// states reads the states into l, in order.
func (d *decoder) states(b *block, l *fsm.Loop) []*stateDecl {
	f, ok := b.fields["states"]
	if !ok || isNull(f.node) {
		return nil
	}
	if f.node.Kind != yaml.MappingNode {
		d.errorf(d.pos(f.node), "states", "wrong-type", "states must be a mapping of names to states, found %s",
			describe(f.node))
		return nil
	}
	var decls []*stateDecl
	for _, e := range d.entries(f.node, "states") {
		path := join("states", e.name)
		switch {
		case strings.TrimSpace(e.name) == "":
			d.errorf(d.pos(e.key), path, "bad-state-name", "a state needs a name")
		case e.name == fsm.Current || strings.Contains(e.name, "${"):
			d.errorf(d.pos(e.key), path, "bad-state-name",
				"a state cannot be called %s: as a target that means something else", quote(e.name))
		}
		l.Order = append(l.Order, e.name)
		s := &fsm.State{Name: e.name, Pos: d.pos(e.key)}
		l.States[e.name] = s
		if isNull(e.val) {
			hint := ""
			if old := d.nulled[e.val]; old != nil {
				hint = "; an inherited state (" + d.shown(d.pos(old)) + ") cannot be taken away"
			}
			d.errorf(d.pos(e.key), path, "null",
				"the state %s has no body; expected a mapping such as {terminal: true}%s", quote(e.name), hint)
			continue
		}
		decl := &stateDecl{State: s, b: d.block(e.val, InState, path), path: path}
		if e.val.Kind != yaml.MappingNode {
			continue
		}
		d.state(decl)
		decls = append(decls, decl)
	}
	return decls
}

func (d *decoder) state(s *stateDecl) {
	b := s.b
	s.open = d.open[b.at]
	to := func(name string) string { return b.target(name) }
	s.Description = b.text("description")
	s.Action, s.ActionType, s.Params = b.text("action"), b.text("action_type"), b.mapping("params")
	s.Timeout, s.Idle = b.duration("timeout"), b.duration("idle_timeout")
	s.Capture, s.Append = b.text("capture"), b.text("append_to_messages")
	s.Message = b.text("message")
	s.Agent, s.Tools, s.Model, s.Effort = b.text("agent"), b.texts("tools"), d.model(b), b.text("effort")
	s.Host, s.Hosts = d.hosts(b)
	s.Failover = d.failover(b)
	s.Velocity = d.velocity(b)
	s.SessionMode, s.Permissions = b.text("session_mode"), b.text("permissions")
	s.Loop, s.With, s.Passthrough = b.text("loop"), b.mapping("with"), b.bool("context_passthrough")
	s.Extension = d.extension(s)
	s.Fragment = d.fragmentOf(b)
	s.Next, s.OnMaintain = to("next"), to("on_maintain")
	s.Terminal, s.Failure = b.bool("terminal"), b.bool("failure")
	s.Succeeds = b.has("failure") && b.fields["failure"].val == false
	if !b.has("failure") && s.Terminal {
		switch s.Name {
		case "failed", "error", "aborted", "finalize_aborted":
			s.Failure = true
		}
	}
	s.Retry = d.retry(b)
	s.Sandbox = d.sandbox(b)
	s.Guard = d.guard(b)
	s.Check = d.verdictCheck(b)
	s.Remember = d.remember(b)
	s.Await = d.await(b)
	if asks := d.ask(s); asks != nil {
		s.Await = asks
		if s.Capture == "" {
			s.Capture = s.Name
		}
	}
	s.Each = d.each(b)
	if s.Branches = d.branches(s); s.Branches != nil && s.Capture == "" {
		s.Capture = s.Name
	}
	d.workTrees(s)
	s.Call = d.call(s)
	s.MaxRetries, s.OnRetryExhausted = b.int("max_retries"), to("on_retry_exhausted")
	s.RetryableExitCodes = b.ints("retryable_exit_codes")
	s.OnRateLimitExhausted, s.MaxRateLimitRetries = to("on_rate_limit_exhausted"), b.int("max_rate_limit_retries")
	s.RateLimitBackoff = waits(b.int("rate_limit_backoff_base_seconds"))
	s.RateLimitMaxWait = waits(b.int("rate_limit_max_wait_seconds"))
	for _, n := range b.ints("rate_limit_long_wait_ladder") {
		s.RateLimitLadder = append(s.RateLimitLadder, waits(n))
	}
	s.OnThrottleHard = to("on_throttle_hard")
	s.OnGuarded, s.OnSuspended = to("on_guarded"), to("on_suspended")
	s.OnInterrupted, s.Once = to("on_interrupted"), !b.bool("idempotent")
	s.Throttle = d.throttle(b)
	s.Budget, s.OnBudget = d.budget(b), to("on_budget")
	s.CostCeiling = d.costCeiling(b)
	d.verdicts(s)
	s.Set = d.assignments(b)
	if b.has("route") {
		s.Route = d.route(b)
		if s.Route.Cases != nil {
			s.Route.Error = s.On["error"]
		}
	}
	d.approval(s)
	if b.has("evaluate") && !isNull(b.fields["evaluate"].node) {
		d.evaluate(s)
	}
	if b.text("type") == "learning" && s.Loop == "" {
		d.learn(s)
	}
	d.composition(s)
	if s.Call != nil && s.ActionType == "" && s.Action == "" {
		s.ActionType = httpType
	}
	if s.Call != nil && s.ActionType == httpType {
		s.Action = s.Call.String()
	}
}

func waits(n int) time.Duration { return seconds(min(float64(n), maxSeconds)) }

// The keys of the table that lead on by verdict.
var verdictKeys = sync.OnceValue(func() (keys []Key) {
	for _, k := range stateKeys {
		if strings.HasPrefix(k.Name, "on_") && !notVerdicts[k.Name] {
			keys = append(keys, k)
		}
	}
	return keys
})

// verdicts reads the on_ keys. An alias counts where its key is missing or empty.
func (d *decoder) verdicts(s *stateDecl) {
	b := s.b
	s.On = map[string]string{}
	for _, k := range verdictKeys() {
		key := k.Name
		if k.Alias != "" {
			key = k.Alias
		}
		if to := b.target(k.Name); to != "" && s.On[key[3:]] == "" {
			s.On[key[3:]] = to
		}
	}
	s.custom = map[string]bool{}
	var rest []entry
	for _, e := range b.other {
		if !strings.HasPrefix(e.name, "on_") || len(e.name) == 3 {
			rest = append(rest, e)
			continue
		}
		path := join(b.path, e.name)
		if isNull(e.val) {
			continue
		}
		if to, ok := d.text(e.val, path, clip(e.name)); ok && to != "" {
			s.On[e.name[3:]] = to
			s.custom[e.name] = true
			d.targets = append(d.targets, target{false, to, d.pos(e.val), path})
		}
	}
	b.other = rest
	s.slips()
	b.unknown()
}

func (d *decoder) route(b *block) *fsm.Route {
	n, path := b.fields["route"].node, join(b.path, "route")
	r := &fsm.Route{Pos: d.pos(n), Table: value.NewMap()}
	if isNull(n) {
		return r
	}
	if n.Kind == yaml.SequenceNode {
		r.Cases = d.cases(n, path)
		return r
	}
	if n.Kind != yaml.MappingNode {
		d.errorf(d.pos(n), path, "wrong-type", "route must be a mapping of verdicts to states, or a list of {when: "+
			"EXPRESSION, to: STATE}, found %s", describe(n))
		return r
	}
	entries := d.entries(n, path)
	for _, e := range entries {
		at := join(path, e.name)
		to, ok := d.text(e.val, at, "a target")
		if !ok {
			continue
		}
		if e.name != "_" && e.name != "_error" && strings.HasPrefix(e.name, "_") {
			d.warnf(d.pos(e.key), at, "unknown-key", "%s is dropped: of the keys that begin with _ a route knows "+
				"only _ and _error", quote(e.name))
			continue
		}
		d.targets = append(d.targets, target{false, to, d.pos(e.val), at})
		switch e.name {
		case "_":
			r.Default = to
		case "_error":
			r.Error = to
		default:
			r.Table.Set(e.name, to)
		}
	}
	if len(entries) == 0 {
		d.errorf(d.pos(n), path, "no-transition", "route is empty; expected verdicts with the states to go to")
	}
	return r
}
