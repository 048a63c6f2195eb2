package fsm

import (
	"fmt"
)

// budgeted reports whether this loop or one around it counts the memory of actions.
func (e *Executor) budgeted() bool {
	for x := e; x != nil; x = x.parent {
		if x.cfg.Loop.HostGuard.BudgetMB > 0 {
			return true
		}
	}
	return false
}

// countMemory adds the peak memory of an action to the sums of this loop and of those around it
// (host_guard.max_cumulative_subproc_mb).
func (e *Executor) countMemory(st *State, res Result) {
	peak := float64(res.PeakRSS) / (1 << 20)
	for x := e; x != nil; x = x.parent {
		if x.cfg.Loop.HostGuard.BudgetMB > 0 {
			x.mem.CumulativeMB += peak
		}
	}
	if budget := e.cfg.Loop.HostGuard.BudgetMB; budget > 0 {
		e.emit(EventHostSubprocRSS, Field{"state", st.Name}, Field{"peak_rss_mb", round1(peak)},
			Field{"cumulative_mb", round1(e.mem.CumulativeMB)},
			Field{"budget_mb", int64(budget)})
	}
}

func round1(mb float64) float64 { return float64(int64(mb*10+0.5)) / 10 }

// memoryBudget sends the run to the budget state, or ends it, the first time the sum is over the budget.
func (e *Executor) memoryBudget(next *string) bool {
	m, g := e.mem, e.cfg.Loop.HostGuard
	if g.BudgetMB <= 0 || m.BudgetSpent || m.CumulativeMB <= float64(g.BudgetMB) {
		return false
	}
	m.BudgetSpent = true
	action := "abort"
	if g.OnBudgetExceeded != "abort" && g.BudgetState != "" {
		action = "route:" + g.BudgetState
	}
	e.emit(EventHostBudgetExceeded, Field{"state", m.Current}, Field{"cumulative_mb", round1(m.CumulativeMB)},
		Field{"budget_mb", int64(g.BudgetMB)}, Field{"action", action})
	if action == "abort" {
		e.finish(EndHostBudget,
			"the actions of this run used more memory than host_guard.max_cumulative_subproc_mb allows")
		return true
	}
	*next = g.BudgetState
	return false
}

// pressure looks at the machine's memory before a prompt. It reports true if the prompt is not for now: the run was
// sent elsewhere, or is over.
func (e *Executor) pressure(st *State) bool {
	m, g := e.mem, e.cfg.Loop.HostGuard
	if !g.Enabled || e.cfg.MemoryUsed == nil || st.Loop != "" || !acts(st) || KindOf(st) != KindPrompt {
		return false
	}
	pct, known := e.cfg.MemoryUsed()
	if !known {
		return false
	}
	used := Field{"used_pct", round1(pct)}
	if m.UnderPressure && pct < g.WarnPct {
		m.UnderPressure = false
		e.emit(EventHostPressureRelieved, Field{"state", st.Name}, used)
	}
	critical := pct >= g.CriticalPct
	m.UnderPressure = m.UnderPressure || critical
	switch {
	case critical && g.OnPressure == "route" && g.PressureState != "":
		e.emit(EventHostPressure, Field{"state", st.Name}, used, Field{"action", "route:" + g.PressureState})
		e.emit(EventRoute, Field{"from", m.Current}, Field{"to", g.PressureState}, Field{"reason", "host_pressure"})
		m.Previous, m.Current = m.Current, g.PressureState
		m.Phase, m.JustRouted = PhasePending, true
		e.record(false)
		return true
	case critical && g.OnPressure == "abort":
		e.emit(EventHostPressure, Field{"state", st.Name}, used, Field{"action", "abort"})
		e.emit(EventHostPressureAbort, Field{"state", st.Name}, used)
		if g.OnAbortRoute != "" {
			m.Current = g.OnAbortRoute
		}
		e.finish(EndHostPressure,
			fmt.Sprintf("%.1f %% of the machine's memory is in use, and host_guard.critical_pct is %v", pct,
				g.CriticalPct))
		return true
	case pct >= g.WarnPct:
		e.emit(EventHostCooldown, Field{"state", st.Name}, used, Field{"cooldown_seconds", g.Cooldown.Seconds()})
		e.pause(WaitMemory, g.Cooldown)
		if e.halts() {
			e.leave(st, decision{halted: true})
			return true
		}
	}
	return false
}
