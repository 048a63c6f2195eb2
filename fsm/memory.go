package fsm

import "context"

// countMemory adds the peak memory of an action to the run's sum (host_guard.max_cumulative_subproc_mb).
func (e *Executor) countMemory(st *State, res Result) {
	m := e.mem
	peak := float64(res.PeakRSS) / (1 << 20)
	m.CumulativeMB += peak
	e.emit("host_subproc_rss", Field{"state", st.Name}, Field{"peak_rss_mb", round1(peak)}, Field{"cumulative_mb", round1(m.CumulativeMB)},
		Field{"budget_mb", int64(e.cfg.Loop.HostGuard.BudgetMB)})
}

func round1(mb float64) float64 { return float64(int64(mb*10+0.5)) / 10 }

// memoryBudget sends the run to the budget state, or ends it, the first time the sum is over the budget.
func (e *Executor) memoryBudget(ctx context.Context, next *string) bool {
	m, g := e.mem, e.cfg.Loop.HostGuard
	if g.BudgetMB <= 0 || m.BudgetSpent || m.CumulativeMB <= float64(g.BudgetMB) {
		return false
	}
	m.BudgetSpent = true
	action := "abort"
	if g.OnBudgetExceeded != "abort" && g.BudgetState != "" {
		action = "route:" + g.BudgetState
	}
	e.emit("host_budget_exceeded", Field{"state", m.Current}, Field{"cumulative_mb", round1(m.CumulativeMB)},
		Field{"budget_mb", int64(g.BudgetMB)}, Field{"action", action})
	if action == "abort" {
		e.finish(ctx, EndHostBudget, "the actions of this run used more memory than host_guard.max_cumulative_subproc_mb allows")
		return true
	}
	*next = g.BudgetState
	return false
}
