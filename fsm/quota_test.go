package fsm_test

import (
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
		"room":                    {"{reserve: 30%}", fsm.QuotaWindow{Name: "five_hour", Used: 0.69, Length: 5 * time.Hour}, time.Hour, 0, ""},
		"reserve":                 {"{reserve: 30%}", fsm.QuotaWindow{Name: "five_hour", Used: 0.7, Length: 5 * time.Hour}, time.Hour, time.Hour, "x reported that 70% of its limit five_hour is used, and quota keeps 30% in reserve"},
		"nothing said":            {"{reserve: 0.3}", fsm.QuotaWindow{Name: "five_hour", Used: -1, Length: 5 * time.Hour}, time.Hour, 0, ""},
		"over":                    {"{reserve: 0.3}", fsm.QuotaWindow{Name: "five_hour", Used: 1, Length: 5 * time.Hour}, -time.Hour, 0, ""},
		"of other models":         {"{reserve: 0.3}", fsm.QuotaWindow{Name: "seven_day_opus", Used: 1, Length: week}, time.Hour, 0, ""},
		"of this model":           {"{reserve: 0.3}", fsm.QuotaWindow{Name: "seven_day_small", Used: 1, Length: week}, time.Hour, time.Hour, "x reported"},
		"spare, time enough":      {"{spare: true}", fsm.QuotaWindow{Name: "seven_day", Used: 0.5, Length: week}, 6 * 24 * time.Hour, 60 * time.Hour, "x reported that 50% of its limit seven_day is used, and a spare loop uses only what would expire"},
		"spare, it would expire":  {"{spare: true}", fsm.QuotaWindow{Name: "seven_day", Used: 0.5, Length: week}, 3 * 24 * time.Hour, 0, ""},
		"spare, unknown length":   {"{spare: true}", fsm.QuotaWindow{Name: "other", Used: 0.5}, 3 * 24 * time.Hour, 0, ""},
		"spare above the reserve": {"{spare: true, reserve: 25%}", fsm.QuotaWindow{Name: "seven_day", Used: 0.5, Length: week}, week / 2, week / 4, "x reported"},
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

// namedAgent has an agent of the name x.
type namedAgent struct{}

func (namedAgent) HostFor(string) (string, bool)     { return "x", true }
func (namedAgent) KeepsCost(string) bool             { return false }
func (namedAgent) Remedy(string, fsm.Failure) string { return "" }
