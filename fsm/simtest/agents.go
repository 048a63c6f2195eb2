package simtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"loops/fsm"
)

// refusals are what only a person can repair.
var refusals = []fsm.Failure{fsm.FailAuth, fsm.FailBilling, fsm.FailModel, fsm.FailMissing, fsm.FailPermission}

// refuse has the agent of a prompt, or of a judge where the way of the run may depend on time, refuse for good, and
// reports whether it does.
func (w *World) refuse(a fsm.Action, at string, try int, res *fsm.Result) bool {
	n := w.hash(at, try, "refuse")
	if a.Kind == fsm.KindJudge { // it is asked again under the same number
		n = w.hash(at, "refuse", time.Since(w.begun)/(50*time.Second))
	}
	if a.Kind == fsm.KindJudge && w.shares() && n%8 == 1 {
		res.ExitCode, res.Reply.Failure, res.Reply.Reason, res.Reply.Complete = 1, fsm.FailRateLimited, "so it said",
			false
		res.Reply.Usage, *res.Reply.Cost = fsm.Usage{}, 0
		return true
	}
	if a.Kind == fsm.KindJudge && !w.shares() || !w.shares() && w.inItem(a) || n%8 > 0 || try > 2 {
		return false
	}
	class := refusals[n/8%uint64(len(refusals))]
	res.ExitCode, res.Reply.Failure, res.Reply.Reason, res.Reply.Complete = 1, class, "so it is", false
	if class != fsm.FailPermission {
		res.Reply.Usage, *res.Reply.Cost = fsm.Usage{}, 0
	}
	return true
}

// spawn implements [fsm.World.Spawn]. The handoff has to be on record, and an agent is started for it once.
func (w *World) spawn(_ context.Context, _, _, continuation string) (pid int, err error) {
	w.mu.Lock()
	i := len(w.events) - 1
	for i >= 0 && w.events[i].Kind != fsm.EventHandoffDetected {
		i--
	}
	switch {
	case i < 0 || w.events[i].Get("continuation") != continuation:
		w.fault("an agent is started for what is not on record: " + continuation)
	case w.events[i].Seq <= w.spawned:
		w.fault("two agents are started for one handoff: " + continuation)
	default:
		w.spawned = w.events[i].Seq
	}
	d := time.Duration(1 + w.hash(continuation, "spawn")%200_000_000)
	fails := w.shares() && w.hash(continuation, "spawned")%4 == 0
	w.mu.Unlock()
	if fails {
		return 0, errors.New("it cannot be started")
	}
	time.Sleep(d) // a stop does not end it
	return 1, nil
}

// inItem reports whether an action is inside an item of a list: which items have begun when one is refused depends on
// time.
func (w *World) inItem(a fsm.Action) bool {
	for i, c := range a.Outer {
		if c == '+' && w.lists[a.Outer[:i]] {
			return true
		}
	}
	return false
}

// tooFast ends a prompt in the middle for what it uses within a minute.
func (w *World) tooFast(a fsm.Action, at string, try int) bool {
	return a.Velocity != (fsm.Velocity{}) && w.hash(at, try, "velocity")%4 == 0
}

// shares reports whether runs tell each other which agents cannot be used: then the way of the run depends on time.
func (w *World) shares() bool { return w.loop.Failover != nil && w.loop.Failover.Return }

// slowEnough checks the limits that a prompt is given: none of its state and its loop may be lower.
func (w *World) slowEnough(a fsm.Action) {
	for _, l := range w.lib {
		st := l.States[a.State]
		if st == nil || st.Action == "" {
			continue
		}
		for _, v := range []*fsm.Velocity{st.Velocity, l.Velocity} {
			if v != nil && (a.Velocity.Tokens == 0 || a.Velocity.Tokens > v.Tokens) && len(w.owners(a.State)) == 1 {
				w.fault(fmt.Sprintf("%s may use %d tokens a minute, of %d", a.State, a.Velocity.Tokens, v.Tokens))
			}
		}
	}
}

// owners returns the loops that have a state of this name, or a branch.
func (w *World) owners(state string) (all []*fsm.Loop) {
	for _, name := range slices.Sorted(maps.Keys(w.lib)) {
		l := w.lib[name]
		if l.States[state] != nil {
			all = append(all, l)
		}
		for _, st := range l.States {
			if st.Branches != nil && st.Branches.Named(state) != nil {
				all = append(all, l)
			}
		}
	}
	return all
}

// stayOut checks that an agent which is not to be asked again in this run is not forgotten. at is where the memory is.
func (w *World) stayOut(m *fsm.Snapshot, at string) {
	at += m.StartedAt.String()
	for name, until := range w.out[at] {
		if until == math.MaxInt32 && m.AgentsOut[name] != until {
			w.fault("in " + at + ": the agent " + name + " may be asked again")
		}
	}
	w.out[at] = maps.Clone(m.AgentsOut)
}

// Limited implements [fsm.Circuit].
func (w *World) Limited(host string, until time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused[host] = until
	return nil
}

// Answered implements [fsm.Circuit].
func (w *World) Answered(host string, _ time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.refused, host)
	delete(w.blocked, host)
	return nil
}

// Refused implements [fsm.Circuit].
func (w *World) Refused(host string) (by string, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, by = range []string{host, "fake"} {
		if at := w.refused[by]; !at.IsZero() {
			return by, at
		}
	}
	return "fake", time.Time{}
}

// Block implements [fsm.Circuit]. A person repairs it after a while.
func (w *World) Block(s fsm.Suspension) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.shares() {
		return nil
	}
	if strings.TrimSpace(s.By) == "" || s.Why == "" {
		w.fault(fmt.Sprintf("others are told that nothing can be used: %+v", s))
	}
	w.blocked[s.By] = &s
	time.AfterFunc(time.Duration(1+w.hash(s.By, w.batches)%90_000_000_000), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.blocked[s.By] == &s {
			delete(w.blocked, s.By)
		}
	})
	return nil
}

// Blocked implements [fsm.Circuit].
func (w *World) Blocked(by string) (s *fsm.Suspension, try bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s = w.blocked[by]; s == nil {
		return nil, false
	}
	if try = time.Since(w.tried[by]) > time.Minute; try {
		w.tried[by] = time.Now()
	}
	return s, try
}

// memoryUsed is how much of the machine's memory is in use, in percent: now and then it is short.
func (w *World) memoryUsed() (percent float64, known bool) {
	return float64(60 + w.hash("memory", time.Since(w.begun)/(10*time.Second))%40), true
}

// quotas are what agents report of their accounts.
type quotas struct{ *World }

// quotaTime is how long a window of an account is.
const quotaTime = 40 * time.Second

// Windows implements [fsm.Quotas].
func (w quotas) Windows(host string) []fsm.QuotaWindow {
	n := time.Since(w.begun) / quotaTime
	used := float64(w.hash("quota", host, n)%110) / 100
	return []fsm.QuotaWindow{{
		Name: "five_hour", Used: min(used, 1), Length: quotaTime,
		Resets: w.begun.Add((n + 1) * quotaTime),
	}}
}

// inQuota checks that no prompt and no judge uses what the loop of the run keeps in reserve. The caller holds the lock.
func (w *World) inQuota(a fsm.Action) {
	q := w.loop.Quota
	if q == nil || !w.awake || a.Kind != fsm.KindPrompt && a.Kind != fsm.KindJudge {
		return
	}
	window := quotas{w}.Windows(a.Host)[0]
	room := 1 - q.Reserve - window.Used
	if room <= 0 || q.Spare && time.Until(window.Resets).Seconds() > room*window.Length.Seconds()+0.01 {
		w.fault(fmt.Sprintf("%s asks %q, and %.0f%% of what it may use until %s is used", a.State, a.Host,
			100*window.Used, window.Resets.Sub(w.begun)))
	}
}
