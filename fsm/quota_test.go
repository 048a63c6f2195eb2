package fsm_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// windows are the limits of the account of every agent.
type windows []fsm.QuotaWindow

func (w windows) Windows(string) []fsm.QuotaWindow { return w }

// TestQuotaWaits: how long a prompt waits by what its agent reported.
func TestQuotaWaits(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	for name, c := range map[string]struct {
		quota string
		w     fsm.QuotaWindow // Resets is set by left
		left  time.Duration
		waits time.Duration
		why   string
	}{
		"room": {
			"{reserve: 30%}",
			fsm.QuotaWindow{Name: "five_hour", Used: 0.69, Length: 5 * time.Hour},
			time.Hour, 0, "",
		},
		"reserve": {
			"{reserve: 30%}",
			fsm.QuotaWindow{Name: "five_hour", Used: 0.7, Length: 5 * time.Hour},
			time.Hour, time.Hour,
			"x reported that 70% of its limit five_hour is used, and quota keeps 30% in reserve",
		},
		"nothing said": {
			"{reserve: 0.3}",
			fsm.QuotaWindow{Name: "five_hour", Used: -1, Length: 5 * time.Hour},
			time.Hour, 0, "",
		},
		"over": {
			"{reserve: 0.3}",
			fsm.QuotaWindow{Name: "five_hour", Used: 1, Length: 5 * time.Hour},
			-time.Hour, 0, "",
		},
		"of other models": {
			"{reserve: 0.3}",
			fsm.QuotaWindow{Name: "seven_day_opus", Used: 1, Length: week},
			time.Hour, 0, "",
		},
		"of this model": {
			"{reserve: 0.3}",
			fsm.QuotaWindow{Name: "seven_day_small", Used: 1, Length: week},
			time.Hour, time.Hour, "x reported",
		},
		"spare, time enough": {
			"{spare: true}",
			fsm.QuotaWindow{Name: "seven_day", Used: 0.5, Length: week},
			6 * 24 * time.Hour, 60 * time.Hour, "x reported that 50% of its limit seven_day is used, and a spare " +
				"loop uses only what would expire",
		},
		"spare, it would expire": {
			"{spare: true}",
			fsm.QuotaWindow{Name: "seven_day", Used: 0.5, Length: week},
			3 * 24 * time.Hour, 0, "",
		},
		"spare, unknown length": {
			"{spare: true}",
			fsm.QuotaWindow{Name: "other", Used: 0.5},
			3 * 24 * time.Hour, 0,
			"",
		},
		"spare above the reserve": {
			"{spare: true, reserve: 25%}",
			fsm.QuotaWindow{Name: "seven_day", Used: 0.5, Length: week},
			week / 2, week / 4, "x reported",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, "name: quota\ninitial: a\nmodel: small\nquota: "+c.quota+`
states:
  a: {action: "out x", action_type: prompt, model: small, next: done}
  done: {terminal: true}
`)
				rec := &tape{}
				cfg, _, ctx := config(loop, rec)
				begin := time.Now()
				c.w.Resets = begin.Add(c.left)
				cfg.Quotas, cfg.Agents = windows{c.w}, namedAgent{}
				if _, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(ctx); err != nil {
					t.Fatal(err)
				}
				took := time.Since(begin)
				if off := took - c.waits; off < 0 || off > time.Second {
					t.Errorf("it waited %s, not %s", took, c.waits)
				}
				if text := show(rec.events); c.why != "" && !strings.Contains(text, c.why) {
					t.Errorf("%q is not in\n%s", c.why, text)
				}
			})
		})
	}
}

// accounts have the windows of each agent.
type accounts map[string]windows

func (a accounts) Windows(host string) []fsm.QuotaWindow { return a[host] }

// TestQuotaFailsOver: another agent of a list is asked at once where the quota of the first is full for longer than
// failover allows a rate limit; otherwise the first is waited for.
func TestQuotaFailsOver(t *testing.T) {
	t.Parallel()
	full := func(left time.Duration) windows {
		return windows{{Name: "five_hour", Used: 0.9, Length: 5 * time.Hour, Resets: time.Now().Add(left)}}
	}
	for name, c := range map[string]struct {
		failover    string
		left, other time.Duration // until the quota of each is free; 0 = it is
		waits       time.Duration
		asked       string
		overs       int
	}{
		"long":               {"{on: [rate_limited > 10m]}", time.Hour, 0, 0, "two two", 1},
		"not for this":       {"{on: [suspended]}", time.Hour, 0, time.Hour, "one one", 0},
		"short":              {"{on: [rate_limited > 10m]}", 5 * time.Minute, 0, 5 * time.Minute, "one one", 0},
		"all are full":       {"{on: [rate_limited > 10m]}", time.Hour, 2 * time.Hour, time.Hour, "one one", 0},
		"it does not return": {"{on: [rate_limited > 10m], return: false}", time.Hour, 0, 0, "two two", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, "name: quota\ninitial: a\nquota: {reserve: 30%}\nfailover: "+c.failover+`
llm: {host: [one, two]}
states:
  a: {action: "out x", action_type: prompt, next: b}
  b: {action: "out x", action_type: prompt, evaluate: {type: exit_code}, on_yes: done, on_no: done, on_error: done}
  done: {terminal: true}
`)
				rec := &tape{}
				cfg, _, ctx := config(loop, rec)
				asked := &askedHosts{Runner: cfg.Runner}
				cfg.Runner = asked
				both := accounts{"one": full(c.left)}
				if c.other > 0 {
					both["two"] = full(c.other)
				}
				begin := time.Now()
				cfg.Quotas = both
				if _, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(ctx); err != nil {
					t.Fatal(err)
				}
				if off := time.Since(begin) - c.waits; off < 0 || off > time.Second {
					t.Errorf("it waited %s, not %s", time.Since(begin), c.waits)
				}
				if got := strings.Join(asked.hosts, " "); got != c.asked {
					t.Errorf("%s were asked, want %s", got, c.asked)
				}
				if n := strings.Count(show(rec.events), fsm.EventFailover); n != c.overs {
					t.Errorf("%d fail-overs are on record, want %d:\n%s", n, c.overs, show(rec.events))
				}
			})
		})
	}
}

// askedHosts notes which agents prompts went to.
type askedHosts struct {
	fsm.Runner
	hosts []string
}

func (r *askedHosts) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	r.hosts = append(r.hosts, a.Host)
	return r.Runner.Run(ctx, a, out)
}

// namedAgent has an agent of the name x.
type namedAgent struct{}

func (namedAgent) HostFor(string) (string, bool)     { return "x", true }
func (namedAgent) KeepsCost(string) bool             { return false }
func (namedAgent) Remedy(string, fsm.Failure) string { return "" }
