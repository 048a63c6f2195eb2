package action

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
)

const tick = time.Second // a timeout that leaves bash the time to start

func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script   string
		idle           bool
		stdout, stderr string
		file           string // what the action left in its directory
	}{
		{name: "plain", script: "printf 'l1\\nl2\\n'; sleep 60; echo after", stdout: "l1\nl2\n", stderr: "Action timed out"},
		{name: "partial line", script: "printf partial; sleep 60", stdout: "partial", stderr: "Action timed out"},
		{name: "part of a character", script: "printf 'a\\303'; sleep 60", stdout: "a\uFFFD", stderr: "Action timed out"},
		{name: "stderr is kept", script: "echo oops >&2; sleep 60", stderr: "oops\n"},
		{name: "trap", script: "trap 'echo bye; touch cleaned; exit 3' TERM; echo hi; sleep 60 & wait", stdout: "hi\nbye\n", stderr: "Action timed out", file: "cleaned"},
		{name: "trap while a command runs", script: "trap 'echo bye; touch cleaned; exit 3' TERM; echo hi; (exec sleep 60) 2>&1; :", stdout: "hi\nbye\n", file: "cleaned"},
		{name: "TERM ignored", script: "trap '' TERM; echo deaf; while :; do sleep 0.05; done", stdout: "deaf\n", stderr: "Action timed out"},
		{name: "grandchildren", script: "(sleep 60; touch leaked) & (sleep 60 & sleep 60; touch leaked) & sleep 60", stderr: "Action timed out"},
		{name: "grandchild ignores TERM", script: "(trap '' TERM; while :; do sleep 0.05; done) & sleep 60", stderr: "Action timed out"},
		{name: "session of its own", script: "setsid sleep 60 & setsid bash -c \"trap '' TERM; while :; do sleep 0.05; done\" & sleep 60", stderr: "Action timed out"},
		{name: "forks while it is killed", script: "trap '' TERM; f() { setsid sleep 60 & }; while :; do f; sleep 0.02; done", stderr: "Action timed out"},
		{name: "stopped", script: "echo before; kill -STOP $$", stdout: "before\n", stderr: "Action timed out"},
		{name: "outputs closed", script: "exec >&- 2>&-; sleep 60", stderr: "Action timed out"},
		{name: "prints for ever", script: "echo first; exec yes >/dev/null", stdout: "first\n", stderr: "Action timed out"},
		{name: "silence", script: "echo one; sleep 60", idle: true, stdout: "one\n", stderr: "Action idle-timed out"},
		{name: "silence from the start", script: "sleep 60", idle: true, stderr: "Action idle-timed out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			a := shell(c.script)
			a.Timeout = tick
			kind := "wall"
			if c.idle {
				a.Timeout, a.Idle, kind = 0, tick, "idle"
			}
			res := do(t, r, a)
			if res.Stdout != c.stdout || res.ExitCode != 124 || res.TimeoutKind != kind || res.Background != 0 {
				t.Errorf("%+v; want %q, exit 124, %s", res, c.stdout, kind)
			}
			if c.stderr != "" && res.Stderr != c.stderr {
				t.Errorf("stderr %q, want %q", res.Stderr, c.stderr)
			}
			if left := r.alive(t, 1); len(left) > 0 {
				t.Errorf("Run returned while %v were alive", left)
			}
			left, err := os.ReadDir(r.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := ""; len(left) > 0 {
				got = left[0].Name()
				if got != c.file || len(left) > 1 {
					t.Errorf("it left %v, want %q", left, c.file)
				}
			} else if c.file != "" {
				t.Errorf("it left nothing, want %q", c.file)
			}
		})
	}
}

// Every byte starts the idle time again, be it part of a line or on standard error.
func TestDripIsNotIdle(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	a := shell("for i in 1 2 3 4 5 6 7 8; do printf .; sleep 0.1; printf . >&2; sleep 0.1; done")
	a.Idle = 2 * time.Second
	if res := do(t, r, a); res.Stdout != "........" || res.Stderr != "........" || res.ExitCode != 0 {
		t.Errorf("%+v", res)
	}
	a = shell("for i in 1 2 3; do echo $i; sleep 0.05; done; sleep 60")
	a.Idle = 2 * time.Second
	if res := do(t, r, a); res.Stdout != "1\n2\n3\n" || res.TimeoutKind != "idle" {
		t.Errorf("%+v", res)
	}
}

func TestOutputInFullFlowTimesOut(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.Cap = 1000 // that much is printed in a second on any machine
	a := shell("yes")
	a.Timeout = tick
	if res := do(t, r, a); res.TimeoutKind != "wall" || !res.Truncated || !strings.HasPrefix(res.Stdout, "y\ny\n") {
		t.Errorf("kind %q, cut %v, %d bytes", res.TimeoutKind, res.Truncated, res.Bytes)
	}
}

func TestStop(t *testing.T) {
	for _, c := range []struct{ name, script, file string }{
		{"plain", "touch started; sleep 60; touch after", "started"},
		{"children", "(sleep 60; touch leaked) & setsid sleep 60 & touch started; sleep 60", "started"},
		{"trap", "trap 'touch cleaned; exit' TERM; touch started; sleep 60 & wait", "cleaned"},
		{"TERM ignored", "trap '' TERM; touch started; while :; do sleep 0.05; done", "started"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error)
			go func() {
				_, err := r.Run(ctx, shell(c.script), nil)
				done <- err
			}()
			testenv.Wait(t, "the action has started", func() bool { return exists(filepath.Join(r.Dir, "started")) })
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if left := r.alive(t, 1); len(left) > 0 {
				t.Errorf("Run returned while %v were alive", left)
			}
			if !exists(filepath.Join(r.Dir, c.file)) || exists(filepath.Join(r.Dir, "after")) || exists(filepath.Join(r.Dir, "leaked")) {
				t.Errorf("%s is missing, or it went on", c.file)
			}
		})
	}
}

// The grace is an hour: only KILL at once lets the test end.
func TestForce(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{true, false} {
		r := newRunner(t)
		r.Grace = time.Hour
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		done := make(chan error)
		go func() {
			_, err := r.Run(ctx, shell("trap '' TERM; setsid sleep 60 & touch started; while :; do sleep 0.05; done"), nil)
			done <- err
		}()
		testenv.Wait(t, "the action has started", func() bool { return exists(filepath.Join(r.Dir, "started")) })
		if stopped {
			cancel()
			select {
			case err := <-done:
				t.Fatalf("it was over before Force: %v", err)
			case <-time.After(100 * time.Millisecond):
			}
		}
		r.Force()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if left := r.alive(t, 1); len(left) > 0 {
			t.Errorf("Run returned while %v were alive", left)
		}
	}
}

// A child in the background does not hold the action, is counted, lives on, and may print.
func TestBackground(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		count        int
	}{
		{"holds the pipe", "(sleep 3; echo late; sleep 0.3; echo later; touch alive) & echo hi", 1},
		{"holds nothing", "(sleep 3; touch alive) >/dev/null 2>&1 & echo hi", 1},
		{"prints all the time", "(for i in $(seq 150); do echo $i; sleep 0.02; done >&2; touch alive) & echo hi", 1},
		{"session of its own", "setsid bash -c 'sleep 3; touch alive' & echo hi", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			res := do(t, r, shell(c.script))
			if exists(filepath.Join(r.Dir, "alive")) {
				t.Error("it was waited for")
			}
			// bash and, at times, its sleep
			if res.Stdout != "hi\n" || res.ExitCode != 0 || res.Background < c.count || res.Background > c.count+1 {
				t.Errorf("%+v", res)
			}
			testenv.Wait(t, "the child went on", func() bool { return exists(filepath.Join(r.Dir, "alive")) })
			testenv.Wait(t, "the child is gone", func() bool { return len(r.alive(t, 1)) == 0 })
		})
	}
}

func TestBackgroundIsCountedExactly(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	res := do(t, r, shell("sleep 3 & exec sleep 0.1"))
	if res.Background != 1 {
		t.Errorf("%d in the background, want 1", res.Background)
	}
	if got := len(r.alive(t, 1)); got != 1 {
		t.Errorf("%d alive, want 1", got)
	}
	testenv.Wait(t, "it is gone", func() bool { return len(r.alive(t, 1)) == 0 })
}

// What the action itself printed is never lost, whichever processes hold the pipe and however slow the reader is.
func TestEverythingPrintedBeforeTheExitIsRead(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.DrainGrace = time.Millisecond
	a := shell("sleep 1 & seq 12000")
	res, err := r.Run(context.Background(), a, func(string) { time.Sleep(20 * time.Millisecond) }) // a slow reader
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(res.Stdout, "\n11999\n12000\n") {
		t.Errorf("the output ends with %q", res.Stdout[max(0, len(res.Stdout)-20):])
	}
	testenv.Wait(t, "the child is gone", func() bool { return len(r.alive(t, 1)) == 0 })
}

// A full disk, or here a folder that is a file, ends the action: it must not run on unrecorded.
func TestUnwritableOutputEndsTheAction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		change       func(*fsm.Action)
	}{
		{"in full flow", "head -c 100000 /dev/zero; sleep 60", func(*fsm.Action) {}},
		{"at the end", "echo hi", func(a *fsm.Action) { a.Keep = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRunner(t)
			if err := os.WriteFile(filepath.Join(r.RunDir, "output"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			a := shell(c.script)
			c.change(&a)
			_, err := r.Run(context.Background(), a, nil)
			if err == nil || !strings.Contains(err.Error(), `the output of state "a" cannot be written`) {
				t.Errorf("error %v", err)
			}
		})
	}
}
