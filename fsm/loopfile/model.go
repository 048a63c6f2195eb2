package loopfile

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// ObjectOf returns a definition as a value, with the keys of a loop file: what it inherits and its fragments are in
// their place, aliases have their proper name, and what is as it would be anyway is left out. Written as JSON it is a
// loop file itself, and means the same loop.
func ObjectOf(l *fsm.Loop) *value.Map {
	def := PlainLoop()
	w := objectOf{value.NewMap()}
	w.text("name", l.Name, "")
	w.text("description", l.Description, "")
	w.text("category", l.Category, def.Category)
	w.texts("labels", l.Labels)
	w.text("visibility", l.Visibility, def.Visibility)
	w.list("schedule", scheduleModel(l.Schedule))
	w.text("initial", l.Initial, "")
	w.text("otherwise", l.Otherwise, "")
	w.list("parameters", parametersModel(l.Parameters))
	w.value("context", l.Context, l.Context.Len() > 0)
	w.text("input_key", l.InputKey, def.InputKey)
	w.texts("required_inputs", l.RequiredInputs)
	w.value("max_steps", int64(l.MaxSteps), l.MaxSteps != def.MaxSteps || l.MaxIterations != 0)
	w.count("max_iterations", l.MaxIterations, 0)
	w.text("on_max_steps", l.OnMaxSteps, "")
	w.text("on_max_iterations", l.OnMaxIterations, "")
	w.count("max_edge_revisits", l.MaxEdgeRevisits, def.MaxEdgeRevisits)
	w.seconds("backoff", l.Backoff, def.Backoff)
	w.seconds("timeout", l.Timeout, def.Timeout)
	w.seconds("default_timeout", l.DefaultTimeout, def.DefaultTimeout)
	w.seconds("default_idle_timeout", l.DefaultIdle, def.DefaultIdle)
	w.flag("maintain", l.Maintain, def.Maintain)
	w.text("on_handoff", l.OnHandoff, def.OnHandoff)
	w.texts("scope", l.Scope)
	w.texts("secrets", l.Secrets)
	w.flag("singleton", l.Singleton, def.Singleton)
	w.text("worktree", l.Worktree, def.Worktree)
	w.text("session_mode", l.SessionMode, def.SessionMode)
	w.text("permissions", l.Permissions, def.Permissions)
	w.list("failover", failoverModel(l.Failover))
	w.list("sandbox", sandboxModel(l.Sandbox))
	w.list("snapshots", snapshotsModel(l.Snapshots))
	w.list("guard", guardKeys(l.Guard))
	w.value("memory", memoryKeys(l.Lessons), l.Lessons != nil)
	w.value("properties", propertiesModel(l.Properties), len(l.Properties) > 0)
	w.list("throttle", throttleModel(l.Throttle))
	w.list("budget", budgetModel(l.Budget))
	w.list("quota", quotaModel(l.Quota))
	w.list("velocity", velocityModel(l.Velocity))
	w.text("on_budget", l.OnBudget, "")
	llm := objectOf{value.NewMap()}
	llm.flag("enabled", l.LLM.Enabled, def.LLM.Enabled)
	llm.value("host", hostModel(l.LLM.Host, l.LLM.Hosts), l.LLM.Host != "" || l.LLM.Hosts != nil)
	llm.model(l.LLM.Model)
	llm.text("effort", l.LLM.Effort, "")
	llm.seconds("timeout", l.LLM.Timeout, def.LLM.Timeout)
	w.list("llm", llm.m)
	w.list("circuit", stallModel(l.Stall))
	w.list("host_guard", guardModel(l.HostGuard, def.HostGuard))
	size := objectOf{value.NewMap()}
	size.flag("enabled", l.PromptSizeGuard.Enabled, def.PromptSizeGuard.Enabled)
	size.count("warn_chars", l.PromptSizeGuard.WarnChars, def.PromptSizeGuard.WarnChars)
	w.list("prompt_size_guard", size.m)
	for _, flag := range slices.Sorted(maps.Keys(l.SuppressFlags)) {
		w.flag(flag, l.SuppressFlags[flag], false)
	}
	states := value.NewMap()
	for _, name := range l.Order {
		if s := l.States[name]; s != nil {
			states.Set(name, stateModel(s, def.States["plain"]))
		}
	}
	w.m.Set("states", states)
	return w.m
}

// PlainLoop has the default of everything a loop file may leave out.
func PlainLoop() *fsm.Loop {
	l, _ := Parse("",
		[]byte("name: plain\ninitial: plain\nstates: {plain: {action: a, next: end}, end: {terminal: true}}\n"), nil)
	return l
}

func parametersModel(parameters []fsm.Parameter) *value.Map {
	m := value.NewMap()
	for _, p := range parameters {
		w := objectOf{value.NewMap()}
		w.text("type", p.Type, "")
		w.flag("required", p.Required, false)
		w.value("default", p.Default, p.Default != nil)
		w.text("description", p.Description, "")
		w.value("values", p.Values, len(p.Values) > 0)
		m.Set(p.Name, w.m)
	}
	return m
}

func throttleModel(t *fsm.Throttle) *value.Map {
	if t == nil {
		return nil
	}
	return value.NewMap("normal_max", int64(t.Normal), "warn_max", int64(t.Warn), "hard_max", int64(t.Hard))
}

func scheduleModel(s *fsm.Schedule) *value.Map {
	if s == nil {
		return nil
	}
	w := objectOf{value.NewMap("cron", s.Cron)}
	w.text("timezone", s.Timezone, "")
	w.texts("except", s.Except)
	w.text("overlap", s.Overlap, "skip")
	w.text("catch_up", s.CatchUp, "none")
	w.value("catch_up_limit", int64(s.CatchUpLimit), s.CatchUpLimit > 0 && s.CatchUpLimit != 24)
	return w.m
}

func retryModel(r *fsm.Retry) *value.Map {
	if r == nil {
		return nil
	}
	on := make([]any, len(r.On))
	for i, what := range r.On {
		on[i] = what
	}
	return value.NewMap("times", int64(r.Times), "backoff", retryWaits(r), "on", on)
}

func awaitModel(a *fsm.Await) *value.Map {
	if a == nil {
		return nil
	}
	w := objectOf{value.NewMap()}
	w.seconds("for", a.For, 0)
	w.text("at", a.At, "")
	w.text("until", a.Until, "")
	w.text("file", a.File, "")
	w.text("url", a.URL, "")
	w.text("run", a.Run, "")
	w.text("event", a.Event, "")
	w.text("status", a.Status, "")
	w.seconds("every", a.Every, 0)
	w.value("backoff", number64(a.Backoff), a.Backoff != 0)
	w.seconds("max", a.Most, 0)
	return w.m
}

func askModel(a *fsm.Ask) *value.Map {
	if a == nil {
		return nil
	}
	w := objectOf{value.NewMap()}
	w.m.Set("question", a.Question)
	w.texts("choices", a.Choices)
	fields := value.NewMap()
	for _, f := range a.Fields {
		fields.Set(f.Name, f.Type)
	}
	w.list("fields", fields)
	w.text("show", a.Show, "")
	w.texts("who", a.Who)
	w.texts("confirm", a.Confirm)
	w.value("quorum", int64(a.Quorum), a.Quorum > 1)
	w.seconds("remind", a.Remind, 0)
	if e := a.Escalate; len(e.To) > 0 {
		by := objectOf{value.NewMap()}
		by.seconds("after", e.After, 0)
		by.texts("to", e.To)
		w.m.Set("escalate", by.m)
	}
	return w.m
}

func callModel(c *fsm.Call) *value.Map {
	w := objectOf{value.NewMap("method", c.Method, "url", c.URL)}
	w.value("headers", c.Headers, c.Headers.Len() > 0)
	w.value("body", c.Body, c.HasBody)
	w.value("json", c.JSON, c.HasJSON)
	return w.m
}

// eachModel writes for_each and the keys beside it.
func eachModel(w objectOf, x *fsm.Each) {
	if x == nil {
		return
	}
	switch {
	case x.Command != "":
		w.m.Set("for_each", value.NewMap("command", x.Command))
	case x.List != nil:
		w.m.Set("for_each", x.List)
	default:
		w.m.Set("for_each", x.Glob+x.Text)
	}
	w.text("as", x.As, fsm.DefaultItem)
	w.text("key", x.Key, "")
	w.value("parallel", int64(x.Parallel), x.Parallel != 1)
	w.value("on_item_failure", "continue", x.Continue)
	w.value("item_retries", int64(x.Retries), x.Retries != 0)
}

// branchesModel writes parallel with its branches, and the keys beside it.
func branchesModel(w objectOf, x *fsm.Branches, def *fsm.State) {
	if x == nil {
		return
	}
	m := value.NewMap()
	for _, b := range x.List {
		m.Set(b.Name, stateModel(b.State, def))
	}
	w.list("parallel", m)
	w.text("join", x.Join, fsm.JoinAll)
	w.value("max_parallel", int64(x.Most), x.Most != 0)
	w.value("on_branch_failure", "continue", x.Continue)
	w.value("worktree", true, x.HasTrees())
	w.value("merge", x.Trees, x.Trees == fsm.TreesMerge)
}

// retryWaits writes the waits of a retry as a loop file has them.
func retryWaits(r *fsm.Retry) any {
	if r.First == r.Most {
		return number64(r.First.Seconds())
	}
	text := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s" }
	return text(r.First) + ".." + text(r.Most)
}

func budgetModel(b *fsm.Budget) *value.Map {
	if b == nil {
		return nil
	}
	w := objectOf{value.NewMap()}
	w.value("cost_usd", number64(b.CostUSD), b.CostUSD != 0)
	w.count("tokens", int(b.Tokens), 0)
	w.seconds("wall", b.Wall, 0)
	w.count("steps", b.Steps, 0)
	w.count("prompts", b.Prompts, 0)
	w.flag("allow_unknown_cost", b.AllowUnknown, false)
	w.flag("steer", !b.Silent, true)
	return w.m
}

func stallModel(s *fsm.Stall) *value.Map {
	if s == nil {
		return nil
	}
	w := objectOf{value.NewMap("window", int64(s.Window), "on_repeated_failure", s.OnRepeated)}
	w.count("recurrent_window", s.RecurrentWindow, 0)
	w.texts("progress_paths", s.ProgressPaths)
	w.texts("exclude_paths", s.ExcludePaths)
	return value.NewMap("repeated_failure", w.m)
}

func guardModel(g, def fsm.HostGuard) *value.Map {
	w := objectOf{value.NewMap()}
	w.flag("enabled", g.Enabled, def.Enabled)
	w.value("cooldown_ms", number64(float64(g.Cooldown)/float64(time.Millisecond)), g.Cooldown != def.Cooldown)
	w.value("warn_pct", number64(g.WarnPct), g.WarnPct != def.WarnPct)
	w.value("critical_pct", number64(g.CriticalPct), g.CriticalPct != def.CriticalPct)
	w.text("on_pressure", g.OnPressure, def.OnPressure)
	w.text("pressure_state", g.PressureState, "")
	w.text("on_abort_route", g.OnAbortRoute, "")
	w.count("max_cumulative_subproc_mb", g.BudgetMB, def.BudgetMB)
	w.text("on_budget_exceeded", g.OnBudgetExceeded, def.OnBudgetExceeded)
	w.text("budget_state", g.BudgetState, "")
	return w.m
}

// An objectOf is a mapping that is built key by key, without what is as it would be anyway.
type objectOf struct{ m *value.Map }

func (w objectOf) value(key string, v any, want bool) {
	if want {
		w.m.Set(key, v)
	}
}
func (w objectOf) text(key, v, def string)      { w.value(key, v, v != def) }
func (w objectOf) flag(key string, v, def bool) { w.value(key, v, v != def) }
func (w objectOf) count(key string, v, def int) { w.value(key, int64(v), v != def) }
func (w objectOf) texts(key string, v []string) { w.value(key, valueList(v), len(v) > 0) }

func (w objectOf) seconds(key string, v, def time.Duration) {
	w.value(key, number64(v.Seconds()), v != def)
}

// list sets a mapping that has something in it.
func (w objectOf) list(key string, m *value.Map) { w.value(key, m, m.Len() > 0) }

// number64 returns a whole number where there is one.
func number64(f float64) any {
	if n := int64(f); float64(n) == f {
		return n
	}
	return f
}

// valueList returns a list of strings as a list of values.
func valueList(items []string) []any {
	values := make([]any, len(items))
	for i, item := range items {
		values[i] = item
	}
	return values
}
