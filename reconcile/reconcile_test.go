package reconcile_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/process"
	"loops/persistence"
	"loops/persistence/dirstore"
	"loops/persistence/storetest"
	"loops/reconcile"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestPlan(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		run   persistence.Run
		alive bool
		want  string
	}{
		{"alive", persistence.Run{Status: persistence.Running}, true, ""},
		{"alive and about to archive itself", persistence.Run{Status: persistence.Completed}, true, ""},
		{
			"dead",
			persistence.Run{Status: persistence.Running, Owner: persistence.Owner{PID: 7}, Marker: "m"},
			false,
			"interrupt m its process (pid 7) is gone",
		},
		{"lapsed", persistence.Run{
			Status: persistence.Running, Owner: persistence.Owner{Host: "box", PID: 7},
			Lapsed: true,
		}, false, "interrupt  its process (pid 7 on box) was not heard of for longer than its lease"},
		{"dead, owner unknown", persistence.Run{Status: persistence.Running}, false, "interrupt  no process owns it"},
		{
			"dead, by little-loops",
			persistence.Run{Status: persistence.Running, Foreign: true},
			false,
			"interrupt  no process owns it",
		},
		{"nobody can tell", persistence.Run{Status: persistence.Running, Foreign: true, Unowned: true}, false, ""},
		{"starting", persistence.Run{Status: persistence.Starting, Foreign: true}, false, ""},
		{"queued for workers", persistence.Run{Status: persistence.Queued}, false, ""},
		{
			"queued, and its worker died before it began",
			persistence.Run{Status: persistence.Queued, Owner: persistence.Owner{Host: "box", PID: 7}, Lapsed: true},
			false, "",
		},
		{"of a newer program", persistence.Run{Status: "pondering"}, false, ""},
		{
			"parked, or handed to an agent",
			persistence.Run{Status: persistence.Awaiting},
			false,
			"archive  it has ended (awaiting_continuation)",
		},
		{"finished", persistence.Run{Status: persistence.Completed}, false, "archive  it has ended (completed)"},
		{
			"finished, by little-loops",
			persistence.Run{Status: persistence.Failed, Foreign: true},
			false,
			"archive  it has ended (failed)",
		},
		{"interrupted", persistence.Run{Status: persistence.Interrupted}, false, "archive  it has ended (interrupted)"},
		{"interrupted, by little-loops", persistence.Run{Status: persistence.Interrupted, Foreign: true}, false, ""},
		{"archived", persistence.Run{Status: persistence.Running, Archived: true}, false, ""},
		{
			"left over",
			persistence.Run{Status: persistence.Completed, Archived: true, Leftover: true},
			false,
			"clean  it is in the archive, but its files are also among the running ones",
		},
		{
			"left over, of an owner at work",
			persistence.Run{Status: persistence.Completed, Archived: true, Leftover: true},
			true, "",
		},
		{"unreadable", persistence.Run{Damage: []string{"x"}}, false, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			for _, x := range reconcile.Plan([]persistence.Run{c.run}, func(persistence.Run) bool { return c.alive },
				now) {
				if !x.At.Equal(now) {
					t.Errorf("decided at %v", x.At)
				}
				got = fmt.Sprintf("%s %s %s", x.Kind, x.Marker, x.Why)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestEveryStatusIsPlanned: for each status that there is, it is decided what becomes of a run whose process is gone.
func TestEveryStatusIsPlanned(t *testing.T) {
	t.Parallel()
	want := map[persistence.Status]reconcile.Kind{
		persistence.Running: reconcile.Interrupt, persistence.Completed: reconcile.Archive,
		persistence.Failed:      reconcile.Archive,
		persistence.Interrupted: reconcile.Archive, persistence.TimedOut: reconcile.Archive,
		persistence.Awaiting:    reconcile.Archive,
		persistence.UserStopped: reconcile.Archive, persistence.Starting: "", persistence.Queued: "",
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "persistence", "store.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		c, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := c.Type.(*ast.Ident); ok && typ.Name == "Status" {
			declared++
			text, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
			if _, known := want[persistence.Status(text)]; err != nil || !known {
				t.Errorf("status %q: decide what Plan does about it, %v", text, err)
			}
		}
		return true
	})
	if declared != len(want) {
		t.Errorf("%d statuses are declared, want %d", declared, len(want))
	}
	for status, kind := range want {
		plan := reconcile.Plan([]persistence.Run{{Status: status}}, func(persistence.Run) bool { return false }, now)
		if (kind == "") != (len(plan) == 0) || len(plan) > 0 && plan[0].Kind != kind {
			t.Errorf("%s: %+v, want %q", status, plan, kind)
		}
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status persistence.Status
		alive  bool
		want   persistence.Status
	}{
		{persistence.Running, true, persistence.Running},
		{persistence.Running, false, persistence.Interrupted},
		{persistence.Completed, false, persistence.Completed},
		{persistence.Completed, true, persistence.Completed},
	} {
		if got := reconcile.View(persistence.Run{Status: c.status}, c.alive).Status; got != c.want {
			t.Errorf("%s, alive %v: %s, want %s", c.status, c.alive, got, c.want)
		}
	}
}

func TestAliveElsewhere(t *testing.T) {
	t.Parallel()
	elsewhere := persistence.Owner{Host: "not this machine", Boot: "b", PID: os.Getpid(), Start: 1}
	for _, c := range []struct {
		run  persistence.Run
		want bool
	}{
		{persistence.Run{Owner: elsewhere}, true},
		{persistence.Run{Owner: elsewhere, Held: true}, true},
		{persistence.Run{Owner: elsewhere, Lapsed: true}, false},
		{persistence.Run{Owner: elsewhere, Lapsed: true, Held: true}, true},
		{persistence.Run{Owner: elsewhere, Archived: true}, false},
		{persistence.Run{}, false},
	} {
		if got := reconcile.Alive(c.run); got != c.want {
			t.Errorf("%+v: alive %v", c.run, got)
		}
	}
}

// dead leaves a run in the store whose owner recorded that an action is in flight and released the run.
func dead(t *testing.T, s persistence.Store, loop string, ended bool) persistence.ID {
	t.Helper()
	j, err := s.Create(t.Context(), persistence.Spec{Loop: loop, StartedAt: now})
	if err != nil {
		t.Fatal(err)
	}
	snap := &fsm.Snapshot{Loop: loop, Phase: fsm.PhaseActing, Current: "a", Step: 1, Attempt: 2, StartedAt: now}
	if ended {
		snap.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndTerminal}
	}
	if err := j.Record(t.Context(),
		&fsm.Batch{Snapshot: snap, Checkpoint: true, Events: []fsm.Event{{Kind: "state_enter", Time: now}}}); err !=
		nil {
		t.Fatal(err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return j.Run().ID
}

func TestApply(t *testing.T) {
	t.Parallel()
	s := storetest.NewMemory()
	defer s.Close()
	a, b, c := dead(t, s, "a", false), dead(t, s, "b", false), dead(t, s, "c", false)
	runs, err := s.Runs(t.Context(), persistence.Query{})
	if err != nil {
		t.Fatal(err)
	}
	plan := reconcile.Plan(runs, reconcile.Alive, now)
	if len(plan) != 3 {
		t.Fatalf("plan = %+v", plan)
	}
	// Another process is quicker with c.
	if err := s.Interrupt(t.Context(), c, now, "quicker"); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	var markers []string
	done, err := reconcile.Apply(t.Context(), s, plan, func(m string) (int, error) {
		markers = append(markers, m)
		if strings.HasPrefix(m, "0/a-") {
			return 0, boom
		}
		return 2, nil
	})
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), string(a)) {
		t.Errorf("error = %v", err)
	}
	if len(done) != 1 || done[0].ID != b {
		t.Errorf("done = %+v", done)
	}
	if len(markers) != 3 {
		t.Errorf("markers = %v", markers)
	}
	for _, m := range markers {
		if !strings.HasSuffix(m, "/1/2") {
			t.Errorf("marker %q", m)
		}
	}
	runs, _ = s.Runs(t.Context(), persistence.Query{Loop: "b"})
	if r := runs[0]; r.Status != persistence.Interrupted ||
		r.Why != "no process owns it; 2 processes of its action were ended" || !r.Reconciled.Equal(now) {
		t.Errorf("run = %+v", r)
	}
	runs, _ = s.Runs(t.Context(), persistence.Query{Loop: "a"})
	if r := runs[0]; r.Status != persistence.Running {
		t.Errorf("run = %+v", r)
	}
}

func TestOwnerAlive(t *testing.T) {
	t.Parallel()
	self, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	me := persistence.Owner{Host: self.Host, Boot: self.Boot, PID: self.PID, Start: self.StartMS}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	reused, elsewhere := me, me
	reused.Start -= 3600_000
	elsewhere.Host += "-other"
	for _, c := range []struct {
		name     string
		owner    persistence.Owner
		recorded time.Time
		want     bool
	}{
		{"this process", me, time.Time{}, true},
		{"a reused pid", reused, time.Time{}, false},
		{"a pid that is gone", persistence.Owner{PID: gone.Process.Pid}, time.Now(), false},
		{"a pid beyond all", persistence.Owner{PID: 4194305}, time.Now(), false},
		{"no pid", persistence.Owner{}, time.Now(), false},
		{"only a pid, recorded while it lived", persistence.Owner{PID: os.Getpid()}, time.Now(), true},
		{
			"only a pid, recorded before it started",
			persistence.Owner{PID: os.Getpid()},
			time.Now().Add(-100 * 24 * time.Hour), false,
		},
		{"on another machine", elsewhere, time.Time{}, true},
	} {
		if got := reconcile.OwnerAlive(c.owner, c.recorded); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A live run of little-loops is left alone, a dead one becomes interrupted and can be resumed.
func TestForeign(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{true, false} {
		t.Run(fmt.Sprint(live), func(t *testing.T) {
			root := filepath.Join(t.TempDir(), ".loops")
			pid := 4194305
			if live {
				pid = os.Getpid()
			}
			at := fsm.FormatTime(time.Now())
			files := map[string]string{
				"fix-20261121T103405.state.json": fmt.Sprintf(
					`{"loop_name": "fix", "current_state": "a", "iteration": 1, "captured": {}, "started_at": %q, "updated_at": %q, "status": "running", "accumulated_ms": 5, "pid": %d}`,
					at, at, pid),
				"fix-20261121T103405.events.jsonl": `{"event": "state_enter", "ts": "` + at +
					`", "state": "a", "iteration": 1}` + "\n",
				"fix-20261121T103405.pid": fmt.Sprint(pid),
			}
			if err := os.MkdirAll(filepath.Join(root, ".running"), 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(root, ".running", name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			d, err := dirstore.Open(root)
			if err != nil {
				t.Fatal(err)
			}
			d.Liveness = reconcile.OwnerAlive
			runs, err := d.Runs(t.Context(), persistence.Query{})
			if err != nil || len(runs) != 1 || !runs[0].Foreign {
				t.Fatalf("%v, runs %+v", err, runs)
			}
			plan := reconcile.Plan(runs, reconcile.Alive, now)
			if live {
				var held *persistence.HeldError
				if len(plan) != 0 {
					t.Errorf("plan = %+v", plan)
				}
				if _, _, err := d.Resume(t.Context(), runs[0].ID, persistence.Spec{}); !errors.As(err, &held) {
					t.Errorf("error is %v, want a *HeldError", err)
				}
				return
			}
			done, err := reconcile.Apply(t.Context(), d, plan, nil)
			if err != nil || len(done) != 1 {
				t.Fatalf("%v, done %+v", err, done)
			}
			runs, _ = d.Runs(t.Context(), persistence.Query{})
			if len(runs) != 1 || runs[0].Status != persistence.Interrupted || !runs[0].Archived || !runs[0].Resumable {
				t.Fatalf("runs %+v", runs)
			}
			j, s, err := d.Resume(t.Context(), runs[0].ID, persistence.Spec{Loop: "fix"})
			if err != nil {
				t.Fatal(err)
			}
			if s.Phase != fsm.PhaseActing || s.Current != "a" || s.Step != 1 {
				t.Errorf("memory = %+v", s)
			}
			if err := j.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
