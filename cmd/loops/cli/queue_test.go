package cli

import (
	"strings"
	"testing"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/app"
	"loops/internal/view"
	"loops/persistence"
)

func TestAgain(t *testing.T) {
	for _, c := range []struct{ line, flag, want string }{
		{"run fix", "--queue", "loops run fix --queue"},
		{"run fix --queue --queue-timeout 3s -v", "--no-lock", "loops run fix -v --no-lock"},
		{"run fix --queue=true --queue-timeout=3s", "--queue", "loops run fix --queue"},
		{"-C sub resume -- -fix --queue", "--queue", "loops -C sub resume --queue -- -fix --queue"},
		{"run fix --context|a=b c", "--queue", "loops run fix --context 'a=b c' --queue"},
		{
			"run fix --store postgres://me:secret@h/n", "--queue",
			"loops run fix --store postgres://me:xxxxx@h/n --queue",
		},
		{
			"run fix --store=postgres://me:secret@h/n", "--queue",
			"loops run fix --store=postgres://me:xxxxx@h/n --queue",
		},
	} {
		words := strings.Fields(c.line)
		for i, w := range words {
			if before, after, ok := strings.Cut(w, "|"); ok {
				words = append(append(words[:i:i], before), after+" "+words[i+1])
				break
			}
		}
		if got := (&program{args: words}).again(c.flag); got != c.want {
			t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
	}
}

func TestQueueTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "90": 90 * time.Second, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour,
		"150ms": 150 * time.Millisecond,
	} {
		if d, ok := app.ParseWait(text); d != want || !ok {
			t.Errorf("%s: %v, %v", text, d, ok)
		}
	}
	for _, text := range []string{"", "soon", "-1", "-1s", "1 h", "s", "1e9", "NaN"} {
		if d, ok := app.ParseWait(text); ok {
			t.Errorf("%q is %v", text, d)
		}
	}
}

// The messages about what is in the way.
func TestInTheWay(t *testing.T) {
	a := &program{args: []string{"run", "x"}}
	waiter := persistence.Waiter{
		Loop: "y", Owner: persistence.Owner{PID: 7, Host: "elsewhere"},
		Since: time.Now().Add(-3 * time.Minute),
	}
	behind := func(n int) error {
		return &engine.BehindError{Ahead: waiter, N: n, As: persistence.Obstacle{Path: "/p", Waiter: "w", Loop: "y"}}
	}
	locked := &persistence.ConflictError{
		Holder: "y-1", Loop: "y",
		Owner: persistence.Owner{PID: 7, Host: "elsewhere"}, Path: "/p", Since: time.Now().Add(-3 * time.Minute),
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{locked, "/p is locked by run y-1 of loop y (pid 7 on host elsewhere, for 3m00s)\n" +
			"  wait for it:   loops run x --queue\n  stop it:       loops stop y-1\n" +
			"  lock nothing:  loops run x --no-lock"},
		{behind(1), "a run of loop y (pid 7 on host elsewhere, for 3m00s) waits in the queue for /p\n" +
			"  wait in line:  loops run x --queue\n  see who waits: loops queue list\n" +
			"  lock nothing:  loops run x --no-lock"},
		{behind(2), "2 runs wait in the queue for /p, one of them of loop y (pid 7 on host elsewhere, for 3m00s)\n" +
			"  wait in line:  loops run x --queue\n  see who waits: loops queue list\n" +
			"  lock nothing:  loops run x --no-lock"},
	} {
		if code, text := explain(a.busy(c.err, 0)); code != exitConflict || text != c.want {
			t.Errorf("%d\n%s\nwant\n%s", code, text, c.want)
		}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{locked, "Waiting for run y-1 of loop y, which has locked /p for 3m00s"},
		{behind(1), "Waiting behind 1 other in the queue for /p, of loop y (pid 7 on host elsewhere)"},
		{behind(3), "Waiting behind 3 others in the queue for /p; the last of them is of loop y (pid 7 on " +
			"host elsewhere)"},
	} {
		if text := view.WaitsFor(c.err); text != c.want {
			t.Errorf("%s\nwant %s", text, c.want)
		}
	}
}

// A waiter that is new has not recorded yet what it waits for: what it will lock is named, as queue list does.
func TestObstacleText(t *testing.T) {
	p := &project.Project{Cwd: "/p", Dir: "/p"}
	for _, c := range []struct {
		w    persistence.Waiter
		want string
	}{
		{persistence.Waiter{Scope: []string{"/p/src", "/p/docs"}}, "src, docs"},
		{
			persistence.Waiter{Scope: []string{"/p/src"}, For: persistence.Obstacle{Loop: "fix"}},
			"src, which loop fix has",
		},
		{
			persistence.Waiter{Scope: []string{"/p/src"}, For: persistence.Obstacle{Run: "fix-1", Path: "/p/src/a"}},
			"src/a, which run fix-1 has",
		},
		{persistence.Waiter{}, "its scope"},
	} {
		if got := view.ObstacleText(p, c.w); got != c.want {
			t.Errorf("obstacleText(%+v) = %q, want %q", c.w, got, c.want)
		}
	}
}
