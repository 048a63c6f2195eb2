package main_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

// heldLoop is a loop whose action holds flock on the file acting as long as it lives, which every PID namespace of the
// machine sees alike. It notes where it finds another one at work.
const heldLoop = `name: held
description: an action that says nothing and does not end
initial: work
states:
  work:
    action: |
      exec 9>>acting
      flock -n 9 || { echo two at once >> doubled; exit 1; }
      echo began >> begun
      exec sleep 600
    next: done
  done: {terminal: true}
`

// A world is where a program can be run so that it sees other processes, or the same ones otherwise.
type world struct {
	name    string
	command []string // that runs another command there; with its end, the processes there end
	sees    bool     // the processes outside, and they its
	away    bool     // it is taken for another machine
}

// otherBoot runs a command as it would find things on another machine with the same name.
const otherBoot = `echo 11111111-2222-3333-4444-555555555555 > boot &&
	mount --bind boot /proc/sys/kernel/random/boot_id && exec "$@"`

var worlds = []world{
	{name: "outside", sees: true},
	{name: "pid", command: []string{"unshare", "-pf", "--mount-proc", "--kill-child"}},
	{name: "pid without proc", command: []string{"unshare", "-pf", "--kill-child"}},
	{name: "time", command: []string{"unshare", "-T", "--boottime", "100000"}, sees: true},
	{name: "host", command: []string{"unshare", "-u", "sh", "-c", `hostname elsewhere && exec "$@"`, "sh"}},
	{name: "machine", command: []string{
		"unshare", "-pfm", "--mount-proc", "--kill-child", "sh", "-c", otherBoot,
		"sh",
	}, away: true},
	{name: "bwrap", command: []string{
		"bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc",
		"--die-with-parent",
	}},
}

// in runs the program in a world.
func (d slowRun) in(w world, args ...string) *testenv.Process {
	d.t.Helper()
	words := append(append(append([]string{}, w.command...), binary(d.t)), args...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // a test that is killed leaves none
	return d.startWith(cmd)
}

// acts reports whether an action is at work.
func (d slowRun) acts() bool {
	f, err := os.Open(filepath.Join(d.dir, "acting"))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// begun waits until n actions have begun, or the program has ended, and reports whether they have.
func (d slowRun) begun(n int, s *testenv.Process) bool {
	d.t.Helper()
	begun := false
	if !testenv.Within(testenv.Patience, func() bool {
		ended := s.Ended()
		b, _ := os.ReadFile(filepath.Join(d.dir, "begun"))
		begun = strings.Count(string(b), "\n") >= n
		return begun || ended
	}) {
		d.t.Fatalf("%d actions do not begin: %s", n, s.Said())
	}
	return begun
}

func newHeld(t *testing.T, store string) slowRun {
	t.Helper()
	d := slowRun{t, t.TempDir(), store}
	must(t, os.Mkdir(filepath.Join(d.dir, ".loops"), 0o755))
	must(t, os.WriteFile(filepath.Join(d.dir, ".loops", "held.yaml"), []byte(heldLoop), 0o644))
	t.Cleanup(func() {
		if b, err := os.ReadFile(filepath.Join(d.dir, "doubled")); err == nil {
			t.Errorf("actions were at work at once: %s", b)
		}
	})
	return d
}

// namespaceStores are the stores with leases that are over soon after their owner died.
func namespaceStores(t *testing.T) map[string]func() string {
	server := startPostgres(t)
	var schemas atomic.Int64
	return map[string]func() string{
		"dir":      func() string { return "dir" },
		"sqlite":   func() string { return "sqlite:runs.db?lease=3s" },
		"postgres": func() string { return leased(server.URL(fmt.Sprintf("n%d", schemas.Add(1)))) },
	}
}

func leased(url string) string {
	if strings.Contains(url, "?") {
		return url + "&lease=3s"
	}
	return url + "?lease=3s"
}

// TestNamespaces: a live run was declared dead, and its action killed or begun again, by a program that could not see
// its owner: in another PID namespace, such as a container, in a time namespace, on another machine of the same name.
// And stop reported that it had killed such an owner, by a pid that no process has here. `make torture` tries each
// pair of worlds on each store; otherwise a pair is tried on one.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	testenv.Namespaces(t)
	testenv.Command(t, "bwrap")
	locations := namespaceStores(t)
	for k, store := range []string{"dir", "sqlite", "postgres"} {
		location := locations[store]
		for i, w := range worlds {
			if i == 0 {
				continue
			}
			for j, c := range []struct{ owner, other world }{{w, worlds[0]}, {worlds[0], w}} {
				if c.owner.away && store == "dir" {
					// an owner of another kernel, whose locks this one knows all the same: there is no such
					// machine
					continue
				}
				if (i+j)%3 != k && !*torture {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s from %s", store, c.owner.name, c.other.name), func(t *testing.T) {
					t.Parallel()
					watchFrom(newHeld(t, location()), c.owner, c.other)
				})
			}
		}
	}
}

// watchFrom has a run in one world looked at, stopped and taken over from another one.
func watchFrom(d slowRun, there, here world) {
	d.t.Helper()
	owner := d.in(there, "run", "held", "--quiet")
	if !d.begun(1, owner) {
		d.t.Fatalf("run exits with %d: %s", owner.Exit(), owner.Said())
	}
	if s := d.in(here, "sweep"); s.Exit() != 0 || s.Said() != "Nothing to tidy up.\n" {
		d.t.Errorf("sweep exits with %d: %s", s.Exit(), s.Said())
	}
	if s := d.in(here, "resume", "held", "--quiet"); s.Exit() != 9 {
		d.t.Errorf("resume exits with %d: %s", s.Exit(), s.Said())
	}
	if s := d.in(here, "status", "held", "--json"); !strings.Contains(s.Output(), `"status": "running"`) {
		d.t.Errorf("status says %s", s.Said())
	}
	begun := 1
	if !there.sees || !here.sees {
		d.commanded(owner, here)
		begun++
		if owner = d.in(there, "resume", "held", "--quiet"); !d.begun(begun, owner) {
			d.t.Fatalf("resume exits with %d: %s", owner.Exit(), owner.Said())
		}
	}
	if !d.acts() || owner.Ended() {
		d.t.Fatalf("the run was ended: %s", owner.Said())
	}
	if there.sees && here.sees {
		if s := d.in(here, "stop", "held"); s.Exit() != 0 || owner.Exit() != 143 {
			d.t.Errorf("stop exits with %d: %s; the run with %d: %s", s.Exit(), s.Said(), owner.Exit(), owner.Said())
		}
	} else {
		owner.Signal(syscall.SIGKILL)
	}
	<-owner.Done()
	// Once it is dead the lock is free, and the lease runs out.
	var next *testenv.Process
	testenv.Wait(d.t, "a resume that takes the run over", func() bool {
		if next = d.in(here, "resume", "held", "--quiet"); d.begun(begun+1, next) {
			return true
		}
		if next.Exit() != 9 {
			d.t.Fatalf("resume exits with %d: %s", next.Exit(), next.Said())
		}
		return false
	})
	if !d.acts() {
		d.t.Errorf("resume says %s", next.Said())
	}
}

// commanded has a run, whose owner cannot be seen, paused, let continue and stopped.
func (d slowRun) commanded(owner *testenv.Process, here world) {
	d.t.Helper()
	for _, c := range []struct{ verb, says string }{
		{"pause", "is in state work and pauses before its next one."},
		{"unpause", " is running."},
		{"stop", " in state work. Resume with: loops resume held-"},
	} {
		if s := d.in(here, c.verb, "held"); s.Exit() != 0 || !strings.Contains(s.Said(), c.says) {
			d.t.Errorf("%s exits with %d: %s", c.verb, s.Exit(), s.Said())
		}
	}
	if owner.Exit() != 143 || d.acts() {
		d.t.Errorf("the run that was stopped exits with %d: %s", owner.Exit(), owner.Said())
	}
}

// TestNamespacesAtOnce: runners in all kinds of namespaces are killed, and others, elsewhere, sweep and resume
// at once. No two copies of the action are ever at work. `make torture` does it more often.
func TestNamespacesAtOnce(t *testing.T) {
	t.Parallel()
	testenv.Namespaces(t)
	testenv.Command(t, "bwrap")
	rounds := 1
	if *torture {
		rounds = 40
	}
	for store, location := range namespaceStores(t) {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			d := newHeld(t, location())
			local := worlds
			if store == "dir" { // a file system keeps the locks of one kernel
				local = worlds[:5]
			}
			owner := d.in(worlds[0], "run", "held", "--quiet")
			if !d.begun(1, owner) {
				t.Fatalf("run exits with %d: %s", owner.Exit(), owner.Said())
			}
			for round := 1; round <= rounds; round++ {
				if rand.IntN(4) > 0 {
					owner.Signal(syscall.SIGKILL)
					<-owner.Done()
				}
				pick := func() world { return local[rand.IntN(len(local))] }
				owner = d.takeOver(owner, round+1, pick)
			}
		})
	}
}

// takeOver has three programs in worlds of their own take a run over until one does, which it returns; a last
// owner that lives keeps it, and is killed then.
func (d slowRun) takeOver(last *testenv.Process, n int, pick func() world) *testenv.Process {
	d.t.Helper()
	try := 0
	var owner *testenv.Process
	testenv.Wait(d.t, "a program that takes the run over", func() bool {
		if try++; try == 3 && !last.Ended() {
			last.Signal(syscall.SIGKILL)
			<-last.Done()
		}
		sweep := d.in(pick(), "sweep")
		two := []*testenv.Process{d.in(pick(), "resume", "held", "--quiet"), d.in(pick(), "resume", "held", "--quiet")}
		if code := sweep.Exit(); code != 0 {
			d.t.Errorf("sweep exits with %d: %s", code, sweep.Said())
		}
		for _, s := range two {
			if d.begun(n, s) && !s.Ended() {
				owner = d.theOne(two)
				return true
			}
			if code := s.Exit(); code != 9 && code != 4 {
				d.t.Fatalf("resume exits with %d: %s", code, s.Said())
			}
		}
		return false
	})
	return owner
}

// theOne waits until one of two has ended, and returns the other.
func (d slowRun) theOne(two []*testenv.Process) *testenv.Process {
	d.t.Helper()
	select {
	case <-two[0].Done():
		return two[1]
	case <-two[1].Done():
		return two[0]
	case <-time.After(testenv.Patience):
		d.t.Fatalf("both go on: %s; %s", two[0].Said(), two[1].Said())
		return nil
	}
}
