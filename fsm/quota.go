package fsm

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// A Quota limits how much of what the account of an agent allows the prompts and judges of a run use.
type Quota struct {
	Reserve float64 // share of each window that is kept for others, from 0 to 1
	Spare   bool    // only what would expire unused is used
}

// A QuotaWindow is what an agent reported last of one limit of its account.
type QuotaWindow struct {
	Name   string        // as the agent has it: five_hour, seven_day, seven_day_opus
	Used   float64       // share, from 0 to 1; negative = it did not say
	Length time.Duration // 0 = not known
	Resets time.Time
	At     time.Time // of the report
}

// Quotas know what agents reported of the limits of their accounts. It may be used by several runs at once.
type Quotas interface {
	// Windows returns the windows of an agent that were reported and are not over.
	Windows(host string) []QuotaWindow
}

// quota returns what holds here: the largest reserve of this loop and of those it runs inside; nil = none has one.
func (e *Executor) quota() (q *Quota) {
	for x := e; x != nil; x = x.parent {
		if own := x.cfg.Loop.Quota; own != nil {
			if q == nil {
				q = &Quota{}
			}
			q.Reserve, q.Spare = max(q.Reserve, own.Reserve), q.Spare || own.Spare
		}
	}
	return q
}

// awaitQuota waits as long as a prompt to an agent would use what is kept in reserve, or of a spare loop what would
// not expire. The clock of the run is paused. It reports false if the run was stopped meanwhile.
func (e *Executor) awaitQuota(st *State, host, model string) bool {
	q := e.quota()
	if q == nil || e.cfg.Quotas == nil {
		return true
	}
	if f := e.cfg.Agents; f != nil {
		found := false
		if host, found = f.HostFor(host); !found {
			return true
		}
	}
	return e.awaitRoom(st, WaitQuota, host, func() (string, time.Time) { return e.quotaFull(q, host, model) })
}

// quotaFull returns why an agent is not asked, and until when; the zero time = it may be asked.
func (e *Executor) quotaFull(q *Quota, host, model string) (why string, until time.Time) {
	for _, w := range e.cfg.Quotas.Windows(host) {
		if of, is := strings.CutPrefix(w.Name, "seven_day_"); is && !strings.Contains(model, of) {
			continue // a limit of other models
		}
		if text, at := q.full(host, w); at.After(until) {
			why, until = text, at
		}
	}
	return why, until
}

// passQuota has agents of a list stand back whose quota is full for longer than failover says of rate limits,
// where another one can be asked.
func (e *Executor) passQuota(st *State, list []AgentChoice, model string, judge bool) {
	q, f := e.quota(), e.failover(st)
	if q == nil || e.cfg.Quotas == nil || len(list) < 2 || f.RateLimited < 0 || e.woken {
		return
	}
	type passed struct {
		AgentChoice
		why   string
		until time.Time
	}
	var full []passed
	for _, c := range list {
		if e.out(st, c.Name(), asksFor(list, c, model)) != 0 {
			continue
		}
		why, until := e.quotaFull(q, c.Host, c.Model)
		if until.Sub(e.wall()) > f.RateLimited {
			full = append(full, passed{c, why, until})
			continue
		}
		for _, p := range full {
			e.passOver(f, nameIn(list, p.AgentChoice), p.until)
			fields := []Field{
				{"state", st.Name},
				{"from", p.Name()},
				{"to", c.Name()},
				{"failure", WaitQuota},
				{"reason", p.why},
			}
			if judge {
				fields = append(fields, Field{"judge", true})
			} else {
				fields = append(fields, Field{"files", "keep"})
			}
			e.emit(EventFailover, fields...)
		}
		return
	}
}

// passOver has an agent not asked until a time, or in this run where it does not return.
func (e *Executor) passOver(f *Failover, name string, until time.Time) {
	out := map[string]int{name: int(until.Unix()) + 1}
	if !f.Return {
		out[name] = untilEnd
	}
	for k, v := range e.mem.AgentsOut { // what is on record is not changed
		if k != name {
			out[k] = v
		}
	}
	e.mem.AgentsOut = out
}

// full returns until when a window has no room for a prompt, and why.
func (q *Quota) full(host string, w QuotaWindow) (why string, until time.Time) {
	if w.Used < 0 {
		return "", time.Time{}
	}
	used := fmt.Sprintf("%s reported that %.0f%% of its limit %s is used", host, math.Floor(w.Used*100), w.Name)
	room := 1 - q.Reserve - w.Used
	switch {
	case room <= 1e-9:
		return fmt.Sprintf("%s, and quota keeps %.0f%% in reserve", used, q.Reserve*100), w.Resets
	case q.Spare && w.Length > 0:
		return used + ", and a spare loop uses only what would expire",
			w.Resets.Add(-time.Duration(room * float64(w.Length)))
	}
	return "", time.Time{}
}
