package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"loops/internal/process"
	"loops/internal/testenv"
)

// daemon leaves the group and the session of an action and clears its environment. It writes its pid to a file.
const daemon = `env -i setsid bash -c 'echo $$ > daemon.new; mv daemon.new daemon; exec sleep 600' >/dev/null 2>&1 & until [ -e daemon ]; do sleep 0.01; done; `

// grouped is a Runner whose actions run in control groups.
func grouped(t *testing.T) *Runner {
	t.Helper()
	g, err := process.NewCgroup()
	testenv.ControlGroup(t, err)
	g.Close()
	return newRunner(t)
}

// confined is grouped for actions that leave a daemon, which is ended with the test.
func confined(t *testing.T) *Runner {
	t.Helper()
	r := grouped(t)
	t.Cleanup(func() {
		pid := daemonOf(t, r)
		_ = syscall.Kill(pid, syscall.SIGKILL)
		// the check that nothing is left comes next
		testenv.Wait(t, "the end of the daemon", func() bool { return !isLive(pid) })
	})
	return r
}

// daemonOf returns the process of the daemon.
func daemonOf(t *testing.T, r *Runner) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.Dir, "daemon"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 2 {
		t.Fatalf("%q, %v", b, err)
	}
	return pid
}

// isLive reports whether a process is there and no zombie.
func isLive(pid int) bool {
	alive, _ := process.Identity{PID: pid}.Alive()
	return alive
}

// TestDaemonWithAClearedEnvironment: a timeout or a stop ends a daemon that left the group and the session of
// the action and cleared its environment. One that an action left when it ended by itself keeps running.
func TestDaemonWithAClearedEnvironment(t *testing.T) {
	t.Parallel()
	t.Run("timeout", func(t *testing.T) {
		r := confined(t)
		a := shell(daemon + reached + "sleep 600")
		a.Timeout = later
		expire(t, r)
		if res := do(t, r, a); res.TimeoutKind != "wall" {
			t.Errorf("%+v", res)
		}
		if pid := daemonOf(t, r); isLive(pid) {
			t.Error("the daemon runs")
		}
	})
	t.Run("TERM ignored", func(t *testing.T) {
		r := confined(t)
		r.Grace = short
		a := shell(strings.Replace(daemon, "echo $$", `trap "" TERM; echo $$`, 1) + reached + "sleep 600")
		a.Timeout = later
		expire(t, r)
		do(t, r, a)
		if pid := daemonOf(t, r); isLive(pid) {
			t.Error("the daemon runs")
		}
	})
	t.Run("stop", func(t *testing.T) {
		r := confined(t)
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		if _, err := r.Run(ctx, shell(daemon+"echo started; sleep 600"), func(string) { stop() }); err != nil {
			t.Error(err)
		}
		if pid := daemonOf(t, r); isLive(pid) {
			t.Error("the daemon runs")
		}
	})
	t.Run("normal end", func(t *testing.T) {
		r := confined(t)
		if res := do(t, r, shell(daemon)); res.ExitCode != 0 || res.Background < 1 { // its mv may not have ended yet
			t.Errorf("%+v", res)
		}
		// The next action is in another group, whose end is nothing to the daemon.
		a := shell("sleep 600")
		a.Step, a.Timeout = 2, time.Millisecond
		do(t, r, a)
		pid := daemonOf(t, r)
		if !isLive(pid) {
			t.Error("the daemon was ended")
		}
		// By the marker of its own action it is found for as long as it lives.
		if found := r.alive(t, 1); len(found) != 1 || found[0].PID != pid {
			t.Errorf("found %v, want %d", found, pid)
		}
		if marks, err := process.Marks(Variable); err != nil || !marks[r.marker(shell(""))] {
			t.Errorf("%v, %v", marks, err)
		}
	})
}

// TestControlGroupsGo: what a Runner made is gone when it is closed, or when the daemon in it has ended.
func TestControlGroupsGo(t *testing.T) {
	t.Parallel()
	r := confined(t)
	do(t, r, shell("true"))
	first := r.spare[0].group
	do(t, r, shell("true"))
	if first == nil || r.spare[0].group != first {
		t.Error("the control group was not used again")
	}
	do(t, r, shell(daemon))
	do(t, r, shell("true"))
	if r.spare[0].group == first || len(r.crowded) != 1 || r.crowded[0] != first {
		t.Error("the control group with a daemon was used again")
	}
	second := r.spare[0].group
	r.unconfine(r.spare...)
	if first.Remove() || !second.Remove() {
		t.Error("the control group with the daemon is gone, or the other is not")
	}
	if err := syscall.Kill(daemonOf(t, r), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	testenv.Wait(t, "the control group can be removed", first.Remove)
}

// TestControlGroupsOfActionsSideBySide: each of two actions that ran at once left its control group to the next two.
func TestControlGroupsOfActionsSideBySide(t *testing.T) {
	t.Parallel()
	r := grouped(t)
	var first []*process.Cgroup
	for range 3 {
		var wg sync.WaitGroup
		for _, text := range []string{
			"touch a; until [ -e b ]; do sleep 0.01; done",
			"touch b; until [ -e a ]; do sleep 0.01; done",
		} {
			a := shell(text)
			a.Timeout = time.Minute
			wg.Go(func() {
				if res, err := r.Run(context.Background(), a, nil); err != nil || res.ExitCode != 0 {
					t.Errorf("%+v, %v", res, err)
				}
			})
		}
		wg.Wait()
		do(t, r, shell("rm a b"))
		var now []*process.Cgroup
		for _, s := range r.spare {
			now = append(now, s.group)
		}
		if first == nil {
			first = now
		}
		if len(now) != 2 || !slices.Contains(first, now[0]) || !slices.Contains(first, now[1]) {
			t.Fatalf("the control groups are %v, and were %v", now, first)
		}
	}
}

// TestNoControlGroups: where there are none, or a process cannot be started in them, actions run all the same, and the
// program is asked to adopt once.
func TestNoControlGroups(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	asked := 0
	r.Adopt = func() error { asked++; return errors.New("no") }
	r.adopt()
	for range 2 {
		if res := do(t, r, shell("echo x")); res.Stdout != "x\n" {
			t.Errorf("%+v", res)
		}
	}
	if asked != 1 || r.spare[0].group != nil {
		t.Errorf("asked %d times", asked)
	}
}

// TestActionsSideBySideKeepTheirExitCodes: without control groups, one of several actions that ended at once
// took another's process for an orphan and waited for it. That one counted as exit code 0, so an item of a list
// that had failed was a yes.
func TestActionsSideBySideKeepTheirExitCodes(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.Adopt = process.AdoptOrphans
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	r.adopt()
	count := 10
	if *testenv.Torture {
		count = 40
	}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range count {
				a := shell(fmt.Sprintf("exit %d", 1+i%3))
				a.Step, a.Attempt = worker+1, i+1
				if res, err := r.Run(t.Context(), a, nil); err != nil || res.ExitCode != 1+i%3 {
					t.Errorf("exit code %d, %v; want %d", res.ExitCode, err, 1+i%3)
				}
			}
		})
	}
	all.Wait()
}
