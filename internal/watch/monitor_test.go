package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3/vt"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/persistence"
	"loops/persistence/storetest"
)

// A moody store cannot be read when err or crash is set.
type moody struct {
	*storetest.Memory
	err   error
	crash string
}

func (m *moody) Runs(ctx context.Context, q persistence.Query) ([]persistence.Run, error) {
	if m.crash != "" {
		panic(m.crash)
	}
	if m.err != nil {
		return nil, m.err
	}
	return m.Memory.Runs(ctx, q)
}

// A watchedCase is a project with a store in memory, one run and what looks at it.
type watchedCase struct {
	*Monitor
	t       *testing.T
	store   *moody
	journal persistence.Journal
	seq     uint64
	step    int
}

func newWatchedCase(t *testing.T) *watchedCase {
	t.Helper()
	c := &watchedCase{t: t, store: &moody{Memory: storetest.NewMemory()}}
	t.Cleanup(func() {
		if err := c.store.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := project.Open("", project.Options{Cwd: t.TempDir(), Env: []string{"TERM=xterm"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Monitor, err = NewMonitor(project.Finder{Project: p, Store: &project.Records{Store: c.store, Name: "memory"}},
		p.Queue().Waiters); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *watchedCase) begin(loop string) persistence.ID {
	c.t.Helper()
	j, err := c.store.Create(context.Background(),
		persistence.Spec{Loop: loop, MaxSteps: 50, StartedAt: time.Now(), Owner: persistence.Owner{PID: os.Getpid()}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.journal = j
	return j.Run().ID
}

// record takes the run to a state.
func (c *watchedCase) record(state string, change func(*fsm.Snapshot), events ...fsm.Event) {
	c.t.Helper()
	c.step++
	m := &fsm.Snapshot{Loop: "fix", Phase: fsm.PhaseActing, Current: state, Step: c.step, StartedAt: time.Now()}
	if change != nil {
		change(m)
	}
	b := &fsm.Batch{Checkpoint: true, Snapshot: m}
	for _, e := range events {
		c.seq++
		e.Seq, e.Time = c.seq, time.Now()
		b.Events = append(b.Events, e)
	}
	if err := c.journal.Record(context.Background(), b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *watchedCase) close() {
	c.t.Helper()
	if err := c.journal.Close(context.Background()); err != nil {
		c.t.Fatal(err)
	}
}

// see looks, and wants a part of the first row, and of the text about it.
func (c *watchedCase) see(health Health, status, state, note, problem string) View {
	c.t.Helper()
	v, _ := c.View(context.Background(), "")
	if len(v.Runs) != 1 {
		c.t.Fatalf("%d runs: %+v", len(v.Runs), v)
	}
	if r := v.Runs[0]; r.Health != health || r.Status != status || r.State != state ||
		!strings.Contains(r.Note, note) || (note == "") != (r.Note == "") || !strings.Contains(v.Problem, problem) ||
		(problem == "") != (v.Problem == "") {
		c.t.Errorf("%+v, problem %q; want health %d, status %s, state %s, note %q, problem %q", r, v.Problem, health,
			status, state, note, problem)
	}
	return v
}

func entered(state string, step int64) fsm.Event {
	return fsm.Event{
		Kind:   "state_enter",
		Fields: []fsm.Field{{Key: "state", Value: state}, {Key: "iteration", Value: step}},
	}
}

// TestWatchLook follows a run from its beginning until it is forgotten.
func TestWatchLook(t *testing.T) {
	t.Parallel()
	c := newWatchedCase(t)
	if v, _ := c.View(context.Background(), ""); len(v.Runs) != 0 || v.Problem != "" || v.Detail != nil {
		t.Errorf("an empty store shows %+v", v)
	}
	c.begin("fix")
	c.record("work", nil, entered("work", 1),
		fsm.Event{Kind: "action_start", Fields: []fsm.Field{{Key: "action", Value: "make\x1b[2J"}}},
		fsm.Event{
			Kind:   "action_output",
			Fields: []fsm.Field{{Key: "line", Value: "one\n\x1b[31mtwo\x1b[0m\x1b]0;x\x07"}},
		})
	v := c.see(Running, "running", "work", "", "")
	var log strings.Builder
	for _, l := range v.Detail.Log {
		log.WriteString(l.Text + "\n")
	}
	if want := `==> step 1, work: make\x1b[2J` + "\none\n" + `two\x1b]0;x\a` + "\n"; log.String() != want {
		t.Errorf("the log is %q, want %q", log.String(), want)
	}

	until := time.Now().Add(time.Hour)
	for _, w := range c.runs {
		w.read = time.Time{} // its memory is read again at once
	}
	c.record("ask", func(m *fsm.Snapshot) {
		m.Wait = &fsm.Wait{Why: fsm.WaitRateLimit, State: "ask", Since: time.Now(), Until: until}
		m.Spent = fsm.Spent{CostUSD: 0.5, Prompts: 1}
	}, fsm.Event{Kind: "evaluate", Fields: []fsm.Field{{Key: "verdict", Value: "no"}}},
		fsm.Event{Kind: "route", Fields: []fsm.Field{{Key: "from", Value: "work"}, {Key: "to", Value: "ask"}}},
		entered("ask", 2))
	v = c.see(Waiting, "waiting", "ask", "waits for the rate limit of an agent host (state ask), ", "")
	if v.Runs[0].Cost != "$0.5000" {
		t.Errorf("it cost %q", v.Runs[0].Cost)
	}
	if d := v.Detail; len(d.Steps) != 2 || d.Steps[0].Verdict != "no" || d.Steps[0].To != "ask" ||
		d.Steps[0].Took == "" || d.Previous != "work" || d.Current != "ask" {
		t.Errorf("steps %+v, from %s to %s", d.Steps, d.Previous, d.Current)
	}

	c.store.err = errors.New("no such luck")
	c.see(Waiting, "waiting", "ask", "waits for", "the runs cannot be read now: no such luck; trying again")
	c.store.err = nil

	c.record("ask", func(m *fsm.Snapshot) {
		m.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndError, FinalState: "ask", Steps: 3, Error: "it\nbroke"}
	}, fsm.Event{
		Kind: "loop_complete",
		Fields: []fsm.Field{
			{Key: "final_state", Value: "ask"},
			{Key: "iterations", Value: int64(3)},
			{Key: "terminated_by", Value: "error"},
		},
	})
	c.close()
	v = c.see(Failed, "failed", "ask", "ended just now: it …", "")
	if last := v.Detail.Log[len(v.Detail.Log)-1]; !strings.HasPrefix(last.Text, "==> ended: ask") ||
		v.Detail.Current != "" {
		t.Errorf("the log ends with %q in %q", last.Text, v.Detail.Current)
	}
	for id, w := range c.runs {
		w.ended = time.Now().Add(-keepEnded - time.Second)
		if v, _ := c.View(context.Background(), id); len(v.Runs) != 1 {
			t.Error("the selected run was forgotten")
		}
	}
	if v, _ := c.View(context.Background(), ""); len(v.Runs) != 0 {
		t.Errorf("not forgotten: %+v", v.Runs)
	}
}

// TestWatchPaused wants a pause that is asked for and one that the run is in to differ.
func TestWatchPaused(t *testing.T) {
	t.Parallel()
	c := newWatchedCase(t)
	id := c.begin("fix")
	c.record("work", nil, entered("work", 1))
	if _, err := c.store.Send(t.Context(), id,
		persistence.Command{Kind: persistence.CommandPause, Segment: persistence.AnySegment}); err != nil {
		t.Fatal(err)
	}
	c.see(Running, "running", "work", "pauses before its next state", "")
	c.record("rest", func(m *fsm.Snapshot) {
		m.Wait = &fsm.Wait{Why: fsm.WaitPaused, State: "rest", Since: time.Now()}
	})
	for _, w := range c.runs {
		w.read = time.Time{}
	}
	c.see(Paused, "paused", "rest", "before state rest", "")
}

// A tape is a terminal that keeps what is written to it.
type tape struct {
	vt.MockTerm
	mu  sync.Mutex
	raw bytes.Buffer // guarded by mu
}

func (t *tape) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.raw.Write(b)
	t.mu.Unlock()
	return t.MockTerm.Write(b)
}

// A state that works on a list shows how far it has come, until it has a verdict.
func TestWatchList(t *testing.T) {
	t.Parallel()
	c := newWatchedCase(t)
	id := c.begin("fix")
	steps := func(want string) {
		t.Helper()
		v, _ := c.View(context.Background(), id)
		if v.Detail == nil || len(v.Detail.Steps) != 1 || v.Detail.Steps[0].Verdict != want {
			t.Errorf("the detail is %+v, want a step with %s", v.Detail, want)
		}
	}
	field := func(k string, v any) fsm.Field { return fsm.Field{Key: k, Value: v} }
	c.record("work", nil, fsm.Event{Kind: fsm.EventLoopStart},
		fsm.Event{Kind: fsm.EventStateEnter, Fields: []fsm.Field{field("state", "work"), field("iteration", int64(1))}},
		fsm.Event{Kind: fsm.EventItemsStart, Fields: []fsm.Field{field("state", "work"), field("items", int64(30))}})
	steps("0/30")
	c.record("work", nil,
		fsm.Event{
			Kind: fsm.EventItemEnd,
			Fields: []fsm.Field{
				field("item", int64(1)), field("verdict", "yes"), field("done", int64(1)),
				field("items", int64(30)),
			},
		})
	steps("1/30")
	c.record("work", nil, fsm.Event{Kind: fsm.EventEvaluate, Fields: []fsm.Field{field("verdict", "partial")}})
	steps("partial")
	c.close()
}

// TestWatchCrash wants the terminal back before a crash is reported, in whatever goroutine it comes.
func TestWatchCrash(t *testing.T) {
	t.Parallel()
	c := newWatchedCase(t)
	c.store.crash = "a mistake of ours"
	tty := &tape{MockTerm: vt.NewMockTerm(vt.MockOptSize{X: 80, Y: 24})}
	crash := func() (crash any) {
		defer func() { crash = recover() }()
		_ = ShowOn(context.Background(), c, ScreenOptions{Interval: time.Second, Explain: func(err error) string {
			return err.Error()
		}}, tty)
		return nil
	}()
	if text, _ := crash.(string); !strings.Contains(text, "a mistake of ours") {
		t.Errorf("it ended with %v", crash)
	}
	tty.mu.Lock()
	defer tty.mu.Unlock()
	raw := tty.raw.String()
	if on, off := strings.LastIndex(raw, "\x1b[?1049h"), strings.LastIndex(raw, "\x1b[?1049l"); on < 0 || off < on {
		t.Errorf("the terminal was not given back: %q", raw)
	}
}

// Act implements [ScreenSource].
func (c *watchedCase) Act(context.Context, Command) (Done, error) {
	return Done{}, nil
}

// Show implements [ScreenSource].
func (c *watchedCase) Show(context.Context, Command, *os.File) error { return nil }

// TestNested: runs are below those that started them, also where a record says that two started each other.
func TestNested(t *testing.T) {
	t.Parallel()
	of := func(id, parent persistence.ID) *run {
		r := persistence.Run{ID: id}
		if parent != "" {
			r.Options = value.NewMap(inspect.StartedByOption, inspect.ByRun+string(parent))
		}
		return &run{Run: r}
	}
	for name, c := range map[string]struct {
		runs []*run
		want string
	}{
		"none":      {[]*run{of("a", ""), of("b", "")}, "0a 0b"},
		"one":       {[]*run{of("inner", "outer"), of("other", ""), of("outer", "")}, "0other 0outer 1inner"},
		"deep":      {[]*run{of("c", "b"), of("d", "a"), of("b", "a"), of("a", "")}, "0a 1d 1b 2c"},
		"unlisted":  {[]*run{of("inner", "gone"), of("b", "")}, "0inner 0b"},
		"of itself": {[]*run{of("a", "a"), of("b", "")}, "0b 0a"},
		"circle":    {[]*run{of("a", "b"), of("b", "a"), of("c", "")}, "0c 0a 1b"},
	} {
		var got []string
		for _, w := range nested(c.runs) {
			got = append(got, fmt.Sprint(w.depth)+string(w.ID))
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestParkedHasNotEnded: a run that waits without a process is parked, for as long as it takes.
func TestParkedHasNotEnded(t *testing.T) {
	t.Parallel()
	l := &Monitor{runs: map[persistence.ID]*run{}}
	r := persistence.Run{
		ID: "review-20261128T110000", Status: persistence.Awaiting, Ended: fsm.EndParked,
		UpdatedAt: time.Now().Add(-2 * keepEnded),
	}
	l.take(r)
	l.forget("")
	w := l.runs[r.ID]
	if w == nil {
		t.Fatal("the parked run is not shown")
	}
	if row := w.row(); !row.Parked || row.Health != Waiting || row.Status != "parked" ||
		!strings.HasPrefix(row.Note, "parked 20m") {
		t.Errorf("it is shown as %+v", row)
	}
}
