package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The loop that is interrupted: actions, captures, messages, a decision, a wait, and sub-loops two deep. Its actions
// leave a file each, by opening it: they make none of the calls that are interfered with, but for one write of output.
const injectLoop = `name: inject
description: interrupted at every system call that writes
initial: a
backoff: 0.001
states:
  a: {action: ': > ran.a.$LOOPS_ATTEMPT; echo one', capture: a, append_to_messages: "a ${captured.a.output}", next: sub}
  sub: {loop: middle, with: {who: "${captured.a.output}"}, on_yes: choose, on_no: failed, on_error: failed}
  choose: {evaluate: {type: output_contains, source: "${captured.sub.inner.leaf.output}", pattern: "leaf one"}, on_yes: z, on_no: failed}
  z: {action: ': > ran.z.$LOOPS_ATTEMPT; echo ${captured.a.output}', capture: z, on_yes: done, on_no: failed, on_error: failed}
  done: {terminal: true}
  failed: {terminal: true}
`

const injectMiddle = `name: middle
description: runs another one
initial: m
parameters: {who: {type: string, required: true}}
states:
  m: {action: ': > ran.m.$LOOPS_ATTEMPT', next: inner}
  inner: {loop: leaf, context_passthrough: true, on_yes: done, on_no: failed, on_error: failed}
  done: {terminal: true}
  failed: {terminal: true}
`

const injectLeaf = `name: leaf
description: is run two deep
initial: l
states:
  l: {action: ': > ran.l.$LOOPS_ATTEMPT; echo leaf ${context.who}', capture: leaf, next: l2}
  l2: {action: ': > ran.l2.$LOOPS_ATTEMPT', next: done}
  done: {terminal: true}
`

func newInjectDir(t *testing.T) crashDir {
	t.Helper()
	d := crashDir{t.TempDir()}
	must(t, os.Mkdir(filepath.Join(d.cwd, ".loops"), 0o755))
	for name, text := range map[string]string{"inject": injectLoop, "middle": injectMiddle, "leaf": injectLeaf} {
		must(t, os.WriteFile(filepath.Join(d.cwd, ".loops", name+".yaml"), []byte(text), 0o644))
	}
	return d
}

// traced runs the program under strace, which does something to the n-th call of a kind in each thread, and returns its
// exit code, or minus the signal that ended it.
func (d crashDir) traced(t *testing.T, calls, what string, n int) float64 {
	t.Helper()
	bin := binary(t)
	cmd := exec.Command("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace="+calls, "-e", fmt.Sprintf("inject=%s:%s:when=%d", calls, what, n), bin, "run", "inject", "--quiet")
	cmd.Dir, cmd.Env = d.cwd, cleanEnv(bin, d.cwd)
	stderr := createFile(t, filepath.Join(d.cwd, "err"))
	defer stderr.Close()
	cmd.Stderr = stderr
	must(t, cmd.Start())
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // a run takes a second
	defer timer.Stop()
	_ = cmd.Wait() // how it ended is read from ProcessState
	return exitCode(cmd.ProcessState)
}

// checkInjected compares what a run left that was interrupted and went on with what an unbroken one leaves.
func (d crashDir) checkInjected(t *testing.T, want leftovers) {
	t.Helper()
	got := d.left(t)
	if diff := compareLeft(want, got); diff != "" {
		t.Errorf("%s\nfiles: %v\nevents:\n%s", diff, visible(d.cwd, ".loops/.running/*", ".loops/.history/*/*", "ran.*"), tail(got.events, 30))
	}
	// An action whose result is on record never ran again, and none ran three times.
	for _, name := range []string{"a", "m", "l", "l2", "z"} {
		if runs := visible(d.cwd, "ran."+name+".*"); len(runs) < 1 || len(runs) > 2 {
			t.Errorf("the action of %s left %v", name, runs)
		}
	}
}

// goOn resumes an interrupted run until it is done.
func (d crashDir) goOn(t *testing.T) {
	t.Helper()
	switch code := d.start(t, "resume", "inject", "--quiet").end(t, 0); code {
	case 0:
	case 4: // it was interrupted before anything was recorded, or after its end
		if code := d.start(t, "sweep").end(t, 0); code != 0 {
			t.Fatalf("sweep exits with %v: %s", code, readText(t, filepath.Join(d.cwd, "err")))
		}
		if lastState(t, d.cwd)["status"] == "completed" {
			return
		}
		if ran := visible(d.cwd, "ran.*"); len(ran) > 0 {
			t.Fatalf("there is nothing to resume, but actions ran: %v", ran)
		}
		if code := d.start(t, "run", "inject", "--quiet").end(t, 0); code != 0 {
			t.Fatalf("run exits with %v: %s", code, readText(t, filepath.Join(d.cwd, "err")))
		}
	default:
		t.Fatalf("resume exits with %v: %s", code, readText(t, filepath.Join(d.cwd, "err")))
	}
}

// TestInterruptedAtEveryWrite ends the real program, or refuses it what it asks of the disk, at one system call after the
// other: then the run is resumed, and what it leaves is compared with an unbroken one.
func TestInterruptedAtEveryWrite(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("SKIP: strace is not installed, so no run can be interrupted at a system call of choice")
	}
	whole := newInjectDir(t)
	if code := whole.start(t, "run", "inject", "--quiet").end(t, 0); code != 0 {
		t.Fatalf("the unbroken run exits with %v: %s", code, readText(t, filepath.Join(whole.cwd, "err")))
	}
	want := whole.left(t)

	const kill = "signal=SIGKILL"
	for _, c := range []struct {
		calls, what string
		first       int // the first write of a thread is also the only one of an action
	}{
		{"fdatasync,fsync", kill, 1},
		{"renameat2,renameat,linkat,unlinkat", kill, 1},
		{"write,pwrite64", kill, 2},
		{"fdatasync,fsync", "error=EIO", 1},
		{"renameat2,renameat,linkat", "error=ENOSPC", 1},
		{"write,pwrite64", "error=ENOSPC", 2},
	} {
		t.Run(strings.ReplaceAll(c.calls+" "+c.what, " ", "/"), func(t *testing.T) {
			t.Parallel()
			hit, missed := 0, 0
			for n := c.first; n < 400 && missed < 5; n++ { // calls are counted in each thread, and threads differ
				d := newInjectDir(t)
				code := d.traced(t, c.calls, c.what, n)
				text := readText(t, filepath.Join(d.cwd, "err"))
				switch {
				case code == 0 && strings.Contains(text, "could not be moved to the archive"):
					if code := d.start(t, "sweep").end(t, 0); code != 0 {
						t.Fatalf("call %d: sweep exits with %v: %s", n, code, readText(t, filepath.Join(d.cwd, "err")))
					}
				case code == 0:
				case code == -float64(syscall.SIGKILL) && c.what == kill:
				case code == 74 && c.what != kill && (strings.Contains(text, "Nothing recorded before is lost") || strings.Contains(text, "runs cannot be recorded")):
				case code == 74 && c.what != kill && text == "" && strings.Contains(c.calls, "write"): // its last words were refused
				case c.what != kill && strings.Contains(text, "runtime: "): // the Go runtime writes to wake its threads
				default:
					t.Fatalf("call %d: the program exits with %v: %s", n, code, text)
				}
				if code == 0 {
					missed++
				} else {
					hit++
					d.goOn(t)
				}
				d.checkInjected(t, want)
				if t.Failed() {
					t.Fatalf("at call %d, exit code %v: %s", n, code, text)
				}
			}
			if hit == 0 {
				t.Error("no call was interfered with")
			}
			t.Logf("%d runs were interrupted", hit)
		})
	}
}
