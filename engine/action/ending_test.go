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

// A process that bash has forked after a trap and before it is another program can lose TERM. So what a trap is to be
// tried with is begun before.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script   string
		idle           bool
		soon           bool // its limit does not wait for the command reached
		stubborn       bool // it ignores TERM
		stdout, stderr string
		file           string // what the action left in its directory
	}{
		{
			name: "plain", script: "printf 'l1\\nl2\\n';" + reached + "sleep 600; echo after", stdout: "l1\nl2\n",
			stderr: "Action timed out",
		},
		{
			name: "partial line", script: "printf partial;" + reached + "sleep 600", stdout: "partial",
			stderr: "Action timed out",
		},
		{
			name: "part of a character", script: "printf 'a\\303';" + reached + "sleep 600", stdout: "a\uFFFD",
			stderr: "Action timed out",
		},
		{name: "stderr is kept", script: "echo oops >&2;" + reached + "sleep 600", stderr: "oops\n"},
		{
			name: "trap", script: "sleep 600 & trap 'echo bye; touch cleaned; exit 3' TERM; echo hi;" + reached +
				"wait",
			stdout: "hi\nbye\n", stderr: "Action timed out", file: "cleaned",
		},
		{name: "trap while a command runs", script: "trap 'echo bye; touch cleaned; exit 3' TERM; echo hi; (" +
			reached + "exec sleep 600) 2>&1; :", stdout: "hi\nbye\n", file: "cleaned"},
		{
			name: "TERM ignored", script: "trap '' TERM; echo deaf;" + reached + "sleep 600", stubborn: true,
			stdout: "deaf\n", stderr: "Action timed out",
		},
		{name: "grandchildren", script: "(sleep 600; touch leaked) & (sleep 600 & sleep 600; touch leaked) &" +
			reached + "sleep 600", stderr: "Action timed out"},
		{
			name: "grandchild ignores TERM", script: "(trap '' TERM;" + reached + "sleep 600) & sleep 600",
			stubborn: true, stderr: "Action timed out",
		},
		{
			name: "session of its own",
			script: "setsid sleep 600 & setsid bash -c \"trap '' TERM; : >'$LOOPS_RUN_DIR/reached'; sleep " +
				"600\" & sleep 600", stubborn: true, stderr: "Action timed out",
		},
		{name: "forks while it is killed", script: "trap '' TERM; f() { setsid sleep 600 & }; f;" + reached +
			"while :; do f; sleep 0.02; done", stubborn: true, stderr: "Action timed out"},
		{
			name: "stopped", script: "echo before;" + reached + "kill -STOP $$", stdout: "before\n",
			stderr: "Action timed out",
		},
		{name: "outputs closed", script: "exec >&- 2>&-;" + reached + "sleep 600", stderr: "Action timed out"},
		{
			name: "prints for ever", script: "echo first;" + reached + "exec yes >/dev/null", stdout: "first\n",
			stderr: "Action timed out",
		},
		{name: "at once", script: "sleep 600", soon: true, stderr: "Action timed out"},
		{
			name: "silence", script: "echo one;" + reached + "sleep 600", idle: true, stdout: "one\n",
			stderr: "Action idle-timed out",
		},
		{name: "silence from the start", script: "sleep 600", idle: true, soon: true, stderr: "Action idle-timed out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			a, limit, kind := shell(c.script), later, "wall"
			if c.stubborn {
				r.Grace = short
			}
			if c.soon {
				limit = 50 * time.Millisecond
			} else {
				expire(t, r)
			}
			if a.Timeout = limit; c.idle {
				a.Timeout, a.Idle, kind = 0, limit, "idle"
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
	drip(t, r, 8)
	a := shell("for i in 1 3 5 7; do printf .; next; printf . >&2; next; done")
	a.Text = nextByte + a.Text
	a.Idle = later
	if res := do(t, r, a); res.Stdout != "...." || res.Stderr != "...." || res.ExitCode != 0 {
		t.Errorf("%+v", res)
	}
	expire(t, r)
	a = shell("for i in 1 2 3; do echo $i; done;" + reached + "sleep 600")
	a.Idle = later
	if res := do(t, r, a); res.Stdout != "1\n2\n3\n" || res.TimeoutKind != "idle" {
		t.Errorf("%+v", res)
	}
}

func TestOutputInFullFlowTimesOut(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.Cap = 1000
	a := shell("yes")
	a.Timeout = later
	r.turn = func(j *job) {
		if j.out.total > 100_000 {
			j.a.Timeout = time.Millisecond
		}
	}
	if res := do(t, r, a); res.TimeoutKind != "wall" || !res.Truncated || !strings.HasPrefix(res.Stdout, "y\ny\n") {
		t.Errorf("kind %q, cut %v, %d bytes", res.TimeoutKind, res.Truncated, res.Bytes)
	}
}

func TestStop(t *testing.T) {
	for _, c := range []struct{ name, script, file string }{
		{"plain", "touch started; sleep 600; touch after", "started"},
		{"children", "(sleep 600; touch leaked) & setsid sleep 600 & touch started; sleep 600", "started"},
		{"trap", "sleep 600 & trap 'touch cleaned; exit' TERM; touch started; wait", "cleaned"},
		{"TERM ignored", "trap '' TERM; touch started; sleep 600", "started"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			if c.name == "TERM ignored" {
				r.Grace = short
			}
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
			if !exists(filepath.Join(r.Dir, c.file)) || exists(filepath.Join(r.Dir, "after")) ||
				exists(filepath.Join(r.Dir, "leaked")) {
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
			_, err := r.Run(ctx, shell("trap '' TERM; setsid sleep 600 & touch started; sleep 600"), nil)
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
		{"holds the pipe", "(" + awaitSeen + "echo late; sleep 0.3; echo later; touch alive) & echo hi", 1},
		{"holds nothing", "(" + awaitSeen + "touch alive) >/dev/null 2>&1 & echo hi", 1},
		{"prints all the time", "(until [ -e $LOOPS_RUN_DIR/seen ]; do echo x; sleep 0.02; done >&2; touch " +
			"alive) & echo hi", 1},
		{"session of its own", "setsid bash -c '" + awaitSeen + "touch alive' & echo hi", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			res := do(t, r, shell(c.script))
			if exists(filepath.Join(r.Dir, "alive")) {
				t.Error("it was waited for")
			}
			write(t, r, "seen")
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
	res := do(t, r, shell("sleep 600 & exec sleep 0.1"))
	if res.Background != 1 {
		t.Errorf("%d in the background, want 1", res.Background)
	}
	left := r.alive(t, 1)
	if len(left) != 1 {
		t.Errorf("%d alive, want 1", len(left))
	}
	end(t, left)
}

// What the action itself printed is never lost, whichever processes hold the pipe and however slow the reader is.
func TestEverythingPrintedBeforeTheExitIsRead(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.DrainGrace = time.Millisecond
	a := shell("sleep 600 & seq 12000")
	res, err := r.Run(context.Background(), a, func(string) { time.Sleep(20 * time.Millisecond) }) // a slow reader
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(res.Stdout, "\n11999\n12000\n") {
		t.Errorf("the output ends with %q", res.Stdout[max(0, len(res.Stdout)-20):])
	}
	end(t, r.alive(t, 1))
}

// A full disk, or here a folder that is a file, ends the action: it must not run on unrecorded.
func TestUnwritableOutputEndsTheAction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		change       func(*fsm.Action)
	}{
		{"in full flow", "head -c 100000 /dev/zero; sleep 600", func(*fsm.Action) {}},
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
