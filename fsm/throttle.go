package fsm

// throttle counts the actions of one uninterrupted stay in a state that declares a throttle.
func (e *Executor) throttle(st *State) (decision, bool) {
	m, th := e.mem, st.Throttle
	if th == nil {
		th = e.cfg.Loop.Throttle
	}
	if th == nil {
		return decision{}, false
	}
	if m.Throttles == nil {
		m.Throttles = make(map[string]int)
	}
	m.Throttles[st.Name]++
	n := m.Throttles[st.Name]
	if n == th.Warn {
		e.emit(EventThrottleWarn, Field{"state", st.Name}, Field{"count", int64(n)},
			Field{"normal_max", int64(th.Normal)},
			Field{"warn_max", int64(th.Warn)}, Field{"hard_max", int64(th.Hard)})
	}
	switch {
	case n > th.Hard:
		e.emit(EventThrottleStop, Field{"state", st.Name}, Field{"count", int64(n)}, Field{"hard_max", int64(th.Hard)})
		return decision{fatal: "throttle: state " + st.Name + " acted more than hard_max times in a row"}, true
	case n < th.Hard:
		return decision{}, false
	}
	slot := st.OnThrottleHard
	if slot == "" {
		slot = st.On["error"]
	}
	var next any
	target := ""
	if slot != "" {
		var err error
		if target, err = e.target(slot, e.scope(nil)); err != nil {
			return e.exception(st, err), true
		}
		next = target
	}
	e.emit(EventThrottleHard, Field{"state", st.Name}, Field{"count", int64(n)}, Field{"hard_max", int64(th.Hard)},
		Field{"next", next})
	return decision{target: target}, target != ""
}
