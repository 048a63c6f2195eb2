package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/inspect"
	"loops/persistence"
)

// TestLanes lays steps out in time: those that are too close to tell apart are one bar, which shows the worst of them.
func TestLanes(t *testing.T) {
	t.Parallel()
	steps := []step{
		{number: "1", path: "test", verdict: "no", over: true, begin: 0, end: 500},
		{number: "2", path: "fix", over: true, begin: 500, end: 1000},
	}
	all, marks := lanes(steps, nil, 0, "/r")
	if len(all) != 2 || all[0].State != "test" ||
		all[0].Bars[0] != (bar{
			X: 0, Width: 500, Class: "no", Address: "/r?step=1&tab=steps", Title: "1 test no, 0ms",
			steps: 1,
		}) || all[1].Bars[0].X != 500 || len(marks) != 5 {
		t.Errorf("two steps are %+v with %q", all, marks)
	}
	steps = nil
	for i := range int64(100_000) {
		s := step{number: "1", path: "test", verdict: "yes", over: true, begin: i * 10, end: i*10 + 5}
		if i == 50_000 {
			s.verdict = "error"
		}
		steps = append(steps, s)
	}
	all, _ = lanes(steps, nil, 0, "/r")
	bad := 0
	for _, b := range all[0].Bars {
		if b.Class == "bad" {
			bad++
		}
	}
	if n := len(all[0].Bars); n > 400 || bad != 1 {
		t.Errorf("100,000 steps are %d bars, %d of which are bad", n, bad)
	}
	if all, marks := lanes(nil, nil, 0, "/r"); all != nil || marks != nil {
		t.Errorf("no steps are %v and %v", all, marks)
	}
}

// TestLanesOfParts: branches and items have lanes below the state that they ran in, items as many as ran at once.
func TestLanesOfParts(t *testing.T) {
	t.Parallel()
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	visit := &inspect.Visit{State: "work"}
	var p parts
	item := func(kind string, ms, n int64, key, verdict string) {
		e := fsm.Event{Kind: kind, Time: at(ms), Fields: []fsm.Field{{Key: "item", Value: n}, {Key: "key", Value: key}}}
		if verdict != "" {
			e.Fields = append(e.Fields, fsm.Field{Key: "verdict", Value: verdict})
		}
		p.take(e, visit, false)
	}
	item(fsm.EventItemStart, 0, 1, "a.txt", "")
	item(fsm.EventItemStart, 10, 2, "b.txt", "")
	item(fsm.EventItemEnd, 400, 1, "a.txt", "yes")
	item(fsm.EventItemStart, 410, 3, "3", "")
	item(fsm.EventItemEnd, 700, 2, "b.txt", "error")
	p.take(fsm.Event{Kind: fsm.EventLoopResume, Time: at(900)}, visit, false) // the process was killed after 700
	item(fsm.EventItemStart, 910, 3, "3", "")
	p.reach(at(1000))
	p.take(fsm.Event{
		Kind: fsm.EventBranchStart, Time: at(950), Depth: 0,
		Fields: []fsm.Field{{Key: "branch", Value: "lint"}},
	}, &inspect.Visit{State: "both", Index: 1}, false)
	p.take(fsm.Event{
		Kind: fsm.EventBranchEnd, Time: at(1000), Depth: 0,
		Fields: []fsm.Field{{Key: "branch", Value: "lint"}, {Key: "verdict", Value: "no"}},
	},
		&inspect.Visit{State: "both", Index: 1}, false)
	steps := []step{
		{number: "1", path: "work", begin: 0, end: 950, over: true},
		{number: "2", path: "both", begin: 950, end: 1000, over: true},
	}
	all, _ := lanes(steps, p.of(0, 2), 0, "/r")
	var got strings.Builder
	for _, l := range all {
		fmt.Fprintf(&got, "%s %s\n", l.State, l.Part)
		for _, b := range l.Bars {
			fmt.Fprintf(&got, "  %d+%d %s %s\n", b.X, b.Width, b.Class, b.Title)
		}
	}
	if want := `work 
  0+950 yes 1 work , 0ms
work items
  0+400 yes work: item 1, a.txt, 400ms
  410+290 bad work: item 3, 290ms
  910+90 now work: item 3, 90ms
work items
  10+690 bad work: item 2, b.txt, 690ms
both 
  950+50 yes 2 both , 0ms
both lint
  950+50 no both: lint, 50ms
`; got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	if of := p.of(1, 2); len(of) != 1 || of[0].name != "lint" {
		t.Errorf("of step 2 are %+v", of)
	}
}

// TestLanesShowWaitsAndAttempts: a visit that waited and was tried again shows when.
func TestLanesShowWaitsAndAttempts(t *testing.T) {
	t.Parallel()
	var p parts
	visit := &inspect.Visit{State: "ask", Attempts: 1}
	for _, e := range []struct {
		ms       int64
		kind     string
		attempts int
		waits    bool
	}{
		{0, fsm.EventStateEnter, 1, false},
		{100, fsm.EventRateLimitWaiting, 1, true},
		{200, fsm.EventNote, 1, true},
		{400, fsm.EventActionRetry, 2, false},
		{600, fsm.EventNote, 2, true},
	} {
		visit.Attempts = e.attempts
		p.take(fsm.Event{Kind: e.kind, Time: time.UnixMilli(e.ms)}, visit, e.waits)
	}
	p.reach(time.UnixMilli(1000))
	all, _ := lanes([]step{{number: "1", path: "ask", begin: 0, end: 1000}}, p.of(0, 1), 0, "/r")
	var got strings.Builder
	for _, b := range all[0].Over {
		fmt.Fprintf(&got, "%d+%d %s %s\n", b.X, b.Width, b.Class, b.Title)
	}
	if want := "100+300 wait ask: waiting, 300ms\n400+3 try ask: attempt 2\n" +
		"600+400 wait ask: waiting, 400ms\n"; got.String() != want || len(all) != 1 {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestLanesOfManyItems: 100,000 short items are some hundred bars in at most eight lanes.
func TestLanesOfManyItems(t *testing.T) {
	t.Parallel()
	var sides []part
	for i := range int64(100_000) {
		sides = append(sides, part{key: "item", begin: i * 10, end: i*10 + 35, class: "yes"})
	}
	all, _ := lanes([]step{{number: "1", path: "work", begin: 0, end: 1_000_000, over: true}}, sides, 0, "/r")
	bars := 0
	for _, l := range all {
		bars += len(l.Bars)
	}
	if len(all) > 1+mostLanes || bars > 3000 {
		t.Errorf("100,000 items are %d bars in %d lanes", bars, len(all))
	}
}

// TestDecidingStepIsRed: the step that decided that the run failed is red, not one behind it.
func TestDecidingStepIsRed(t *testing.T) {
	t.Parallel()
	c := &chronicle{account: inspect.NewAccount(nil), steps: []step{
		{number: "1", path: "test", verdict: "no", over: true, exited: true},
		{number: "2", path: "report", over: true, exited: true},
	}}
	for _, e := range []fsm.Event{
		{
			Kind:   fsm.EventStateEnter,
			Fields: []fsm.Field{{Key: "state", Value: "test"}, {Key: "iteration", Value: int64(1)}},
		},
		{Kind: fsm.EventEvaluate, Fields: []fsm.Field{{Key: "verdict", Value: "no"}}},
		{
			Kind:   fsm.EventStateEnter,
			Fields: []fsm.Field{{Key: "state", Value: "report"}, {Key: "iteration", Value: int64(2)}},
		},
		{Kind: fsm.EventActionComplete, Fields: []fsm.Field{{Key: "exit_code", Value: int64(0)}}},
	} {
		c.account.Take(e)
	}
	c.markFatal(persistence.Run{Status: persistence.Failed, Ended: fsm.EndTerminal})
	if !c.steps[0].fatal || c.steps[1].fatal {
		t.Errorf("the steps are %+v", c.steps)
	}
}

// TestFailedStepIsRed: where nothing says what decided, a run fails in the last step that acted, whatever its
// verdict, and in the steps around it. Other verdicts than yes and error are neither a success nor a failure.
func TestFailedStepIsRed(t *testing.T) {
	t.Parallel()
	run := persistence.Run{Status: persistence.Failed}
	c := &chronicle{account: inspect.NewAccount(nil), steps: []step{
		{path: "check", verdict: "no", over: true},
		{path: "fix", verdict: "partial", over: true},
		{path: "ship", verdict: "no", over: true, exited: true},
		{path: "ship > push", verdict: "no", over: true, exited: true, depth: 1},
		{path: "rest", over: true},
	}}
	classes := func() (all string) {
		for _, s := range c.steps {
			all += s.Class() + " "
		}
		return all
	}
	if c.markFatal(run); classes() != "no no bad bad yes " {
		t.Errorf("the steps are %s", classes())
	}
	run.Status = persistence.Completed // after it was resumed
	if c.markFatal(run); classes() != "no no no no yes " {
		t.Errorf("the steps of the run that completed are %s", classes())
	}
	for verdict, class := range map[string]string{
		"yes": "yes", "target": "yes", "no": "no", "ready": "no",
		"error": "bad", "timeout": "bad",
	} {
		if got := classOf(verdict, true); got != class {
			t.Errorf("%s is %s, not %s", verdict, got, class)
		}
	}
}

// TestChipsAreTheOutcomes: runs can be chosen by every word that their pages show.
func TestChipsAreTheOutcomes(t *testing.T) {
	t.Parallel()
	for _, word := range inspect.Words() {
		// shown as another word
		if !slices.Contains(slices.Concat(chips, rareChips), word) && !strings.HasPrefix(word, "awaiting") &&
			word != "user_stopped" {
			t.Errorf("no run can be chosen by %s", word)
		}
	}
}

// TestUnknownCost: a cost that is not known is unknown, and not $0.
func TestUnknownCost(t *testing.T) {
	t.Parallel()
	for want, cost := range map[string]inspect.Cost{
		"": {}, "$0.1000": {CostUSD: 0.1, Prompts: 1}, "unknown": {Unknown: 1, Prompts: 1},
		">$0.1000":          {CostUSD: 0.1, Unknown: 1, Prompts: 1},
		"unknown ≤ $0.5000": {Unknown: 1, Bounded: 1, UnknownUSD: 0.5, Prompts: 1},
	} {
		if got := (costOf{spent: cost}).Text(); got != want {
			t.Errorf("%+v is %s, not %s", cost, got, want)
		}
	}
}
