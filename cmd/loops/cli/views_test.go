package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/watch"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// killedStep records a run of one step that took 1 s in all, in a project at dir: its runner was killed after
// 0.6 s, and it was resumed 5 s later. Before its second step it was paused for an hour. The step is one of a
// sub-loop where inside says so.
func killedStep(t *testing.T, dir string, inside bool) {
	t.Helper()
	began := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	e := func(ms, depth int, kind string, fields ...fsm.Field) fsm.Event {
		return fsm.Event{
			Kind: kind, Time: began.Add(time.Duration(ms) * time.Millisecond), Depth: depth,
			Fields: fields,
		}
	}
	f := func(key string, value any) fsm.Field { return fsm.Field{Key: key, Value: value} }
	enter := func(ms, depth int, state string, step int, more ...fsm.Field) fsm.Event {
		return e(ms, depth, "state_enter", append([]fsm.Field{f("state", state), f("iteration", int64(step))},
			more...)...)
	}
	d := 0
	var before, again, after []fsm.Event
	if inside {
		d = 1
		before = []fsm.Event{enter(0, 0, "outer", 1), e(0, 1, "loop_start", f("loop", "inner"))}
		again = []fsm.Event{
			enter(5600, 0, "outer", 1, f("resumed", true)),
			e(5600, 1, "loop_resume", f("loop", "inner")),
		}
	}
	events := append([]fsm.Event{e(0, 0, "loop_start", f("loop", "fix"))}, before...)
	events = append(events,
		enter(0, d, "work", 1), e(0, d, "action_start", f("action", "make")),
		e(600, d, "action_output", f("line", "half of it")),
		e(5600, 0, "loop_resume", f("loop", "fix")))
	events = append(append(events, again...),
		enter(5600, d, "work", 1, f("resumed", true)), e(5600, d, "action_start", f("action", "make")),
		e(6000, d, "action_complete", f("exit_code", int64(0)), f("duration_ms", int64(400))),
		e(6000, d, "evaluate", f("type", "exit_code"), f("verdict", "yes")),
		e(6000, d, "route", f("from", "work"), f("to", "rest")),
		e(6000, d, "note", f("state", "rest"), f("message", "paused"), f("wait", fsm.WaitPaused)),
		e(3_606_000, d, "note", f("state", "rest"), f("message", "the run continues"), f("paused_seconds", 3600.0)))
	if inside {
		after = []fsm.Event{e(3_606_000, 1, "loop_complete", f("final_state", "rest"),
			f("terminated_by", fsm.EndTerminal)), e(3_606_000, 0, "route", f("from", "outer"), f("to", "done"))}
	}
	events = append(append(events, after...),
		e(3_606_000, 0, "loop_complete", f("final_state", "done"), f("iterations", int64(1)),
			f("terminated_by", fsm.EndTerminal)))

	store, err := dirstore.Open(filepath.Join(dir, ".loops"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	j, err := store.Create(context.Background(),
		persistence.Spec{Loop: "fix", MaxSteps: 50, StartedAt: began, Owner: persistence.Owner{PID: os.Getpid()}})
	if err != nil {
		t.Fatal(err)
	}
	m := &fsm.Snapshot{
		Loop: "fix", Phase: fsm.PhaseActed, Current: "done", Step: 1, StartedAt: began, Elapsed: time.Second,
		Outcome: &fsm.Outcome{TerminatedBy: fsm.EndTerminal, FinalState: "done", Steps: 1, Duration: time.Second},
	}
	if err := j.Record(context.Background(), &fsm.Batch{Checkpoint: true, Snapshot: m, Events: events}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestViewsAgree: a step of 1 s that was killed at 0.6 s and resumed 5 s later was "1 visit, 1.0 s" in explain,
// two rows in the HTML report, "visit 2" in JUnit and 6.6 s in watch; an hour of pause counted as its time as
// well.
func TestViewsAgree(t *testing.T) {
	for name, inside := range map[string]bool{"in the run": false, "in a sub-loop": true} {
		dir := t.TempDir()
		killedStep(t, dir, inside)
		step, path, row := "1", "work", "<tr><td>1<td>work"
		if inside {
			step, path, row = "1/1", "outer > work", "<tr><td>&#8627;1/1<td>work"
		}
		command := func(store string, args ...string) string {
			t.Helper()
			var out, errs bytes.Buffer
			if code := Main(args,
				IO{
					In: strings.NewReader(""), Out: &out, Err: &errs, Dir: dir,
					Env: []string{"LOOPS_STORE=" + store},
				}); code != 0 {
				t.Fatalf("%q: exit code %d: %s", args, code, &errs)
			}
			return out.String()
		}
		command("dir", "store", "copy", "dir", "sqlite:runs.db")
		for _, store := range []string{"dir", "sqlite:runs.db"} {
			t.Run(name+"/"+store, func(t *testing.T) {
				for view, c := range map[string]struct {
					got  string
					want []string // each once
				}{
					"explain": {
						command(store, "explain", "fix", step),
						[]string{"Step " + step + ", " + path + ", 1.0s, 2 attempts, interrupted for 5.0s, paused " +
							"for 1h00m00s ("},
					},
					"explain --json": {
						command(store, "explain", "fix", step, "--json"),
						[]string{
							`"duration_ms": 1000,`, `"attempts": 2,`, `"interrupted_ms": 5000,`,
							`"paused_ms": 3600000,`,
						},
					},
					"stats": {
						command(store, "stats", "fix", "--json"),
						[]string{`"state": "` + path + `",`, `"verdicts": {` + "\n        \"yes\": 1"},
					},
					"html": {
						command(store, "report", "fix", "-o", "-"),
						[]string{
							row, row + "<td>10:00:00<td>1.0s<td>yes",
							"2 attempts, interrupted for 5.0s, paused for 1h00m00s</p>",
						},
					},
					"junit": {
						command(store, "report", "fix", "--format", "junit", "-o", "-"),
						[]string{
							`<testcase name="work"`,
							"visit 1 (2 attempts, interrupted for 5.0s, paused for 1h00m00s), exit code 0",
						},
					},
					"markdown": {
						command(store, "report", "fix", "--format", "markdown", "-o", "-"),
						[]string{"work | yes | rest | 1s |"},
					},
					"graph": {
						command(store, "graph", "fix", "--by", "time", "--format", "mermaid"),
						[]string{"<br/>1.0s\""},
					},
				} {
					for _, want := range c.want {
						if strings.Count(c.got, want) != 1 {
							t.Errorf("%s has %q %d times:\n%s", view, want, strings.Count(c.got, want), c.got)
						}
					}
				}
				_, got, _ := strings.Cut(command(store, "stats", "fix", "--json"), `"states": `)
				if states := strings.Count(got, `"state": `); strings.Count(got, `"visits": 1,`) != states ||
					strings.Count(got, `"longest_ms": 1000,`) != states {
					t.Errorf("stats:\n%s", got)
				}
				watched(t, dir, store, step)
			})
		}
	}
}

// watched wants one row of a step in watch.
func watched(t *testing.T, dir, location, step string) {
	t.Helper()
	a := &program{IO: IO{
		Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Dir: dir,
		Env: []string{"LOOPS_STORE=" + location},
	}, color: "auto"}
	p, store, err := a.open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	l, err := watch.NewMonitor(store.Finder(), p.Queue().Waiters)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Begin(context.Background(), "fix"); err != nil {
		t.Fatal(err)
	}
	v, _ := l.View(context.Background(), persistence.ID(l.First()))
	if v.Detail == nil {
		t.Fatalf("watch shows %+v", v)
	}
	n := 0
	for _, s := range v.Detail.Steps {
		if s.Took != "1.0s" {
			t.Errorf("watch: step %s, %s took %s", s.Number, s.State, s.Took)
		}
		if s.Number == step && s.State == "work" && s.Verdict == "yes" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("watch has step %s %d times: %+v", step, n, v.Detail.Steps)
	}
}
