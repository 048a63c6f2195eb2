package cli

import (
	"cmp"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/persistence"
)

// vitalsObject is what status shows of a run as one JSON object. What is not known is null.
func (a *app) vitalsObject(p *project.Project, store *project.Records, v *vitals, waiting []persistence.Waiter) *value.Map {
	m := statusObject(p, store, v.run)
	if v.run.Limited {
		m.Set("error", orNull(honestError(v.run)))
	}
	m.Set("elapsed_ms", v.elapsed().Milliseconds())
	m.Set("path", list(v.levels(), func(l level) any {
		return value.NewMap("loop", l.loop, "state", l.state, "step", int64(l.step), "max_steps", orNone(l.most))
	}))
	m.Set("lease_until", nil)
	if !v.run.Leased.IsZero() {
		m.Set("lease_until", stamp(v.run.Leased))
	}
	m.Set("idle_ms", nil)
	if project.Alive(v.run) {
		m.Set("idle_ms", v.idle().Milliseconds())
	}
	m.Set("action", v.actionObject())
	m.Set("used", v.usedObject())
	m.Set("verdict", v.verdictObject())
	m.Set("way", v.wayObject())
	m.Set("limits", list(v.limits, limitObject))
	m.Set("why", orNull(v.why()))
	m.Set("owner_elsewhere", outOfSight(v.run))
	m.Set("queued", list(waiting, func(w persistence.Waiter) any { return waiterObject(w) }))
	word, command := a.next(v)
	m.Set("next", orNull(word))
	m.Set("next_command", orNull(command))
	if v.wait != nil {
		m.Set("waiting", waitObject(v.wait))
	}
	if !v.pausedAt.IsZero() {
		m.Set("pause_asked_at", stamp(v.pausedAt))
	}
	return m
}

func (v *vitals) actionObject() any {
	d := v.acting()
	if d == 0 {
		return nil
	}
	e := v.glance.Acting
	return value.NewMap("text", text(e.Get("action")), "started_at", stamp(e.Time), "running_ms", d.Milliseconds())
}

// usedObject is what prompts and judges used; nil = none was asked.
func (v *vitals) usedObject() any {
	if v.memory == nil {
		return nil
	}
	s := v.memory.Spent
	if s == (fsm.Spent{Steps: s.Steps}) {
		return nil
	}
	m := value.NewMap("cost_usd", microDollars(s.CostUSD), "unknown_costs", int64(s.Unpriced), "tokens", s.Usage.Total(), "prompts", int64(s.Prompts))
	if s.Unpriced > 0 {
		m.Set("cost_usd", nil)
		m.Set("known_cost_usd", microDollars(s.CostUSD))
	}
	return m
}

// sentenceObject is what is said of a visit, nil where nothing is.
func sentenceObject(visit *inspect.Visit, said []inspect.Sentence) *value.Map {
	if len(said) == 0 {
		return nil
	}
	m := value.NewMap("state", nil, "step", nil, "text", said[0].Text, "events", list(said[0].Events, func(n uint64) any { return int64(n) }))
	if visit != nil {
		m.Set("state", visit.Path())
		m.Set("step", visit.Number())
	}
	return m
}

func (v *vitals) verdictObject() any {
	visit, said := v.verdict()
	m := sentenceObject(visit, said)
	if m == nil {
		return nil
	}
	word := ""
	if visit != nil {
		word = visit.Verdict()
	} else if v.memory != nil {
		word = text(valueOf(v.memory.LastResult, "verdict"))
	}
	m.Set("verdict", word)
	return m
}

func (v *vitals) wayObject() any {
	left := v.glance.Left()
	if left == nil {
		return nil
	}
	m := sentenceObject(left, inspect.Way(left, v.lawOf(left)))
	if m == nil {
		return nil
	}
	m.Set("to", left.To())
	return m
}

// limitObject is one limit. What is counted in time is in seconds.
func limitObject(l inspect.Limit) any {
	m := value.NewMap("limit", l.Name, "loop", l.Loop, "state", orNull(l.State), "used", plainNumber(l.Used), "most", plainNumber(l.Most), "share", plainNumber(l.Share()), "ends_run", !l.Routes)
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

// waiterObject is somebody in the queue.
func waiterObject(w persistence.Waiter) *value.Map {
	f := w.For
	return value.NewMap("id", w.ID, "loop", w.Loop, "instance_id", orNull(string(w.Resumes)), "pid", int64(w.Owner.PID), "host", orNull(w.Owner.Host),
		"since", stamp(w.Since), "waits_ms", time.Since(w.Since).Milliseconds(), "scope", texts(w.Scope), "log", orNull(w.Log),
		"for", value.NewMap("path", orNull(f.Path), "loop", orNull(f.Loop), "instance_id", orNull(string(f.Run)), "waiter", orNull(f.Waiter), "since", stamp(f.Since)))
}

// waiterStatus is somebody in the queue in the place of a run.
func waiterStatus(p *project.Project, w persistence.Waiter) *value.Map {
	m := value.NewMap("loop", w.Loop, "loop_name", w.Loop, "instance_id", orNull(string(w.Resumes)), "status", "queued", "alive", true,
		"pid", int64(w.Owner.PID), "owner", ownerObject(w.Owner), "resumable", false)
	m.Set("queued", []any{waiterObject(w)})
	m.Set("log", orNull(cmp.Or(w.Log)))
	return m
}
