package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"

	"github.com/creack/pty"
	"github.com/gdamore/tcell/v3/vt"
	"golang.org/x/term"
)

// ticking goes round until it is stopped. Its output would clear the screen, if it came there as it is.
const ticking = `name: tick
description: goes round
initial: work
max_steps: 100000
max_edge_revisits: 100000
scope: [one]
states:
  work: {action: "printf 'said \\033[2J\\033]0;evil\\007this\\n'; sleep 0.1", next: rest}
  rest: {action: sleep 0.1, next: work}
  done: {terminal: true}
`

var watchColours = regexp.MustCompile("\x1b\\[([0-9;:]*;)?[34][0-8]([;:][0-9;:]*)?m")

// A watching is loops watch on a terminal of its own, whose screen is read back through an emulator.
type watching struct {
	t     *testing.T
	dir   string
	env   []string
	cmd   *exec.Cmd
	near  *os.File // the side of the program
	far   *os.File
	modes *term.State // of the terminal before

	mu     sync.Mutex
	screen vt.MockTerm // guarded by mu
	raw    strings.Builder
	deaf   atomic.Bool   // nothing is read
	ended  chan struct{} // closed when it has
}

// watchProject makes a project and starts a run in the background for each loop.
func watchProject(t *testing.T, store string, loops ...string) (dir string, env []string) {
	t.Helper()
	bin := binary(t)
	dir = filepath.Join(t.TempDir(), "shop")
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	for _, kv := range cleanEnv(bin, dir) {
		if !strings.HasPrefix(kv, "TERM=") {
			env = append(env, kv)
		}
	}
	env = append(env, "LOOPS_STORE="+store)
	for i, text := range loops {
		name := strings.Fields(text)[1]
		must(t, os.WriteFile(filepath.Join(dir, ".loops", name+".yaml"), []byte(text), 0o644))
		loopsIn(t, dir, env, "run", "-b", name)
		if i == 0 {
			t.Cleanup(func() {
				cmd := exec.Command(bin, "stop", "--all")
				cmd.Dir, cmd.Env = dir, env
				_ = cmd.Run() // mostly all have been stopped
			})
		}
	}
	return dir, env
}

func startWatch(t *testing.T, dir string, env []string, rows, cols uint16, args ...string) *watching {
	t.Helper()
	return startOnTerminal(t, dir, env, rows, cols, binary(t), append([]string{"watch"}, args...)...)
}

// startOnTerminal starts any program on a terminal of its own.
func startOnTerminal(t *testing.T, dir string, env []string, rows, cols uint16, program string,
	args ...string,
) *watching {
	t.Helper()
	far, near, err := pty.Open()
	must(t, err)
	must(t, pty.Setsize(near, &pty.Winsize{Rows: rows, Cols: cols}))
	w := &watching{t: t, dir: dir, env: env, near: near, far: far, ended: make(chan struct{})}
	w.modes, err = term.GetState(int(near.Fd()))
	must(t, err)
	w.screen = vt.NewMockTerm(vt.MockOptSize{X: vt.Col(cols), Y: vt.Row(rows)})
	must(t, w.screen.Start())
	w.cmd = exec.Command(program, args...)
	w.cmd.Dir, w.cmd.Env = dir, append([]string{"TERM=xterm"}, env...)
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = near, near, near
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(t, w.cmd.Start())
	go func() {
		_ = w.cmd.Wait() // its exit code is looked at
		close(w.ended)
	}()
	go func() {
		buf := make([]byte, 4096)
		for {
			testenv.Within(10*time.Minute, func() bool { return !w.deaf.Load() })
			n, err := far.Read(buf)
			w.mu.Lock()
			w.raw.Write(buf[:n])
			_, _ = w.screen.Write(buf[:n])
			w.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // mostly it has ended
		w.deaf.Store(false)
		_ = near.Close()
		_ = far.Close()
	})
	return w
}

// lines is what the terminal shows.
func (w *watching) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	size, err := w.screen.WindowSize()
	must(w.t, err)
	var out []string
	for y := range size.Height {
		var b strings.Builder
		for x := range size.Width {
			c := w.screen.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)}).C
			if c == "" {
				c = " "
			}
			b.WriteString(c)
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	return out
}

// see waits until the terminal shows a text.
func (w *watching) see(text string) {
	w.t.Helper()
	w.until("the terminal shows "+text, func() bool { return strings.Contains(strings.Join(w.lines(), "\n"), text) })
}

func (w *watching) until(what string, holds func() bool) {
	w.t.Helper()
	if !testenv.Within(testenv.Patience, holds) {
		w.t.Fatalf("it never came about that %s:\n%s\n%s", what, strings.Join(w.lines(), "\n"), w.abort())
	}
}

// abort ends the program and returns what it wrote last, with its goroutines.
func (w *watching) abort() string {
	const last = 20_000
	_ = w.cmd.Process.Signal(syscall.SIGABRT)
	testenv.Within(10*time.Second, func() bool {
		select {
		case <-w.ended:
			return true
		default:
			return false
		}
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	raw := w.raw.String()
	return fmt.Sprintf("it wrote:\n%q", raw[max(0, len(raw)-last):])
}

func (w *watching) press(keys string) {
	w.t.Helper()
	_, err := w.far.WriteString(keys)
	must(w.t, err)
}

// end waits for the end of the program, and wants that exit code and the terminal as it was.
func (w *watching) end(code int) {
	w.t.Helper()
	select {
	case <-w.ended:
	case <-time.After(testenv.Patience):
		w.t.Fatalf("it does not end:\n%s", strings.Join(w.lines(), "\n"))
	}
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("exit code %d, want %d:\n%s", got, code, strings.Join(w.lines(), "\n"))
	}
	after, err := term.GetState(int(w.near.Fd()))
	must(w.t, err)
	if !reflect.DeepEqual(after, w.modes) {
		w.t.Errorf("the terminal has other modes than before: %+v, want %+v", after, w.modes)
	}
	w.until("the screen is the one it was", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		raw := w.raw.String()
		return strings.LastIndex(raw, "\x1b[?1049l") > strings.LastIndex(raw, "\x1b[?1049h") &&
			strings.LastIndex(raw, "\x1b[?25h") > strings.LastIndex(raw, "\x1b[?25l")
	})
}

// TestWatchKeys shows a run, and pauses, unpauses and stops it.
func TestWatchKeys(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"dir", "sqlite:.loops/runs.db"} {
		t.Run(strings.SplitN(store, ":", 2)[0], func(t *testing.T) {
			t.Parallel()
			watchKeys(t, store)
		})
	}
}

func watchKeys(t *testing.T, store string) {
	dir, env := watchProject(t, store, ticking)
	w := startWatch(t, dir, env, 24, 100)
	w.see("1 active run")
	w.see("▸▶ tick-")
	w.see("● ▶ work")
	w.see(`said \x1b[2J\x1b]0;evil\athis`)
	w.see("3×")
	w.press("p")
	w.see("Paused tick-")
	w.see("‖ tick-")
	w.press("u")
	w.see("is running.")
	w.see("▸▶ tick-")
	w.press("s")
	w.see("Stop tick-")
	w.press("n")
	w.see("Nothing was stopped.")
	w.press("sy")
	w.see("Stopped tick-")
	w.see("stopped by a user")
	w.see("no active runs, 1 ended")
	w.press("s")
	w.see("✗ Cannot stop run tick-")
	w.press("?")
	w.see("What the keys do")
	w.press("x")
	w.see("! tick-")
	w.press("q")
	w.end(0)
	if strings.Contains(w.raw.String(), "\x1b]0;") {
		t.Error("what a run wrote came to the terminal as it is")
	}
	if out := loopsIn(t, dir, env, "history", "tick"); !strings.Contains(out, "stopped by a user") {
		t.Errorf("the run was not stopped:\n%s", out)
	}
}

// TestWatchSignals wants the terminal back whatever ends watch, and the run unharmed.
func TestWatchSignals(t *testing.T) {
	t.Parallel()
	dir, env := watchProject(t, "dir", ticking)
	for _, c := range []struct {
		name string
		end  func(w *watching)
		code int
	}{
		{"SIGTERM", func(w *watching) { must(t, w.cmd.Process.Signal(syscall.SIGTERM)) }, 143},
		{"SIGHUP", func(w *watching) { must(t, w.cmd.Process.Signal(syscall.SIGHUP)) }, 129},
		{"Ctrl-C", func(w *watching) { w.press("\x03") }, 0},
		{"q in a zoomed pane", func(w *watching) { w.press("2\rq") }, 0},
	} {
		w := startWatch(t, dir, env, 24, 80, "tick")
		w.see("▸▶ tick-")
		c.end(w)
		w.end(c.code)
	}
	if out := loopsIn(t, dir, env, "status", "tick"); !strings.Contains(out, "running") {
		t.Errorf("the run does not go on:\n%s", out)
	}
}

// TestWatchHangs wants watch to end on a terminal that takes nothing any more, and its modes as they were.
func TestWatchHangs(t *testing.T) {
	t.Parallel()
	dir, env := watchProject(t, "dir", ticking)
	w := startWatch(t, dir, env, 60, 200)
	w.see("▸▶ tick-")
	w.deaf.Store(true)
	w.press(strings.Repeat("\x0c", 400)) // each draws all of it again
	testenv.Wait(t, "a terminal that is full", func() bool { return isFull(t, w.near) })
	must(t, w.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-w.ended:
	case <-time.After(testenv.Patience):
		t.Fatal("it does not end")
	}
	if code := w.cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
	after, err := term.GetState(int(w.near.Fd()))
	must(t, err)
	if !reflect.DeepEqual(after, w.modes) {
		t.Errorf("the terminal has other modes than before: %+v, want %+v", after, w.modes)
	}
}

// TestWatchAppears wants a run that begins while watch is running, another size, and Ctrl-Z to do no harm.
func TestWatchAppears(t *testing.T) {
	t.Parallel()
	dir, env := watchProject(t, "dir")
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "tick.yaml"), []byte(ticking), 0o644))
	other := strings.NewReplacer("tick", "tock", "[one]", "[two]").Replace(ticking)
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "tock.yaml"), []byte(other), 0o644))
	w := startWatch(t, dir, env, 24, 80)
	w.see("No active runs.")
	t.Cleanup(func() {
		cmd := exec.Command(binary(t), "stop", "--all")
		cmd.Dir, cmd.Env = dir, env
		_ = cmd.Run()
	})
	loopsIn(t, dir, env, "run", "-b", "tick")
	w.see("▸▶ tick-")
	loopsIn(t, dir, env, "run", "-b", "tock")
	w.see(" ▶ tock-")
	w.press("/tock\r")
	w.see("▸▶ tock-")
	w.see("Log tock-")
	w.mu.Lock()
	w.screen.SetSize(vt.Coord{X: 40, Y: 16})
	w.mu.Unlock()
	must(t, pty.Setsize(w.near, &pty.Winsize{Rows: 16, Cols: 40}))
	w.until("the last of 16 lines names the keys", func() bool {
		lines := w.lines()
		return len(lines) == 16 && strings.HasPrefix(lines[15], "? help") &&
			!strings.Contains(strings.Join(lines, "\n"), "Log tock-")
	})
	took := 1
	for _, stop := range []func(){
		func() { w.press("\x1a") },
		func() { must(t, w.cmd.Process.Signal(syscall.SIGTSTP)) }, // as from a shell, or kill -TSTP
		func() { must(t, w.cmd.Process.Signal(syscall.SIGCONT)) }, // after kill -STOP, which cannot be seen
	} {
		stop() // no process could let it continue, so it is not stopped
		took++
		w.until("it has given the terminal back, and has it again", func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return strings.Count(w.raw.String(), "\x1b[?1049h") == took
		})
		w.see("▸▶ tock-")
	}
	w.press("q")
	w.end(0)
}

// TestWatchJobs wants Ctrl-Z and SIGTSTP to stop watch, so that the shell has the terminal, and fg to show the
// screen again.
func TestWatchJobs(t *testing.T) {
	t.Parallel()
	dir, env := watchProject(t, "dir", ticking)
	for name, stop := range map[string]func(*watching){
		"Ctrl-Z": func(w *watching) { w.press("\x1a") },
		"SIGTSTP": func(w *watching) {
			text, err := os.ReadFile(filepath.Join(dir, "pid"))
			must(t, err)
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			must(t, err)
			must(t, syscall.Kill(pid, syscall.SIGTSTP))
		},
	} {
		const script = `sh -c 'echo $$ >pid; exec "$0" watch' "$0"; echo was stopped; stty -a | grep -o ' icanon'; fg`
		w := startOnTerminal(t, dir, env, 24, 80, "bash", "-mc", script, binary(t))
		w.see("▸▶ tick-")
		stop(w)
		w.until(name+" gives the terminal to the shell", func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return strings.Contains(w.raw.String(), "was stopped\r\n icanon")
		})
		w.see("▸▶ tick-")
		w.press("q")
		w.end(0)
	}
}

// TestWatchPagerStopped wants Ctrl-Z in a pager to stop it and watch, fg to bring the pager back, and the end
// of that the screen.
func TestWatchPagerStopped(t *testing.T) {
	t.Parallel()
	dir, env := watchProject(t, "dir", ticking)
	pager := "#!/bin/bash\ncat >/dev/null\necho a page\nread -r line </dev/tty\necho \"left by $line\" >left\n"
	must(t, os.WriteFile(filepath.Join(dir, "pager"), []byte(pager), 0o755))
	const script = `"$0" watch; echo was stopped; stty -a | grep -o ' icanon'; fg`
	w := startOnTerminal(t, dir, append(env, "PAGER=./pager"), 24, 80, "bash", "-mc", script, binary(t))
	w.see("▸▶ tick-")
	w.press("L")
	w.see("a page")
	w.press("\x1a")
	wrote := func(text string) func() bool {
		return func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return strings.Contains(w.raw.String(), text)
		}
	}
	w.until("the shell has the terminal", wrote("was stopped\r\n icanon"))
	w.press("fg\n") // what the pager reads, once it is back
	w.until("the pager has the terminal again", func() bool {
		b, _ := os.ReadFile(filepath.Join(dir, "left"))
		return string(b) == "left by fg\n"
	})
	w.see("▸▶ tick-")
	w.press("q")
	w.end(0)
}

// TestWatchQueue wants what waits in the queue to be shown, with what it waits for, until its run begins.
func TestWatchQueue(t *testing.T) {
	t.Parallel()
	dir, env := watchProject(t, "dir", ticking)
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "tock.yaml"),
		[]byte(strings.ReplaceAll(ticking, "tick", "tock")), 0o644))
	loopsIn(t, dir, env, "run", "-b", "tock", "--queue")
	if out := loopsIn(t, dir, env, "watch",
		"--once"); !regexp.MustCompile(`(?m)  tock [0-9a-f]{8}  queued .*  waits for `).MatchString(out) {
		t.Errorf("who waits is not printed:\n%s", out)
	}
	w := startWatch(t, dir, env, 24, 100, "tock")
	w.see("1 active run, 1 queued")
	w.see("▸~ tock ")
	w.see("~ waits for one, which run tick-")
	w.see("▶ work")
	w.press("s")
	w.see("✗ Cannot stop tock ")
	w.press("k")
	w.see("▸▶ tick-")
	w.press("sy")
	w.see("▶ tock-")
	w.see("1 active run, 1 ended")
	w.press("q")
	w.end(0)
}

// TestWatchColours wants colours where they are not refused.
func TestWatchColours(t *testing.T) {
	t.Parallel()
	dir, env := watchProject(t, "dir", ticking)
	w := startWatch(t, dir, append(env, "NO_COLOR="), 24, 80)
	w.see("▸▶ tick-")
	w.press("q")
	w.end(0)
	if !watchColours.MatchString(w.raw.String()) {
		t.Error("no colours")
	}
}

// TestWatchASCII wants nothing but ASCII where the locale has nothing else, and no colours where they are not wanted.
func TestWatchASCII(t *testing.T) {
	t.Parallel()
	dir, env := watchProject(t, "dir", ticking)
	w := startWatch(t, dir, append(env, "LC_ALL=C"), 24, 80)
	w.see(">> tick-")
	w.see("* > work")
	w.press("q")
	w.end(0)
	raw := w.raw.String()
	for _, r := range raw {
		if r > 0x7e {
			t.Fatalf("%q is not ASCII", r)
		}
	}
	if found := watchColours.FindString(raw); found != "" {
		t.Errorf("colours in spite of NO_COLOR: %q", found)
	}
}

// TestWatchDumb wants lines on a terminal that can do no more.
func TestWatchDumb(t *testing.T) {
	t.Parallel()
	dir, env := watchProject(t, "dir", ticking)
	w := startWatch(t, dir, append(env, "TERM=dumb"), 24, 80)
	w.see("  running      ")
	must(t, w.cmd.Process.Signal(os.Interrupt))
	select {
	case <-w.ended:
	case <-time.After(testenv.Patience):
		t.Fatal("it does not end")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if raw := w.raw.String(); w.cmd.ProcessState.ExitCode() != 130 || strings.Contains(raw, "\x1b") {
		t.Errorf("exit code %d, want 130, and no escape sequences in %q", w.cmd.ProcessState.ExitCode(), raw)
	}
}
