package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/config"
	"loops/persistence"
)

// A resume that waited does not go on with what the run remembered before somebody else resumed it.
func TestResumedMeanwhile(t *testing.T) {
	m := persistence.NewMemory()
	defer m.Close()
	store := &project.Records{Store: m}
	j, err := m.Create(t.Context(), persistence.Spec{Loop: "fix"})
	if err != nil {
		t.Fatal(err)
	}
	record := func(j persistence.Journal) persistence.Run {
		t.Helper()
		snap := &fsm.Snapshot{Loop: "fix", Phase: fsm.PhaseActing, Current: "a", Step: 1}
		if err := j.Record(t.Context(), &fsm.Batch{Snapshot: snap, Checkpoint: true, Events: []fsm.Event{{Kind: "state_enter"}}}); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		runs, err := m.Runs(t.Context(), persistence.Query{ID: j.Run().ID})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%v, %+v", err, runs)
		}
		return runs[0]
	}
	run := record(j)
	if err := asItWas(t.Context(), store, run); err != nil {
		t.Errorf("nothing happened: %v", err)
	}
	again, _, err := m.Resume(t.Context(), run.ID, persistence.Spec{Loop: "fix"})
	if err != nil {
		t.Fatal(err)
	}
	record(again)
	code, text := explain(asItWas(t.Context(), store, run))
	if code != exitConflict || !strings.HasPrefix(text, "run "+string(run.ID)+" was resumed by somebody else while this command waited") {
		t.Errorf("%d %s", code, text)
	}
}

func TestAgain(t *testing.T) {
	for _, c := range []struct{ line, flag, want string }{
		{"run fix", "--queue", "loops run fix --queue"},
		{"run fix --queue --queue-timeout 3s -v", "--no-lock", "loops run fix -v --no-lock"},
		{"run fix --queue=true --queue-timeout=3s", "--queue", "loops run fix --queue"},
		{"-C sub resume -- -fix --queue", "--queue", "loops -C sub resume --queue -- -fix --queue"},
		{"run fix --context|a=b c", "--queue", "loops run fix --context 'a=b c' --queue"},
		{"run fix --store postgres://me:secret@h/n", "--queue", "loops run fix --store postgres://me:xxxxx@h/n --queue"},
		{"run fix --store=postgres://me:secret@h/n", "--queue", "loops run fix --store=postgres://me:xxxxx@h/n --queue"},
	} {
		words := strings.Fields(c.line)
		for i, w := range words {
			if before, after, ok := strings.Cut(w, "|"); ok {
				words = append(append(words[:i:i], before), after+" "+words[i+1])
				break
			}
		}
		if got := (&app{args: words}).again(c.flag); got != c.want {
			t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
	}
}

func TestQueueTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "90": 90 * time.Second, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour, "150ms": 150 * time.Millisecond,
	} {
		if d, ok := parseWait(text); d != want || !ok {
			t.Errorf("%s: %v, %v", text, d, ok)
		}
	}
	for _, text := range []string{"", "soon", "-1", "-1s", "1 h", "s", "1e9", "NaN"} {
		if d, ok := parseWait(text); ok {
			t.Errorf("%q is %v", text, d)
		}
	}
	conf := &config.Config{QueueTimeout: time.Hour}
	for _, c := range []struct {
		flags lockFlags
		conf  *config.Config
		want  time.Duration
	}{
		{lockFlags{limit: -1}, conf, 0},
		{lockFlags{queue: true, limit: -1}, nil, 24 * time.Hour},
		{lockFlags{queue: true, limit: -1}, &config.Config{}, 24 * time.Hour},
		{lockFlags{queue: true, limit: -1}, conf, time.Hour},
		{lockFlags{queue: true, limit: time.Minute}, conf, time.Minute},
		{lockFlags{queue: true}, conf, 0},
	} {
		if got := c.flags.waits(c.conf); got != c.want {
			t.Errorf("%+v: %v, want %v", c.flags, got, c.want)
		}
	}
}

// A run without a lock is recorded and owned as any other.
func TestNoLock(t *testing.T) {
	var o lockFlags
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	o.addFlags(flags)
	if err := flags.Parse([]string{"--no-lock"}); err != nil {
		t.Fatal(err)
	}
	spec := persistence.Spec{Loop: "fix", Scope: []string{"/p"}, Singleton: true, Owner: persistence.Owner{PID: 7}}
	o.apply(&spec)
	if len(spec.Scope) > 0 || spec.Singleton || spec.Owner.PID != 7 || spec.Loop != "fix" {
		t.Errorf("%+v", spec)
	}
}

// What is said of who is in the way.
func TestInTheWay(t *testing.T) {
	a := &app{args: []string{"run", "x"}}
	waiter := persistence.Waiter{Loop: "y", Owner: persistence.Owner{PID: 7, Host: "elsewhere"}, Since: time.Now().Add(-3 * time.Minute)}
	behind := func(n int) error {
		return &behindError{waiter, n, persistence.Obstacle{Path: "/p", Waiter: "w", Loop: "y"}}
	}
	locked := &persistence.ConflictError{Holder: "y-1", Loop: "y", Owner: persistence.Owner{PID: 7, Host: "elsewhere"}, Path: "/p", Since: time.Now().Add(-3 * time.Minute)}
	for _, c := range []struct {
		err  error
		want string
	}{
		{locked, "/p is locked by run y-1 of loop y (pid 7 on host elsewhere, for 3m00s)\n  wait for it:   loops run x --queue\n  stop it:       loops stop y-1\n  lock nothing:  loops run x --no-lock"},
		{behind(1), "a run of loop y (pid 7 on host elsewhere, for 3m00s) waits in the queue for /p\n  wait in line:  loops run x --queue\n  see who waits: loops queue list\n  lock nothing:  loops run x --no-lock"},
		{behind(2), "2 runs wait in the queue for /p, one of them of loop y (pid 7 on host elsewhere, for 3m00s)\n  wait in line:  loops run x --queue\n  see who waits: loops queue list\n  lock nothing:  loops run x --no-lock"},
	} {
		if code, text := explain(a.refused(c.err, 0)); code != exitConflict || text != c.want {
			t.Errorf("%d\n%s\nwant\n%s", code, text, c.want)
		}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{locked, "Waiting for run y-1 of loop y, which has locked /p for 3m00s"},
		{behind(1), "Waiting behind 1 other in the queue for /p, of loop y (pid 7 on host elsewhere)"},
		{behind(3), "Waiting behind 3 others in the queue for /p; the last of them is of loop y (pid 7 on host elsewhere)"},
	} {
		if text := a.waitsFor(c.err); text != c.want {
			t.Errorf("%s\nwant %s", text, c.want)
		}
	}
}

// Who has just come has not said yet for what he waits: what he will lock is named, as queue list does.
func TestObstacleText(t *testing.T) {
	p := &project.Project{Cwd: "/p", Dir: "/p"}
	for _, c := range []struct {
		w    persistence.Waiter
		want string
	}{
		{persistence.Waiter{Scope: []string{"/p/src", "/p/docs"}}, "src, docs"},
		{persistence.Waiter{Scope: []string{"/p/src"}, For: persistence.Obstacle{Loop: "fix"}}, "src, which loop fix has"},
		{persistence.Waiter{Scope: []string{"/p/src"}, For: persistence.Obstacle{Run: "fix-1", Path: "/p/src/a"}}, "src/a, which run fix-1 has"},
		{persistence.Waiter{}, "its scope"},
	} {
		if got := obstacleText(p, c.w); got != c.want {
			t.Errorf("obstacleText(%+v) = %q, want %q", c.w, got, c.want)
		}
	}
}
