package view

import (
	"cmp"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// ActionObject is the last action of a run for a program; nil where there was none.
func ActionObject(v *inspect.Status) any {
	d := v.Acting()
	if d == 0 {
		return nil
	}
	e := v.Glance.Acting
	return value.NewMap("text", inspect.Text(e.Get("action")), "started_at", terminal.Stamp(e.Time), "running_ms", d.Milliseconds())
}

// UsedObject is what prompts and judges used; nil = none was asked.
func UsedObject(v *inspect.Status) any {
	if v.Memory == nil {
		return nil
	}
	s := v.Memory.Spent
	if s == (fsm.Spent{Steps: s.Steps}) {
		return nil
	}
	m := value.NewMap("cost_usd", terminal.MicroDollars(s.CostUSD), "unknown_costs", int64(s.Unpriced), "tokens", s.Usage.Total(), "prompts", int64(s.Prompts))
	if s.Unpriced > 0 {
		m.Set("cost_usd", nil)
		m.Set("known_cost_usd", terminal.MicroDollars(s.CostUSD))
	}
	return m
}

// sentenceObject is the text about a visit, nil where there is none.
func sentenceObject(visit *inspect.Visit, said []inspect.Sentence) *value.Map {
	if len(said) == 0 {
		return nil
	}
	m := value.NewMap("state", nil, "step", nil, "number", nil, "text", said[0].Text, "events", terminal.List(said[0].Events, func(n uint64) any { return int64(n) }))
	if visit != nil {
		m.Set("state", visit.Path())
		if visit.Step > 0 {
			m.Set("step", int64(visit.Step))
			m.Set("number", visit.Number())
		}
	}
	return m
}

// VerdictObject is the last verdict of a run for a program; nil where there was none.
func VerdictObject(v *inspect.Status) any {
	visit, said := v.VerdictText()
	m := sentenceObject(visit, said)
	if m == nil {
		return nil
	}
	word := ""
	if visit != nil {
		word = visit.Verdict()
	} else if v.Memory != nil {
		word = inspect.Text(inspect.ValueOf(v.Memory.LastResult, "verdict"))
	}
	m.Set("verdict", word)
	return m
}

// RouteObject is the last transition of a run for a program; nil where there was none.
func RouteObject(v *inspect.Status) any {
	left := v.Glance.Left()
	if left == nil {
		return nil
	}
	m := sentenceObject(left, inspect.Way(left, v.LoopOf(left)))
	if m == nil {
		return nil
	}
	m.Set("to", left.To())
	return m
}

// LimitObject is one limit. What is counted in time is in seconds.
func LimitObject(l inspect.Limit) any {
	m := value.NewMap("limit", l.Name, "loop", l.Loop, "state", terminal.OrNull(l.State), "used", plainNumber(l.Used), "most", plainNumber(l.Most), "share", plainNumber(l.Share()), "ends_run", !l.Routes)
	if l.Unknown {
		m.Set("used", nil)
		m.Set("share", nil)
	}
	return m
}

// plainNumber is a number to a thousandth, and an integer where it is one.
func plainNumber(v float64) any {
	n := int64(v*1000 + 0.5)
	if n%1000 == 0 {
		return n / 1000
	}
	return float64(n) / 1000
}

// WaiterObject is a waiter.
func WaiterObject(w persistence.Waiter) *value.Map {
	f := w.For
	return value.NewMap("id", w.ID, "loop", w.Loop, "instance_id", terminal.OrNull(string(w.Resumes)), "pid", int64(w.Owner.PID), "host", terminal.OrNull(w.Owner.Host),
		"since", terminal.Stamp(w.Since), "waits_ms", time.Since(w.Since).Milliseconds(), "scope", terminal.Texts(w.Scope), "log", terminal.OrNull(w.Log),
		"for", value.NewMap("path", terminal.OrNull(f.Path), "loop", terminal.OrNull(f.Loop), "instance_id", terminal.OrNull(string(f.Run)), "waiter", terminal.OrNull(f.Waiter), "since", terminal.Stamp(f.Since)))
}

// WaiterStatus is a waiter in the place of a run.
func WaiterStatus(p *project.Project, w persistence.Waiter) *value.Map {
	m := value.NewMap("loop", w.Loop, "loop_name", w.Loop, "instance_id", terminal.OrNull(string(w.Resumes)), "status", "queued", "alive", true,
		"pid", int64(w.Owner.PID), "owner", ownerObject(w.Owner), "resumable", false)
	m.Set("queued", []any{WaiterObject(w)})
	m.Set("log", terminal.OrNull(cmp.Or(w.Log)))
	return m
}
