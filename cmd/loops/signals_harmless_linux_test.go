package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"

	"golang.org/x/sys/unix"
)

// waitLoop is a loop whose action ends when there is a file go.
const waitLoop = `name: wait
description: waits for a file
initial: wait
states:
  wait: {action: "echo $$ >> pids; until [ -e go ]; do sleep 0.02; done; echo gone on", next: done}
  done: {terminal: true}
`

// TestSignalsThatStopNothing: a run takes no harm from signals that are not meant to stop it: it runs to its end.
func TestSignalsThatStopNothing(t *testing.T) {
	t.Parallel()
	signals := map[string]syscall.Signal{
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "ALRM": syscall.SIGALRM, "PIPE": syscall.SIGPIPE,
		"CHLD": syscall.SIGCHLD,
		"URG":  syscall.SIGURG, "WINCH": syscall.SIGWINCH, "IO": syscall.SIGIO, "PROF": syscall.SIGPROF,
		"VTALRM": syscall.SIGVTALRM,
		"XCPU":   syscall.SIGXCPU, "XFSZ": syscall.SIGXFSZ, "TTIN": syscall.SIGTTIN, "TTOU": syscall.SIGTTOU,
		"CONT":            syscall.SIGCONT,
		"STOP, then CONT": syscall.SIGSTOP, "TSTP, then CONT": syscall.SIGTSTP, "PWR": syscall.SIGPWR,
		"a real-time signal": 40,
	}
	for name, sig := range signals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := slowRun{t, t.TempDir(), ""}
			must(t, os.Mkdir(filepath.Join(d.dir, ".loops"), 0o755))
			must(t, os.WriteFile(filepath.Join(d.dir, ".loops", "wait.yaml"), []byte(waitLoop), 0o644))
			run := d.start("run", "wait")
			if pids := d.pids(1, run.Ended); len(pids) != 1 {
				t.Fatalf("the run ended: %s", run.Said())
			}
			run.Signal(sig)
			if strings.Contains(name, "CONT") {
				// It need not stop where no process could let it continue.
				testenv.Within(20*time.Millisecond, func() bool {
					stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", run.Pid()))
					return strings.Contains(string(stat), ") T ")
				})
				run.Signal(syscall.SIGCONT)
			}
			must(t, os.WriteFile(filepath.Join(d.dir, "go"), nil, 0o644))
			if code := run.Exit(); code != 0 || !strings.Contains(run.Said(), "gone on") ||
				!strings.Contains(run.Said(), "Loop completed: done") {
				t.Errorf("exit code %d: %s", code, run.Said())
			}
		})
	}
}

// TestFileSizeLimit: where ulimit -f keeps a run from being recorded, that is what it says; nothing is lost.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	d := slowRun{t, t.TempDir(), ""}
	must(t, os.Mkdir(filepath.Join(d.dir, ".loops"), 0o755))
	loop := strings.Replace(waitLoop, "echo $$", "printf %60000s x; echo $$", 1)
	loop = strings.Replace(loop, "next: done}", "next: wait}", 1)
	must(t, os.WriteFile(filepath.Join(d.dir, ".loops", "wait.yaml"), []byte(loop), 0o644))
	must(t, os.WriteFile(filepath.Join(d.dir, "go"), nil, 0o644))
	run := d.start("run", "wait")
	must(t, unix.Prlimit(run.Pid(), unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 200 << 10, Max: 200 << 10}, nil))
	if code := run.Exit(); code != 74 || !strings.Contains(run.Said(), "file too large") ||
		!strings.Contains(run.Said(), "loops resume wait-") {
		t.Errorf("exit code %d: %s", code, run.Said())
	}
	if code := d.start("resume", "wait", "-n", "50").Exit(); code != 5 {
		t.Errorf("resumed: exit code %d", code)
	}
}
