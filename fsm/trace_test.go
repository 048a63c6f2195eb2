package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/testenv"
)

// fake carries out actions that say what should come of them: words separated by "; ".
//
//	out TEXT      print a line        err TEXT    print to standard error
//	exit N        end with N          sleep 2s    take that long
//	timeout       be timed out        fail TEXT   could not be attempted
//	fast          be ended for its velocity
//	step N: ...   only in step N      big N       print N bytes of lines
//	try N: ...    only in attempt N of a step
//	agent A: ...  only where the prompt goes to that agent
//	used N USD    a prompt's reply: so many tokens, and what they cost (nothing: not known)
//	stop          ask the run to stop, as a signal would
//	stopin 1s     the same, that much later
//	host CLASS    a prompt: the host says that it failed so
//	reset 90s     a prompt: the host refuses, and says for how long
//	other         a prompt: it goes to another host than the one before
//
// What judges answer is in trace_judge_test.go.
type fake struct {
	mu    sync.Mutex
	ran   []string       // guarded by mu; state/step of every action started
	asked map[string]int // questions by state/step
	stop  context.CancelCauseFunc
}

func (f *fake) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	if a.Kind == fsm.KindJudge {
		return f.judge(ctx, a)
	}
	if a.Quiet {
		return fsm.Result{Stdout: " f | 2 +-\n"}, nil
	}
	f.mu.Lock()
	f.ran = append(f.ran, fmt.Sprintf("%s%s/%d", steps(a.Outer), a.State, a.Step))
	f.mu.Unlock()
	var res fsm.Result
	var lines []string
	if a.Kind == fsm.KindPrompt {
		used := fsm.Usage{Input: 10, Output: 5, CacheRead: 3, CacheWrite: 2}
		res.Reply = &fsm.Reply{
			Host: "fake", Model: "m-1", Session: fmt.Sprintf("s%d", a.Step), Complete: true, SessionUsage: used,
		}
		if a.Session != "" {
			res.Reply.Session, res.Reply.SessionUsage.Input = a.Session, a.Counted.Input+used.Input
			lines = append(lines, fmt.Sprintf("goes on with %s of %s at %d", a.Session, a.SessionHost, a.Counted.Input))
		}
	}
	text, told, _ := strings.Cut(a.Text, "\n\n(") // what the budgets leave is none of its words
	if told != "" {
		lines = append(lines, "("+strings.TrimSpace(told))
	}
	for word := range strings.SplitSeq(text, "; ") {
		if rest, ok := strings.CutPrefix(word, "step "); ok {
			n, then, _ := strings.Cut(rest, ": ")
			if strconv.Itoa(a.Step) != n {
				continue
			}
			word = then
		}
		if rest, ok := strings.CutPrefix(word, "agent "); ok {
			name, then, _ := strings.Cut(rest, ": ")
			if a.Host != name {
				continue
			}
			word, res.Reply.Host = then, name
		}
		if rest, ok := strings.CutPrefix(word, "try "); ok {
			n, then, _ := strings.Cut(rest, ": ")
			if strconv.Itoa(a.Attempt) != n {
				continue
			}
			word = then
		}
		verb, arg, _ := strings.Cut(word, " ")
		switch verb {
		case "out":
			lines = append(lines, arg)
		case "err":
			res.Stderr += arg + "\n"
		case "exit":
			res.ExitCode, _ = strconv.Atoi(arg)
		case "big":
			n, _ := strconv.Atoi(arg)
			for ; n > 0; n -= 64 {
				lines = append(lines, strings.Repeat("x", 63))
			}
		case "sleep":
			d, _ := time.ParseDuration(arg)
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return fsm.Result{ExitCode: -15}, nil
			}
		case "used":
			tokens, usd, priced := strings.Cut(arg, " ")
			n, _ := strconv.ParseInt(tokens, 10, 64)
			res.Reply = &fsm.Reply{
				Host: "fake", Complete: true, Usage: fsm.Usage{Input: n},
				Coverage: fsm.CoverageComplete,
			}
			if v, _ := strconv.ParseFloat(usd, 64); priced {
				res.Reply.Cost, res.Reply.Priced = &v, "fake"
			}
			lines = append(lines, fmt.Sprintf("may cost %v", a.MaxCost))
		case "host":
			res.ExitCode, res.Reply.Failure, res.Reply.Reason = 1, fsm.Failure(arg), "so it said"
		case "reset":
			d, _ := time.ParseDuration(arg)
			res.ExitCode, res.Reply.Failure, res.Reply.ResetAt = 1, fsm.FailRateLimited, time.Now().Add(d).UTC()
		case "other":
			res.Reply.Host, res.Reply.Session = "other", "elsewhere"
		case "timeout":
			res.ExitCode, res.TimeoutKind, res.Stderr = 124, "wall", "Action timed out"
		case "fast":
			res.ExitCode, res.TimeoutKind, res.Stderr = 124, fsm.TimeoutVelocity, "Action was ended"
			res.Reply.Failure, res.Reply.Reason, res.Reply.Usage, res.Reply.Coverage = fsm.FailVelocity,
				"it was too fast", fsm.Usage{Input: 70}, fsm.CoveragePartial
			lines = append(lines, fmt.Sprintf("limits %v", a.Velocity))
		case "fail":
			return fsm.Result{}, errors.New(arg)
		case "stopin":
			if f.stop != nil {
				d, _ := time.ParseDuration(arg)
				time.AfterFunc(d, func() { f.stop(&fsm.Stop{Signal: "SIGINT"}) })
			}
		case "stop":
			if f.stop != nil {
				f.stop(&fsm.Stop{Signal: "SIGTERM"})
			}
		}
	}
	if len(lines) > 0 {
		res.Stdout = strings.Join(lines, "\n") + "\n"
		for chunk := range slices.Chunk(lines, 1000) {
			out(strings.Join(chunk, "\n"))
		}
	}
	res.Bytes = int64(len(res.Stdout))
	res.Duration = 7 * time.Millisecond
	return res, nil
}

// steps are the steps of marks: "/3/0/2/1" is "3/2/".
func steps(outer string) string {
	var b strings.Builder
	words := strings.Split(outer, "/")
	for i := 1; i < len(words); i += 2 {
		b.WriteString(words[i] + "/")
	}
	return b.String()
}

// shelf is a library of loops.
type shelf map[string]*fsm.Loop

func (s shelf) Loop(name string, _ *fsm.Loop) (*fsm.Loop, error) {
	if l := s[name]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("there is no loop %q", name)
}

// circuit is one that no other run uses. The hosts that answered are in answered.
type circuit struct {
	mu       sync.Mutex
	until    time.Time
	host     string
	answered []string
	blocks   []fsm.Suspension
	try      bool // the run is to find out whether a block still holds
}

func (c *circuit) Limited(host string, until time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.host, c.until = host, until
	return nil
}

func (c *circuit) Answered(host string, _ time.Time) error {
	c.answered = append(c.answered, host)
	return nil
}

func (c *circuit) Block(s fsm.Suspension) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks = append(c.blocks, s)
	return nil
}

func (c *circuit) Blocked(by string) (*fsm.Suspension, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.blocks {
		if s.By == by {
			return &s, c.try
		}
	}
	return nil, false
}

func (c *circuit) Refused(host string) (string, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if host != "" && c.host != "" && c.host != host {
		return "", time.Time{}
	}
	return c.host, c.until
}

// noFiles is a project without files but those for judges.
type noFiles struct{}

func (noFiles) ReadFile(name string) ([]byte, error) {
	if text, ok := judgedFiles[name]; ok {
		return []byte(text), nil
	}
	return nil, os.ErrNotExist
}
func (noFiles) WriteFile(string, []byte) error                         { return nil }
func (noFiles) Write(_ string, content func(io.Writer) error) error    { return content(io.Discard) }
func (noFiles) Glob(context.Context, string, string) ([]string, error) { return nil, nil }
func (noFiles) Stat(string) (time.Time, int64, error) {
	return time.Time{}, 0, os.ErrNotExist
}

// tape remembers every batch. It can be made to die: the batch after the last one is lost with the process.
type tape struct {
	mu     sync.Mutex
	seq    uint64
	events []fsm.Event
	saved  []*fsm.Snapshot // one a batch that had a snapshot
	points []int           // len(events) then
	hard   []bool          // it was a checkpoint
	die    int             // lose this batch (from 1) and everything after it
	count  int
}

var errDied = errors.New("the process died here")

// last returns the newest memory that was recorded. It may be called while the run goes on.
func (r *tape) last() *fsm.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.saved[len(r.saved)-1]
}

// has returns how many events of a kind were recorded. It may be called while the run goes on.
func (r *tape) has(kind string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return count(r.events, kind)
}

func (r *tape) Record(_ context.Context, b *fsm.Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b.Snapshot != nil {
		if r.count++; r.count == r.die {
			return errDied
		}
	}
	for i := range b.Events {
		r.seq++
		b.Events[i].Seq = r.seq
		r.events = append(r.events, b.Events[i])
	}
	if b.Snapshot != nil {
		r.saved = append(r.saved, clone(b.Snapshot))
		r.points = append(r.points, len(r.events))
		r.hard = append(r.hard, b.Checkpoint)
	}
	return nil
}

// clone copies what a snapshot does not share by contract.
func clone(s *fsm.Snapshot) *fsm.Snapshot {
	c := *s
	c.Messages = slices.Clone(s.Messages)
	c.Retries, c.Throttles, c.Holds = maps.Clone(s.Retries), maps.Clone(s.Throttles), maps.Clone(s.Holds)
	c.Answers = slices.Clone(s.Answers)
	c.RateLimits, c.APIErrors, c.InfraErrors = maps.Clone(s.RateLimits), maps.Clone(s.APIErrors),
		maps.Clone(s.InfraErrors)
	c.StallRing, c.StallCounts, c.StallPrints = slices.Clone(s.StallRing), maps.Clone(s.StallCounts),
		maps.Clone(s.StallPrints)
	c.Evaluators = maps.Clone(s.Evaluators)
	c.StateSpent, c.BudgetWarned = maps.Clone(s.StateSpent), maps.Clone(s.BudgetWarned)
	if s.Result != nil {
		r := *s.Result
		c.Result = &r
	}
	if s.Outcome != nil {
		o := *s.Outcome
		c.Outcome = &o
	}
	if s.Child != nil {
		child := *s.Child
		child.Memory, child.Log = clone(s.Child.Memory), slices.Clone(s.Child.Log)
		c.Child = &child
	}
	c.Branches = nil
	for _, b := range s.Branches {
		copied := *b
		if b.Child != nil {
			child := *b.Child
			child.Memory, child.Log = clone(b.Child.Memory), slices.Clone(b.Child.Log)
			copied.Child = &child
		}
		c.Branches = append(c.Branches, &copied)
	}
	return &c
}

func loadTrace(t *testing.T, file string) *fsm.Loop {
	t.Helper()
	loop, problems, err := new(loopfile.Loader).Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if loop == nil {
		t.Fatal(loopfile.Render(problems, nil, false))
	}
	return loop
}

// children are the loops in files below the one that names them.
type children struct{ loader loopfile.Loader }

func (c *children) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	path, err := c.loader.Child(name, from)
	if err != nil {
		return nil, errors.New("there is none") // the real words hold paths of this machine
	}
	loop, problems, err := c.loader.Load(path)
	if err == nil && loop == nil {
		err = errors.New(loopfile.Render(problems, nil, false))
	}
	return loop, err
}

// memoryUsed is what the machine's memory reads, time after time.
func memoryUsed() func() (float64, bool) {
	next := []float64{50, 70, 95, 65, 40, 95}
	return func() (float64, bool) {
		pct := next[0]
		next = append(next[1:], pct)
		return pct, true
	}
}

// spawn starts no agent; for the host "missing" there is none.
func spawn(_ context.Context, host, _, _ string) (int, error) {
	if host == "missing" {
		return 0, errors.New("there is no such agent")
	}
	return 7, nil
}

// config returns a machine's surroundings and a context its actions can stop.
func config(loop *fsm.Loop, rec fsm.Recorder) (fsm.Config, *fake, context.Context) {
	ctx, cancel := context.WithCancelCause(context.Background())
	f := &fake{stop: cancel}
	cfg := fsm.Config{
		Loop: loop,
		World: fsm.World{
			Runner: f, Files: noFiles{}, Library: &children{}, MemoryUsed: memoryUsed(),
			Random: func() float64 { return 0.5 }, Circuit: &circuit{}, Spawn: spawn,
		},
		Journal: fsm.Journal{Recorder: rec, Verify: true},
	}
	doesNotSpin(&cfg.Control)
	return cfg, f, ctx
}

func show(events []fsm.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%3d %s%s", e.Seq, strings.Repeat("  ", e.Depth), e.Kind)
		for _, f := range e.Fields {
			text := string(value.AppendJSON(nil, f.Value))
			if len(text) > 120 {
				text = fmt.Sprintf("%s… (%d bytes)", text[:40], len(text))
			}
			fmt.Fprintf(&b, " %s=%s", f.Key, text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func showEnd(s *fsm.Snapshot, o fsm.Outcome) string {
	return fmt.Sprintf("end %s in %s after %d steps failure=%v signal=%q error=%q\nphase %s captured %s messages %q\n",
		o.TerminatedBy, o.FinalState, o.Steps, o.Failure, o.Signal, o.Error, s.Phase,
		value.AppendJSON(nil, s.Captured), s.Messages)
}

// TestTraces runs every loop in testdata/trace with the fake runner and compares all that was recorded. A run
// that ends resumable is resumed once, which is part of the trace.
func TestTraces(t *testing.T) {
	t.Parallel()
	for _, file := range traceFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadTrace(t, file)
				rec := &tape{}
				cfg, _, ctx := config(loop, rec)
				out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx)
				if err != nil {
					t.Fatal(err)
				}
				got := show(rec.events) + showEnd(rec.saved[len(rec.saved)-1], out)
				switch out.TerminatedBy {
				case fsm.EndInterrupted, fsm.EndHandoff, fsm.EndMaxSteps, fsm.EndMaxIterations:
					rec.events = nil
					again := &fake{} // the resumed run does not stop at the same place again
					again.answered(rec.saved[len(rec.saved)-1], "")
					cfg.Runner = again
					out, err = fsm.Resume(cfg, clone(rec.saved[len(rec.saved)-1])).Run(context.Background())
					if err != nil {
						t.Fatal(err)
					}
					got += "resume\n" + show(rec.events) + showEnd(rec.saved[len(rec.saved)-1], out)
				}
				testenv.Golden(t, strings.TrimSuffix(file, ".yaml")+".out", got)
			})
		})
	}
}

func traceFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/trace/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("want at least 20 traces, got %d (%v)", len(files), err)
	}
	return files
}

// TestEveryCheckpointLostInTurn lets the process die before each batch of each trace in turn, resumes from what
// was recorded, and compares with the unbroken run: the same end and captures, no recorded action done again,
// and at most the one in flight done twice.
func TestEveryCheckpointLostInTurn(t *testing.T) {
	t.Parallel()
	for _, file := range traceFiles(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if strings.HasPrefix(name, "stop-") || strings.HasPrefix(name, "timeout-loop") ||
			strings.HasPrefix(name, "host-") {
			continue // these end by something from outside the run's memory
		}
		if name == "wait" {
			continue // its scripts are run again and again; see TestWaitAtEveryLostRecord
		}
		if strings.HasPrefix(name, "retry") || name == "failover" {
			// an action is done again in its step, as it should be; see TestRetriesAtEveryLostRecord,
			// TestFailoverAtEveryLostRecord
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadTrace(t, file)
				whole := &tape{}
				cfg, unbroken, _ := config(loop, whole)
				want, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				for die := 1; die <= whole.count; die++ {
					for _, power := range []bool{false, true} {
						// of long traces each loses one of both
						if *testenv.Torture || whole.count <= 30 || power == (die%2 == 0) {
							lost(t, loop, nil, die, power, want, whole, unbroken.ran)
						}
					}
				}
			})
		})
	}
}

func lost(t *testing.T, loop *fsm.Loop, loops shelf, die int, power bool, want fsm.Outcome, whole *tape,
	unbroken []string,
) {
	t.Helper()
	rec := &tape{die: die}
	cfg, runner, _ := config(loop, rec)
	if loops != nil {
		cfg.Library = loops
	}
	if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); !errors.Is(err, errDied) {
		t.Fatalf("batch %d lost: run went on: %v", die, err)
	}
	last := len(rec.saved) - 1
	for power && last >= 0 && !rec.hard[last] { // the loss of power takes what was not durable
		last--
	}
	if last < 0 {
		return // nothing was recorded: there is no run
	}
	finished := make(map[string]bool) // of actions whose result is on record
	var at []string                   // where the run is, by depth
	var outer []string
	for _, e := range rec.events[:rec.points[last]] {
		switch e.Kind {
		case "state_enter":
			at = append(at[:e.Depth], fmt.Sprintf("%s/%d", e.Get("state"), e.Get("iteration")))
			outer = append(outer[:e.Depth], fmt.Sprintf("%d/", e.Get("iteration")))
		case "action_complete":
			finished[strings.Join(outer[:e.Depth], "")+at[e.Depth]] = true
		}
	}
	inFlight := ""
	if len(runner.ran) > 0 && !finished[runner.ran[len(runner.ran)-1]] {
		inFlight = runner.ran[len(runner.ran)-1]
	}
	rec.die = 0
	resumedAt := rec.seq
	second := &fake{}
	second.answered(rec.saved[last], "")
	cfg.Runner = second
	got, err := fsm.Resume(cfg, clone(rec.saved[last])).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if s := rec.saved[last]; s.Phase != fsm.PhasePending && s.Outcome == nil {
		tail := rec.events[len(rec.events)-int(rec.seq-resumedAt):]
		if tail[0].Kind != "loop_resume" || tail[1].Kind != "state_enter" || tail[1].Get("state") != s.Current ||
			tail[1].Get("iteration") != int64(s.Step) || tail[1].Get("resumed") != true {
			t.Errorf("batch %d lost (power %v): the state in flight is not entered again:\n%s", die, power,
				show(tail[:2]))
		}
	}
	got.Duration, want.Duration = 0, 0
	if got != want {
		t.Errorf("batch %d lost (power %v): want end %+v, got %+v", die, power, want, got)
	}
	w, g := whole.saved[len(whole.saved)-1], rec.saved[len(rec.saved)-1]
	if a, b := value.AppendJSON(nil, withoutLogs(w.Captured)),
		value.AppendJSON(nil, withoutLogs(g.Captured)); string(a) != string(b) {
		t.Errorf("batch %d lost (power %v): want captures %s, got %s", die, power, a, b)
	}
	if !slices.Equal(w.Messages, g.Messages) || !reflect.DeepEqual(w.Edges, g.Edges) ||
		!maps.Equal(w.Retries, g.Retries) {
		t.Errorf("batch %d lost (power %v): messages or counters differ: want %v %v %v, got %v %v %v", die, power,
			w.Messages, w.Edges, w.Retries, g.Messages, g.Edges, g.Retries)
	}
	for i, again := range second.ran {
		if finished[again] {
			t.Errorf("batch %d lost (power %v): %s was done again although its result was recorded", die, power, again)
		}
		if slices.Contains(runner.ran, again) && (again != inFlight || i != 0) && !power {
			t.Errorf("batch %d lost: %s was done twice and was not in flight", die, again)
		}
	}
	if n := len(runner.ran) + len(second.ran); n > len(unbroken)+1 && !power {
		t.Errorf("batch %d lost: %d actions in all, %d in an unbroken run", die, n, len(unbroken))
	}
}

// withoutLogs leaves out the captured events of sub-loops, which show the resume.
func withoutLogs(m *value.Map) *value.Map {
	out := value.NewMap()
	for _, k := range m.Keys() {
		v, _ := m.Get(k)
		if inner, ok := v.(*value.Map); ok {
			v = withoutLogs(inner)
		}
		if k != "log" {
			out.Set(k, v)
		}
	}
	return out
}

// TestNothingIsDoneUnrecorded lets every batch fail in turn: the run must stop with that error at once.
func TestNothingIsDoneUnrecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadTrace(t, "testdata/trace/capture.yaml")
		for die := 1; ; die++ {
			rec := &tape{die: die}
			cfg, runner, _ := config(loop, rec)
			shown := 0
			cfg.Observe = func(fsm.Event) { shown++ }
			_, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
			if err == nil {
				if die < 4 {
					t.Fatalf("the run has only %d batches", die)
				}
				return
			}
			started := 0
			for _, e := range rec.events {
				if e.Kind == "action_start" {
					started++
				}
			}
			if !errors.Is(err, errDied) || len(runner.ran) != started || shown != len(rec.events) {
				t.Errorf("batch %d failed: error %v, %d actions run but %d recorded, %d events shown of %d recorded",
					die, err, len(runner.ran), started, shown, len(rec.events))
			}
		}
	})
}

// A capped run with an on_max_steps state that leads to a terminal was resumed with a higher cap, did none of the work
// that was left, and said that it was completed.
func TestResumeWithAHigherCapGoesOnWithTheWork(t *testing.T) {
	t.Parallel()
	for name, raise := range map[string]func(*fsm.Loop){
		"steps":  func(l *fsm.Loop) { l.MaxSteps = 6 },
		"passes": func(l *fsm.Loop) { l.MaxIterations = 2 },
		"budget": func(l *fsm.Loop) { l.Budget = &fsm.Budget{Prompts: 2} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadTrace(t, "testdata/trace/resume-higher-"+name+".yaml")
				rec := &tape{}
				cfg, first, ctx := config(loop, rec)
				if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx); err != nil {
					t.Fatal(err)
				}
				capped := clone(rec.saved[len(rec.saved)-1])
				raise(loop)
				second := &fake{}
				cfg.Runner = second
				out, err := fsm.Resume(cfg, capped).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				got := fmt.Sprintf("ran %v\nresumed with a higher cap: ran %v, %s in %s after %d steps\n", first.ran,
					second.ran, out.TerminatedBy, out.FinalState, out.Steps)
				testenv.Golden(t, "testdata/trace/resume-higher-"+name+".again", got)
			})
		})
	}
}

// `report` said that a run took 452ms, and 453ms once its memory could not be read: the end was timed twice.
func TestEndHasOneTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := &tape{}
		loop := loadTrace(t, "testdata/trace/capture.yaml")
		cfg, _, _ := config(loop, rec)
		cfg.Why = func(fsm.Outcome, []fsm.Event) (string, int) {
			testenv.Pass(time.Millisecond)
			return "", 0
		}
		out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if last := rec.saved[len(rec.saved)-1]; last.Elapsed != out.Duration || last.Outcome.Duration != out.Duration {
			t.Errorf("the run took %v; its memory says %v and %v", out.Duration, last.Elapsed, last.Outcome.Duration)
		}
	})
}
