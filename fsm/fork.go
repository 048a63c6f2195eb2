package fsm

import (
	"strings"
	"time"

	"loops/fsm/value"
)

// BeforeStep takes a memory that was recorded before the action of a step was done back to where that step had
// not entered its state. It reports false, and changes nothing, if the memory was not recorded there, and also
// if the step was entered because a cap was reached: such a step cannot be undone.
func (m *Snapshot) BeforeStep(step int, state string) bool {
	switch {
	case m.Current != state || m.Decided != nil || m.StepsCapped || m.PassCapped:
		return false
	case m.Phase == PhasePending && m.Step == step-1:
	case m.Phase == PhaseActing && m.Step == step && m.Attempt <= 1:
		m.Phase, m.Step, m.JustRouted = PhasePending, step-1, m.Previous != ""
		if m.Previous == m.Current {
			m.Previous = "" // that this is another try has been counted
		}
	default:
		return false
	}
	m.Flushing = false
	m.Tries = 0
	m.Attempt, m.Answers, m.Asking, m.AskingMost, m.Result, m.Param, m.Items, m.Guard = 0, nil, false, 0, nil, nil,
		nil, nil
	m.forgetInside()
	m.Wait, m.Awaiting, m.Raised, m.Ending, m.Outcome, m.CappedAt, m.PendingRequest, m.PendingPayload,
		m.Continuation = nil, nil, nil, nil, nil, "", "", "", ""
	return true
}

// Fork prepares a new run from what another one remembered before a step (see [Snapshot.BeforeStep]), which it
// takes over. It keeps what the other run counted: steps, passes, retries, edges, evaluators. It does not keep
// what that run spent: money, tokens, prompts, time and memory begin at zero. Sessions of agents are left
// behind, because they have continued since. The fields are those of its first event, loop_start, which is
// durable with the memory before anything is done.
func Fork(cfg Config, mem *Snapshot, at time.Time, fields ...Field) *Executor {
	if mem.Captured == nil {
		mem.Captured = value.NewMap()
	}
	mem.Loop = cfg.Loop.Name
	mem.anew(at)
	fields = append([]Field{{"loop", mem.Loop}, {"from_state", mem.Current}, {"iteration", int64(mem.Step)}}, fields...)
	return &Executor{cfg: cfg, mem: mem, forked: fields}
}

// Recount forgets what a run counted towards limits that ended it or led it elsewhere, its sub-loops and
// branches that have not ended included: the same visits in a row, transitions, retries, throttles, abstentions
// and rate limits. Steps and passes count on.
func (m *Snapshot) Recount() {
	m.StallRing, m.StallCounts, m.StallPrints = nil, nil, nil
	m.Edges, m.Retries, m.Throttles, m.Holds, m.Evaluators = value.Counts{}, map[string]int{}, map[string]int{},
		map[string]int{}, map[string]Repeat{}
	m.RateLimits, m.APIErrors, m.InfraErrors, m.Storm, m.Spared = map[string]RateLimit{}, map[string]int{},
		map[string]int{}, 0, ""
	for _, c := range m.Inside() {
		c.Memory.Recount()
	}
}

// anew makes nothing spent of what a run spent, and its sub-loops and branches that have not ended.
func (m *Snapshot) anew(at time.Time) {
	m.StartedAt, m.Elapsed, m.VisitBegan, m.Session, m.Guard = at, 0, 0, nil, nil
	m.Spent, m.Outstanding, m.Lost = Spent{Steps: m.Spent.Steps}, Unsure{}, Unsure{}
	spent := make(map[string]Spent, len(m.StateSpent))
	for state, s := range m.StateSpent {
		if s.Steps > 0 {
			spent[state] = Spent{Steps: s.Steps}
		}
	}
	warned := make(map[string]int, len(m.BudgetWarned))
	for key, n := range m.BudgetWarned {
		if strings.HasSuffix(key, "/steps") {
			warned[key] = n
		}
	}
	m.StateSpent, m.BudgetWarned, m.BudgetRouted = spent, warned, false
	m.Taken = nil // the new run is sent signals of its own
	if len(m.Questions()) == 0 {
		m.Asked = 0 // and asks questions of its own
	}
	m.CumulativeMB, m.BudgetSpent, m.UnderPressure = 0, false, false
	for _, c := range m.Inside() {
		c.Memory.anew(at)
	}
}
