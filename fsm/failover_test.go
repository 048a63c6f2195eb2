package fsm_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// A run that dies at any record of a failover ends as one that did not: each state has the answer of the agent
// that took over, in the same step.
func TestFailoverAtEveryLostRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadTrace(t, filepath.Join("testdata", "trace", "failover.yaml"))
		whole := &tape{}
		cfg, _, _ := config(loop, whole)
		want, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for die := 2; die <= whole.count; die++ {
			for _, park := range []bool{false, true} {
				rec := &tape{die: die}
				cfg, _, _ := config(loop, rec)
				if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); !errors.Is(
					err, errDied) {
					t.Fatalf("batch %d lost: %v", die, err)
				}
				last := len(rec.saved) - 1
				rec.die, rec.events = 0, rec.events[:rec.points[last]]
				cfg.Runner, cfg.Park = &fake{}, park
				got, err := fsm.Resume(cfg, clone(rec.saved[last])).Run(context.Background())
				if err != nil || got.FinalState != want.FinalState || got.TerminatedBy != want.TerminatedBy ||
					got.Steps != want.Steps || got.Ignored != want.Ignored {
					t.Errorf("batch %d lost (park %v): it ended as %+v, %v, want %+v", die, park, got, err, want)
				}
				if said := answers(rec.events); !slices.Equal(said, answers(whole.events)) {
					t.Errorf("batch %d lost (park %v): the agents that answered are %v, want %v", die, park, said,
						answers(whole.events))
				}
			}
		}
	})
}

// answers are the agents whose prompts succeeded, in order.
func answers(events []fsm.Event) (hosts []string) {
	for _, e := range events {
		if e.Kind == fsm.EventActionComplete && e.Get("exit_code") == int64(0) {
			hosts = append(hosts, e.Get("host").(string))
		}
	}
	return hosts
}

// An agent that was rate-limited is asked again, in the order of the list, when its time has come, and not before.
func TestFailoverReturns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failover, wait string
		want           []string
	}{
		"its time has not come": {"{}", "19m", []string{"two", "two"}},
		"its time has come":     {"{}", "21m", []string{"two", "one"}},
		"it is not to return":   {"{return: false}", "21m", []string{"two", "two"}},
		"the limit is short":    {"{on: [rate_limited > 30m]}", "21m", []string{"one", "one"}},
		"not for rate limits":   {"{on: [suspended]}", "21m", []string{"one", "one"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t,
					"name: x\ndescription: x\ninitial: a\nmax_steps: 9\nhost_guard: {enabled: false}\n"+
						"llm: {host: [one, two]}\nfailover: "+c.failover+"\nstates:\n"+
						"  a: {action: \"step 1: agent one: reset 20m\", action_type: prompt, next: b}\n"+
						"  b: {wait: {for: "+c.wait+"}, on_yes: c}\n"+
						"  c: {action: \"out c\", action_type: prompt, next: done}\n  done: {terminal: true}\n")
				rec := &tape{}
				cfg, _, _ := config(loop, rec)
				cfg.Runner = named{&fake{}}
				if o, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); err != nil ||
					o.FinalState != "done" {
					t.Fatalf("%+v, %v", o, err)
				}
				if got := answers(rec.events); !slices.Equal(got, c.want) {
					t.Errorf("%v answered, want %v\n%s", got, c.want, show(rec.events))
				}
			})
		})
	}
}

// named is a fake whose replies name the agent that was asked.
type named struct{ *fake }

func (n named) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	res, err := n.fake.Run(ctx, a, out)
	if res.Reply != nil {
		res.Reply.Host = a.Host
	}
	return res, err
}

// refusing judges refuse for good, after they did something.
type refusing struct {
	*fake
	first func()
	hosts []string // that were asked
}

func (r *refusing) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	if a.Kind != fsm.KindJudge {
		return r.fake.Run(ctx, a, out)
	}
	if r.hosts = append(r.hosts, a.Host); len(r.hosts) == 1 {
		r.first()
	}
	return fsm.Result{
			ExitCode: 1,
			Reply: &fsm.Reply{
				Host: a.Host, Failure: fsm.FailAuth, Reason: "not logged in",
				Coverage: fsm.CoverageNone,
			},
		},
		nil
}

// A run that is to end, or whose time is up, asks no other judge once the first of a list refused.
func TestRunThatEndsAsksNoOtherJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(drain chan struct{})
		want string
	}{
		"stop --after-item": {func(drain chan struct{}) { close(drain) }, fsm.EndUserStopped},
		"timeout":           {func(chan struct{}) { <-time.After(11 * time.Second) }, fsm.EndTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, "name: x\ninitial: a\ntimeout: 10\nllm: {host: [one, two]}\nstates:\n"+
					"  a: {action: out a, evaluate: {type: llm_structured, prompt: is it so}, on_yes: done, on_no: "+
					"done}\n  done: {terminal: true}\n")
				cfg, f, _ := config(loop, &tape{})
				drain := make(chan struct{})
				r := &refusing{fake: f, first: func() { c.end(drain) }}
				cfg.Runner, cfg.Drain = r, drain
				out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
				if err != nil || out.TerminatedBy != c.want || !slices.Equal(r.hosts, []string{"one"}) {
					t.Errorf("it ended as %s and asked %v, want %s and one: %v", out.TerminatedBy, r.hosts, c.want, err)
				}
			})
		})
	}
}
