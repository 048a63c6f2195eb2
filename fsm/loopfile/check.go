package loopfile

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// check looks at the loop as a whole, once every state is known.
func (d *decoder) check(l *fsm.Loop, decls []*stateDecl, b *block) {
	// What comes from a key that is not supported cannot be seen, so nothing is said to be missing then.
	terminal, open, inherits := false, false, b.unsupported("from", "flow")
	for _, s := range decls {
		terminal = terminal || s.mayEnd()
		open = open || s.open
	}
	if b.has("states") && b.fields["states"].node.Kind == yaml.MappingNode && !terminal && !open && !inherits && len(decls) == len(l.States) {
		d.errorf(b.keyPos("states"), "states", "no-terminal", "no state is terminal, so a run could never end well; mark one with terminal: true")
	}
	if !inherits {
		d.checkTargets(l)
	}
	for _, s := range decls {
		d.checkState(l, s)
		d.checkRouting(s)
		d.checkAction(s)
		if !d.flags["bash_default_ok"] {
			d.checkBashDefaults(s)
		}
		if !d.flags["shell_pid_ok"] {
			d.checkShellPID(s)
		}
	}
	if !d.flags["capture_reachability_ok"] && !open && !inherits {
		d.checkCaptures(decls)
	}
	if !d.failed {
		d.checkReachable(l)
	}
}

// checkTargets reports targets that are no states. Targets with a template are resolved by the run.
func (d *decoder) checkTargets(l *fsm.Loop) {
	if len(l.States) == 0 {
		return
	}
	// Each suggestion looks at every name, so a large file gets a limited number of them.
	budget := 2_000_000
	for _, t := range d.targets {
		if l.States[t.name] != nil || !t.top && (t.name == fsm.Current || strings.Contains(t.name, "${")) {
			continue
		}
		hint := ""
		if budget -= len(l.Order); budget > 0 {
			words := l.Order
			if t.top && strings.HasSuffix(t.path, ".on_repeated_failure") {
				words = append(slices.Clip(words), "abort")
			}
			hint = didYouMean(t.name, words)
		}
		switch {
		case t.name == "":
			d.errorf(t.pos, t.path, "unknown-state", "a target is empty; expected the name of a state: %s", enumerate(l.Order))
		case t.top && (t.name == fsm.Current || strings.Contains(t.name, "${")):
			d.errorf(t.pos, t.path, "unknown-state", "%s must be the name of a state, not %s", t.path, quote(t.name))
		default:
			d.errorf(t.pos, t.path, "unknown-state", "%s is not a state of this loop%s (states: %s)", quote(t.name), hint, enumerate(l.Order))
		}
	}
}

// checkReachable warns about states that no run can come to. A template in a target may lead anywhere.
func (d *decoder) checkReachable(l *fsm.Loop) {
	seen := map[string]bool{}
	var queue []string
	anywhere := false
	visit := func(to string) {
		if strings.Contains(to, "${") {
			anywhere = true
		}
		if l.States[to] != nil && !seen[to] {
			seen[to] = true
			queue = append(queue, to)
		}
	}
	for _, to := range []string{l.Initial, l.OnMaxSteps, l.OnMaxIterations, l.HostGuard.PressureState, l.HostGuard.BudgetState, l.HostGuard.OnAbortRoute} {
		visit(to)
	}
	if l.Stall != nil {
		visit(l.Stall.OnRepeated)
	}
	for len(queue) > 0 && !anywhere {
		s := l.States[queue[0]]
		queue = queue[1:]
		for _, to := range successors(s) {
			visit(to)
		}
	}
	if anywhere {
		return
	}
	for _, name := range l.Order {
		if !seen[name] {
			d.warnf(l.States[name].Pos, join("states", name), "unreachable", "no run can come to the state %s", quote(name))
		}
	}
}

// successors returns every target of a state.
func successors(s *fsm.State) []string {
	out := []string{s.Next, s.OnMaintain, s.OnRetryExhausted, s.OnRateLimitExhausted, s.OnThrottleHard}
	for _, to := range s.On {
		out = append(out, to)
	}
	if s.Route != nil {
		out = append(out, s.Route.Default, s.Route.Error)
		for _, verdict := range s.Route.Table.Keys() {
			to, _ := s.Route.Table.Get(verdict)
			out = append(out, to.(string))
		}
	}
	return out
}

// checkCaptures reports references to a capture that no state makes.
func (d *decoder) checkCaptures(decls []*stateDecl) {
	made := map[string]bool{}
	var names []string
	for _, s := range decls {
		if s.Capture != "" && !made[s.Capture] {
			made[s.Capture] = true
			names = append(names, s.Capture)
		}
	}
	known := "; no state has capture"
	if len(names) > 0 {
		known = " (captures: " + enumerate(names) + ")"
	}
	look := func(s *stateDecl, b *block, key string) {
		f, ok := b.fields[key]
		if !ok {
			return
		}
		said := map[string]bool{}
		for _, r := range references(f.node.Value) {
			if r.Namespace != "captured" || guarded(r) {
				continue
			}
			name, _, _ := strings.Cut(r.Path, ".")
			if made[name] || said[name] || len(said) == maxHits {
				continue
			}
			said[name] = true
			hint := ""
			if len(names) < 1000 {
				hint = didYouMean(name, names)
			}
			d.errorf(d.within(f.node, r.Offset), join(b.path, key), "unknown-capture",
				"no state captures %s%s%s; write ${captured.%s:default=} if it may be absent", quote(name), hint, known, clip(r.Path))
		}
	}
	for _, s := range decls {
		look(s, s.b, "action")
		if s.ev != nil {
			look(s, s.ev, "source")
		}
	}
}
