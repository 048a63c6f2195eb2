package loopfile

import (
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/value"
)

// loop reads the top level.
func (d *decoder) loop(root *yaml.Node) *fsm.Loop {
	b := d.block(root, InLoop, "")
	b.unknown()
	d.flags = map[string]bool{}
	for _, k := range loopKeys {
		if k.Silences != "" && b.bool(k.Name) {
			d.flags[k.Name] = true
		}
	}
	top := d.pos(root)
	l := &fsm.Loop{
		Name: b.text("name"), Description: b.text("description"), File: d.main.name, Pos: top,
		Initial: b.target("initial"), Otherwise: b.target("otherwise"), States: map[string]*fsm.State{},
		Context: b.mapping("context"), Parameters: d.parameters(b, "parameters", "parameters"),
		MaxSteps: b.int("max_steps"), MaxIterations: b.int("max_iterations"),
		OnMaxSteps: b.target("on_max_steps"), OnMaxIterations: b.target("on_max_iterations"),
		MaxEdgeRevisits: b.int("max_edge_revisits"), Backoff: b.duration("backoff"), Timeout: b.duration("timeout"),
		DefaultTimeout: b.duration("default_timeout"), DefaultIdle: b.duration("default_idle_timeout"),
		Maintain: b.bool("maintain"), OnHandoff: b.text("on_handoff"), InputKey: b.text("input_key"),
		RequiredInputs: b.texts("required_inputs"), Scope: b.texts("scope"), Secrets: b.texts("secrets"),
		Singleton: b.bool("singleton"), Worktree: b.text("worktree"),
		SessionMode: b.text("session_mode"), Permissions: b.text("permissions"),
		LLM: d.llm(b.sub("llm")), Stall: d.stall(b.sub("circuit")), HostGuard: d.hostGuard(b.sub("host_guard")),
		PromptSizeGuard: promptSizeGuard(b.sub("prompt_size_guard")),
		Category:        b.text("category"), Labels: b.texts("labels"), Visibility: b.text("visibility"),
		SuppressFlags: d.flags,
	}
	if l.Context == nil {
		l.Context = value.NewMap()
	}
	if !contains(byWhere()[InLoop]["visibility"].Values, l.Visibility) {
		l.Visibility = "public"
	}
	if b.has("max_iterations") && !b.has("max_steps") {
		l.MaxSteps, l.MaxIterations = l.MaxIterations, 0
		if b.has("on_max_iterations") {
			d.warnf(b.keyPos("on_max_iterations"), "on_max_iterations", "legacy-cap",
				"on_max_iterations never applies here: max_iterations without max_steps is the older spelling of "+
					"max_steps; write max_steps and on_max_steps")
		}
	}
	d.identity(b, l, top)
	l.Schedule = d.schedule(b)
	l.Throttle = d.throttle(b)
	l.Failover = d.failover(b)
	l.Velocity, l.Quota = d.velocity(b), d.quota(b)
	l.Sandbox = d.sandbox(b)
	l.Snapshots = d.snapshots(b)
	l.Guard = d.guard(b)
	l.Lessons = d.memory(b)
	l.Budget, l.OnBudget = d.budget(b), b.target("on_budget")
	l.Properties = d.properties(b)
	decls := d.states(b, l)
	d.tamperGuards(b, l, decls)
	d.prepatchChecks(b, l, decls)
	d.checkMemory(l, decls)
	d.check(l, decls, b)
	d.tellNotSupported()
	return l
}

// identity checks the keys no loop can do without.
func (d *decoder) identity(b *block, l *fsm.Loop, top fsm.Pos) {
	var missing []string
	for _, name := range []string{"name", "initial", "states"} {
		if f, ok := b.fields[name]; !ok || (name != "states" && f.val == "") {
			missing = append(missing, name)
		}
	}
	fragments, _ := find(d.main.root, "fragments")
	from, parent := find(d.main.root, "from")
	switch {
	case len(missing) == 0 || d.partial: // a null in states was reported as such
	case len(missing) == 3 && fragments != nil && from == nil:
		d.errorf(d.pos(fragments), "", "library", "this is a library of fragments, not a loop; a loop uses it "+
			"by import: [%s]", clip(filepath.Base(d.main.name)))
		return
	case from != nil:
		d.errorf(d.pos(from), missing[0], "missing-key", "the loop lacks %s, also with what it inherits from %s",
			and(missing), quote(parent.Value))
	default:
		d.errorf(top, missing[0], "missing-key", "the loop lacks %s", and(missing))
	}
	if strings.TrimSpace(l.Description) == "" {
		d.warnf(b.keyPos("description"), "description", "no-description",
			"the loop has no description; listings show it")
	}
}

// parameters reads the declarations in a key of a block. The path is what messages call that.
func (d *decoder) parameters(b *block, key, at string) []fsm.Parameter {
	f, ok := b.fields[key]
	if !ok {
		return nil
	}
	if f.node.Kind != yaml.MappingNode {
		d.errorf(d.pos(f.node), at, "wrong-type", "parameters must be a mapping, found %s", describe(f.node))
		return nil
	}
	var out []fsm.Parameter
	for _, e := range d.entries(f.node, at) {
		path := join(at, e.name)
		p := d.block(e.val, InParameter, path)
		p.unknown()
		if e.val.Kind != yaml.MappingNode {
			continue
		}
		p.need(d.pos(e.key), "type", "the parameter "+quote(e.name))
		values := list(p.get("values"))
		if p.text("type") == "enum" && len(values) == 0 {
			d.errorf(d.pos(e.key), path+".values", "missing-key", "the parameter %s is an enum and lacks values",
				quote(e.name))
		}
		if p.bool("required") && p.has("default") {
			d.errorf(p.keyPos("default"), path+".default", "conflict",
				"the parameter %s is required, so its default is never used; remove one of the two", quote(e.name))
		}
		out = append(out, fsm.Parameter{
			Name: e.name, Pos: d.pos(e.key), Type: p.text("type"), Required: p.bool("required"),
			Default:     p.get("default"),
			Description: p.text("description"), Values: values,
		})
	}
	return out
}

func list(v any) []any { l, _ := v.([]any); return l }

func (d *decoder) llm(b *block) fsm.LLM {
	host, hosts := d.hosts(b)
	return fsm.LLM{
		Enabled: b.bool("enabled"), Host: host, Hosts: hosts, Model: d.model(b), Effort: b.text("effort"),
		Timeout: b.duration("timeout"),
	}
}

func (d *decoder) stall(circuit *block) *fsm.Stall {
	if !circuit.has("repeated_failure") {
		return nil
	}
	b := circuit.sub("repeated_failure")
	s := &fsm.Stall{
		Window: b.int("window"), OnRepeated: b.text("on_repeated_failure"), RecurrentWindow: b.int("recurrent_window"),
		ProgressPaths: b.texts("progress_paths"), ExcludePaths: b.texts("exclude_paths"),
	}
	if s.OnRepeated != "abort" {
		b.target("on_repeated_failure")
	}
	return s
}

func (d *decoder) hostGuard(b *block) fsm.HostGuard {
	g := fsm.HostGuard{
		Enabled: b.bool("enabled"), Cooldown: seconds(min(b.number("cooldown_ms")/1000, maxSeconds)),
		WarnPct: b.number("warn_pct"), CriticalPct: b.number("critical_pct"), OnPressure: b.text("on_pressure"),
		PressureState: b.target("pressure_state"), OnAbortRoute: b.target("on_abort_route"),
		BudgetMB: b.int("max_cumulative_subproc_mb"), OnBudgetExceeded: b.text("on_budget_exceeded"),
		BudgetState: b.target("budget_state"),
	}
	if g.CriticalPct < g.WarnPct {
		at := "critical_pct"
		if !b.has(at) {
			at = "warn_pct"
		}
		d.errorf(b.pos(at), join(b.path, at), "range", "critical_pct (%v) must not be below warn_pct (%v)",
			g.CriticalPct, g.WarnPct)
	}
	if g.OnPressure == "route" && !b.has("pressure_state") {
		d.errorf(b.pos("on_pressure"), join(b.path, "pressure_state"), "missing-key",
			"on_pressure: route needs pressure_state")
	}
	if g.BudgetMB > 0 && g.OnBudgetExceeded == "route" && !b.has("budget_state") {
		d.errorf(b.pos("max_cumulative_subproc_mb"), join(b.path, "budget_state"), "missing-key",
			"a memory budget with on_budget_exceeded: route needs budget_state")
	}
	return g
}

func promptSizeGuard(b *block) fsm.PromptSizeGuard {
	return fsm.PromptSizeGuard{Enabled: b.bool("enabled"), WarnChars: b.int("warn_chars")}
}

// throttle reads the throttle key of a block; nil means that it is not there.
func (d *decoder) throttle(of *block) *fsm.Throttle {
	if !of.has("throttle") {
		return nil
	}
	b := of.sub("throttle")
	t := &fsm.Throttle{Normal: b.int("normal_max"), Warn: b.int("warn_max"), Hard: b.int("hard_max")}
	below := func(low, high string) {
		if b.has(low) && b.has(high) && b.int(low) >= b.int(high) {
			d.errorf(b.pos(low), join(b.path, low), "range", "%s (%d) must be below %s (%d)", low, b.int(low), high,
				b.int(high))
		}
	}
	below("normal_max", "warn_max")
	below("warn_max", "hard_max")
	return t
}

// budget reads the budget key of a block; nil means that it is not there.
func (d *decoder) budget(of *block) *fsm.Budget {
	if !of.has("budget") {
		return nil
	}
	b := of.sub("budget")
	if !b.has("cost_usd") && !b.has("tokens") && !b.has("wall") && !b.has("steps") && !b.has("prompts") {
		d.errorf(of.pos("budget"), join(of.path, "budget"), "missing-key",
			"budget sets no limit; expected cost_usd, tokens, wall, steps or prompts")
	}
	return &fsm.Budget{
		CostUSD: b.number("cost_usd"), Tokens: int64(b.int("tokens")), Wall: b.duration("wall"),
		Steps: b.int("steps"), Prompts: b.int("prompts"),
		AllowUnknown: b.bool("allow_unknown_cost"), Silent: !b.bool("steer"),
	}
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}
