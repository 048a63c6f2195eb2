package action

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/agent"
)

// TestVelocity: a prompt that uses too much within a minute is ended with its tools, and what it used is counted.
func TestVelocity(t *testing.T) {
	t.Parallel()
	priced := func(model string, u fsm.Usage) (float64, bool) { return float64(u.Total()) / 1000, model == "known" }
	stays := "sleep 600"
	for _, c := range []struct {
		name, script string
		most         fsm.Velocity
		blind        bool // the host says nothing while it runs
		why, ignored string
		used         int64
	}{
		{
			"tokens", "echo used 90; echo used 210;" + stays,
			fsm.Velocity{Tokens: 200},
			false,
			"ended because it used 210 tokens within a minute: velocity.tokens_per_minute is 200", "", 210,
		},
		{
			"cost that the host names", "echo used 5 0.75;" + stays,
			fsm.Velocity{CostUSD: 0.5, Tokens: 1000},
			false,
			"ended because it cost $0.7500 within a minute: velocity.cost_per_minute is 0.5", "", 5,
		},
		{
			"cost by the price of its model", "echo model known; echo used 600;" + stays,
			fsm.Velocity{CostUSD: 0.5},
			false,
			"ended because it cost $0.6000 within a minute: velocity.cost_per_minute is 0.5", "", 600,
		},
		{"exactly as much as it may", "echo used 200; echo done", fsm.Velocity{Tokens: 200}, false, "", "", 7},
		{
			"no price", "echo model unknown; echo used 600; echo done",
			fsm.Velocity{CostUSD: 0.5},
			false, "",
			"velocity.cost_per_minute", 7,
		},
		{"a host that says nothing", "echo used 600; echo done", fsm.Velocity{Tokens: 5}, true, "", "velocity", 7},
		// bash would write each line by itself
		{"too much in its last line", `env printf 'used 600\ndone\n'`, fsm.Velocity{Tokens: 5}, false, "", "", 7},
		{
			"ignores every signal but KILL", "trap '' INT TERM; echo used 6; while :; do sleep 1; done",
			fsm.Velocity{Tokens: 5},
			false,
			"ended because it used 6 tokens within a minute: velocity.tokens_per_minute is 5", "", 6,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			h := fakeHost(t, "fake", c.script)
			h.Has.Live = !c.blind
			r.Hosts, r.Grace, r.Prices = []*agent.CLI{h}, short, priced
			a := ask("x")
			a.Velocity = c.most
			res := do(t, r, a)
			rep := res.Reply
			if got := strings.Join(rep.Ignored, " "); got != c.ignored || rep.Usage.Total() != c.used {
				t.Errorf("ignored %q, want %q; %d tokens, want %d", got, c.ignored, rep.Usage.Total(), c.used)
			}
			if c.why == "" {
				if res.ExitCode != 0 || res.TimeoutKind != "" {
					t.Errorf("%+v", res)
				}
				return
			}
			if res.TimeoutKind != fsm.TimeoutVelocity || res.ExitCode != 124 || res.Stderr != "Action was "+c.why {
				t.Errorf("%+v", res)
			}
			if rep.Failure != fsm.FailVelocity || rep.Reason != c.why || rep.Coverage != fsm.CoveragePartial {
				t.Errorf("%+v", *rep)
			}
			if left := r.alive(t, 1); len(left) > 0 {
				t.Errorf("%v are alive", left)
				end(t, left)
			}
		})
	}
}

// TestPaceIsOfAMinute: what was used longer ago than a minute does not count.
func TestPaceIsOfAMinute(t *testing.T) {
	t.Parallel()
	s := &fakeStream{}
	p := &pace{most: fsm.Velocity{Tokens: 100}, meter: s}
	begin := time.Now()
	for _, step := range []struct {
		after time.Duration
		total int64
		fast  bool
	}{
		{0, 60, false},
		{30 * time.Second, 100, false},
		{61 * time.Second, 140, false},
		{90 * time.Second, 200, false},
		{119 * time.Second, 201, true},
	} {
		s.used.Output = step.total
		if p.look(begin.Add(step.after)); (p.why != "") != step.fast {
			t.Errorf("%d tokens after %s: %q", step.total, step.after, p.why)
		}
	}
	if len(p.marks) > 4 {
		t.Errorf("%d marks are kept", len(p.marks))
	}
}

// TestVelocityOfAStoppedPrompt: what a prompt used that a stop ended is in its reply.
func TestVelocityOfAStoppedPrompt(t *testing.T) {
	t.Parallel()
	res, _ := prompted(t, "echo used 6;"+reached+"sleep 600", func(r *Runner, a *fsm.Action) {
		r.Hosts[0].Has.Live = true
		a.Timeout, a.Velocity, r.Grace = later, fsm.Velocity{Tokens: 10}, short
		r.turn = func(j *job) {
			if exists(filepath.Join(r.RunDir, "reached")) {
				j.a.Timeout = time.Millisecond
			}
		}
	})
	if res.TimeoutKind != "wall" || res.Reply.Usage.Output != 6 || res.Reply.Failure != fsm.FailTimeout {
		t.Errorf("%+v, %+v", res, res.Reply)
	}
}
