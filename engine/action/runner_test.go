package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/process"
	"loops/internal/testenv"
)

var runs atomic.Int64

// newRunner returns a Runner for actions in an empty directory, with short times. At the end of the test
// nothing with the marker of its first 9 steps may be alive.
func newRunner(t testing.TB) *Runner {
	t.Helper()
	r := &Runner{
		Dir: t.TempDir(), RunDir: t.TempDir(), RunID: "test", Mark: fmt.Sprintf("test-%d-%d", os.Getpid(), runs.Add(1)),
		Grace: 10 * time.Minute, // of which nothing is waited for that TERM ends
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		marks, err := process.Marks(Variable)
		if err != nil {
			t.Error(err)
		}
		for step := range 9 {
			if !marks[r.marker(fsm.Action{Step: step, Attempt: 1})] {
				continue
			}
			if left := r.alive(t, step); len(left) > 0 {
				t.Errorf("step %d left %v alive", step, left)
				end(t, left)
			}
		}
	})
	return r
}

// end ends processes by KILL.
func end(t testing.TB, left []process.Identity) {
	t.Helper()
	if _, err := process.End(context.Background(), left, 0); err != nil {
		t.Error(err)
	}
}

func (r *Runner) alive(t testing.TB, step int) []process.Identity {
	t.Helper()
	ids, err := process.Marked(Variable, r.marker(fsm.Action{Step: step, Attempt: 1}))
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func shell(script string) fsm.Action {
	return fsm.Action{Kind: fsm.KindShell, Text: script, State: "a", Step: 1, Attempt: 1}
}

func do(t testing.TB, r *Runner, a fsm.Action) fsm.Result {
	t.Helper()
	res, err := r.Run(context.Background(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func exists(name string) bool { _, err := os.Stat(name); return err == nil }

func TestShell(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for _, c := range []struct {
		name, script   string
		stdout, stderr string
		exit           int
	}{
		{"nothing", "true", "", "", 0},
		{"both streams", "echo out; echo err >&2", "out\n", "err\n", 0},
		{"no newline at the end", "printf 'a  \\nb\\n\\n  last'", "a  \nb\n\n  last", "", 0},
		{"exit code", "exit 3", "", "", 3},
		{"killed", "kill -9 $$", "", "", -9},
		{"ended by TERM", "kill $$", "", "", -15},
		{"large exit code", "exit 255", "", "", 255},
		{"stdin is empty", "cat; read x || echo nothing", "nothing\n", "", 0},
		{"invalid UTF-8", `printf 'ok\n\377bad\342\202\n'`, "ok\n\uFFFDbad\uFFFD\n", "", 0},
		{"invalid UTF-8 on stderr", `printf 'a\200' >&2`, "", "a\uFFFD", 0},
		{"zero bytes", `printf 'a\0b\n'`, "a\x00b\n", "", 0},
		{"carriage returns", `printf 'a\r\nb\rc\r\r\nd\r'`, "a\nb\nc\n\nd\n", "", 0},
		{"carriage return and line feed apart", `printf 'a\r';` + awaitSeen + `printf '\nb\n'`, "a\nb\n", "", 0},
		{"character in two parts", `printf '\303';` + awaitSeen + `printf '\244\n'`, "ä\n", "", 0},
		{"closed outputs", "exec >&- 2>&-;" + awaitSeen + "exit 4", "", "", 4},
		{"no such command", "no-such-command", "", "bash: line 1: no-such-command: command not found\n", 127},
		{"name and arguments", `echo "$0 $#"`, "bash 0\n", "", 0},
		{
			"called by its path", `IFS= read -r -d "" a </proc/$$/cmdline; [ "$a" = "$BASH" ] && echo path`, "path\n",
			"", 0,
		},
		{"own group", `read -r _ _ _ _ g _ </proc/$$/stat; [ $g = $$ ] && echo own`, "own\n", "", 0},
		{"a line of 100 letters", "echo " + long, long + "\n", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRunner(t)
			show(t, r, func(j *job) bool { return isRead(j) || j.streams[0].fd < 0 && j.streams[1].fd < 0 })
			res := do(t, r, shell(c.script))
			if res.Stdout != c.stdout || res.Stderr != c.stderr || res.ExitCode != c.exit {
				t.Errorf("got %q, %q, exit %d; want %q, %q, exit %d", res.Stdout, res.Stderr, res.ExitCode, c.stdout,
					c.stderr, c.exit)
			}
			if res.TimeoutKind != "" || res.Truncated || res.File != "" || res.Background != 0 || res.PeakRSS != 0 {
				t.Errorf("%+v", res)
			}
			if res.Bytes != int64(len(res.Stdout)) {
				t.Errorf("%d bytes, want %d", res.Bytes, len(res.Stdout))
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.Env = append(os.Environ(), "LOOPS_ACTION=outer/7/1", "LOOPS_STATE=outer", "PWD=/nowhere", "LOOPS_RUN_ID=outer",
		"LL_LOOP_RUN_ID=outer", "LOOPS_SCHEDULED_AT=outer", "KEPT=yes")
	a := shell("env | grep -E '^(LOOPS_|LL_LOOP|KEPT)' | sort; pwd")
	a.State, a.Step, a.Attempt = "build it", 3, 2
	want := "KEPT=yes\nLL_LOOP_RUN_ID=" + r.RunID + "\nLOOPS_ACTION=outer/7/1;" + r.Mark +
		"/3/2\nLOOPS_ATTEMPT=2\nLOOPS_RUN_DIR=" + r.RunDir +
		"\nLOOPS_RUN_ID=" + r.RunID + "\nLOOPS_STATE=build it\nLOOPS_STEP=3\n" + r.Dir + "\n"
	if res := do(t, r, a); res.Stdout != want {
		t.Errorf("got\n%swant\n%s", res.Stdout, want)
	}
	r.ScheduledAt = "2026-11-25T03:00:00+01:00"
	if res := do(t, r, a); !strings.Contains(res.Stdout, "\nLOOPS_SCHEDULED_AT="+r.ScheduledAt+"\n") {
		t.Errorf("of a run that a schedule started: %s", res.Stdout)
	}
}

// A script of any length sees what a short one sees.
func TestLongScript(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	const probe = "echo \"$0 $# $LINENO $-\"\ncat <<'X'\n  'quoted' $text\nX\n" +
		"echo \"$LINENO\"; : > /dev/fd/3 2>/dev/null || echo closed; " +
		"f() { echo \"$LINENO\"; }; f\ntrap 'echo bye' EXIT\n"
	short := do(t, r, shell(probe+"exit 5"))
	for _, n := range []int{longScript - 1, longScript, 128 << 10, 300 << 10, 3 << 20} {
		script := probe + "x='"
		script += strings.Repeat("0123456789abcde\n", (n-len(script)-10)/16)
		script += strings.Repeat("y", n-len(script)-len("'\nexit 5")) + "'\nexit 5"
		if len(script) != n {
			t.Fatalf("the script has %d bytes, not %d", len(script), n)
		}
		if res := do(t, r, shell(script)); res.Stdout != short.Stdout || res.Stderr != short.Stderr ||
			res.ExitCode != 5 {
			t.Errorf("%d bytes: got %q, %.200q, exit %d; want %q", n, res.Stdout, res.Stderr, res.ExitCode,
				short.Stdout)
		}
	}
	if want := "bash 0 1 hBc\n  'quoted' $text\n5\nclosed\n5\nbye\n"; short.Stdout != want {
		t.Errorf("the probe printed %q, want %q", short.Stdout, want)
	}
	// A script that took longer than showAfter leaves the empty folder of its standard error.
	_ = os.Remove(filepath.Join(r.RunDir, "output"))
	if left, err := os.ReadDir(r.RunDir); err != nil || len(left) != 0 {
		t.Errorf("left in the run's folder: %v, %v", left, err)
	}
}

func TestCannotBeAttempted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*Runner, *fsm.Action)
		want   string
	}{
		{"no bash", func(r *Runner, _ *fsm.Action) { r.Env = []string{"PATH=" + r.RunDir} }, "install bash"},
		{"no PATH", func(r *Runner, _ *fsm.Action) { r.Env = []string{} }, "install bash"},
		{"no directory", func(r *Runner, _ *fsm.Action) { r.Dir += "/gone" }, "/gone: no such file or directory"},
		{"a file as directory", func(r *Runner, _ *fsm.Action) { r.Dir = file }, "is not a directory"},
		{"zero byte", func(_ *Runner, a *fsm.Action) { a.Text = "echo a\x00b" }, "zero byte"},
		{"unknown kind", func(_ *Runner, a *fsm.Action) { a.Kind = fsm.KindContract }, `kind "contract"`},
		{"no place for a long script", func(r *Runner, a *fsm.Action) {
			r.RunDir += "/gone"
			a.Text = strings.Repeat("#\n", longScript)
		}, `script of state "a" cannot be written`},
		{"environment too long", func(r *Runner, _ *fsm.Action) {
			r.Env = append(os.Environ(), "X="+strings.Repeat("x", 1<<20))
		}, "too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, a := newRunner(t), shell("echo ran")
			c.change(r, &a)
			_, err := r.Run(context.Background(), a, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestBashThatMovedIsFoundAgain(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	one, two := t.TempDir(), t.TempDir()
	bash, err := lookPath("bash", os.Getenv("PATH"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{one, two} {
		if err := os.Symlink(bash, filepath.Join(dir, "bash")); err != nil {
			t.Fatal(err)
		}
	}
	r.Env = []string{"PATH=" + one + ":" + two}
	if res := do(t, r, shell("echo 1")); res.Stdout != "1\n" {
		t.Errorf("%+v", res)
	}
	if err := os.Remove(filepath.Join(one, "bash")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(context.Background(), shell("echo 2"), nil); err == nil ||
		!strings.Contains(err.Error(), "is gone") {
		t.Errorf("error %v", err)
	}
	if res := do(t, r, shell("echo 3")); res.Stdout != "3\n" {
		t.Errorf("%+v", res)
	}
}

func TestPeakMemory(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	// A grandchild holds 32 MB until that was seen.
	a := shell("(printf -v x %32000000s;" + awaitSeen + "); true")
	a.RSS = true
	show(t, r, func(j *job) bool { return j.peak > 30_000_000 })
	if res := do(t, r, a); res.PeakRSS < 30_000_000 || res.PeakRSS > 1<<30 {
		t.Errorf("peak of %d bytes", res.PeakRSS)
	}
}

func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	results := make(chan string)
	var printed atomic.Int64
	for i := range 8 {
		go func() {
			a := shell(fmt.Sprintf("echo %d;"+awaitSeen+"echo %d", i, i))
			a.Step = i
			res, err := r.Run(context.Background(), a, func(string) {
				if printed.Add(1) == 8 {
					write(t, r, "seen")
				}
			})
			results <- fmt.Sprint(res.Stdout == fmt.Sprintf("%d\n%d\n", i, i), err)
		}()
	}
	for range 8 {
		if got := <-results; got != "true <nil>" {
			t.Error(got)
		}
	}
}

func TestNoDescriptorsLeak(t *testing.T) {
	// Not parallel: the test counts the open files of the process.
	r := newRunner(t)
	count := func() int {
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(d)
	}
	do(t, r, shell("true"))
	before := count()
	for range 20 {
		do(t, r, shell("echo x; echo y >&2"))
		_, _ = r.Run(context.Background(), fsm.Action{Kind: fsm.KindShell, Text: "\x00"}, nil)
	}
	if after := count(); after > before {
		t.Errorf("%d open files before, %d after", before, after)
	}
}

// An action gets the descriptors any child gets, and none of those its runner works with.
func TestNoDescriptorIsPassedOn(t *testing.T) {
	t.Parallel()
	const script = "cd /proc/$$/fd; echo *"
	r := newRunner(t)
	do(t, r, shell("sleep 600 &")) // leaves a pipe open here
	c := exec.Command("bash", "-c", script)
	want, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	if res := do(t, r, shell(script)); res.Stdout != string(want) {
		t.Errorf("descriptors %q, want %q", res.Stdout, want)
	}
	end(t, r.alive(t, 1))
}

func TestNothingStartsAfterTheEnd(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	stop := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	if _, err := r.Run(ctx, shell("touch ran"), nil); !errors.Is(err, stop) {
		t.Errorf("ctx had ended: %v", err)
	}
	r.Force()
	if _, err := r.Run(context.Background(), shell("touch ran"), nil); err == nil {
		t.Error("ran after Force")
	}
	if exists(filepath.Join(r.Dir, "ran")) {
		t.Error("an action was started")
	}
}

func TestActionDiesWithItsRunner(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("ACTION_TEST_DIR"); dir != "" {
		r := &Runner{Dir: dir, Mark: "orphan"}
		_, _ = r.Run(context.Background(), shell("echo $$ > pid.new; mv pid.new pid; exec sleep 60"), nil)
		return
	}
	dir := t.TempDir()
	c, err := os.StartProcess(os.Args[0], []string{os.Args[0], "-test.run", "^" + t.Name() + "$"}, &os.ProcAttr{
		Env: append(os.Environ(), "ACTION_TEST_DIR="+dir),
	})
	if err != nil {
		t.Fatal(err)
	}
	testenv.Wait(t, "the action has started", func() bool { return exists(filepath.Join(dir, "pid")) })
	b, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(b), &pid); err != nil {
		t.Fatal(err)
	}
	if alive, _ := (process.Identity{PID: pid}).Alive(); !alive {
		t.Fatal("the action does not run")
	}
	if err := c.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	testenv.Wait(t, "the action is dead", func() bool {
		alive, _ := (process.Identity{PID: pid}).Alive()
		return !alive
	})
}
