package main_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestWorkersKilledAtRandom kills workers, one after the other, while they carry many runs: each run ends, its
// history has no gap, each of its steps was done, and no more actions were begun again than runs were
// interrupted. `make torture` does it with a hundred runs of ten steps.
func TestWorkersKilledAtRandom(t *testing.T) {
	t.Parallel()
	runs, steps, crew, every, lease := 12, 4, 3, 700*time.Millisecond, workerLease
	if *torture {
		runs, steps, crew, every, lease = 100, 10, 4, 4*time.Second, "6s"
	}
	f := newFleet(t, lease)
	var loop, path strings.Builder
	loop.WriteString("name: walk\ndescription: notes its steps\nsingleton: false\ninitial: s1\nstates:\n")
	for n := range steps {
		next := fmt.Sprintf("s%d", n+2)
		if n == steps-1 {
			next = "done"
		}
		fmt.Fprintf(&loop, "  s%d: {action: \"echo $(basename $LOOPS_RUN_DIR)/s%d >> log; sleep 0.2\", next: %s}\n",
			n+1, n+1, next)
		fmt.Fprintf(&path, "s%d ", n+1)
	}
	loop.WriteString("  done: {terminal: true}\n")
	f.write(".loops/walk.yaml", loop.String())
	var ids []string
	for range runs {
		ids = append(ids, f.submit("walk", "--no-lock"))
	}
	workers := make([]*workerProcess, crew)
	for i := range workers {
		workers[i] = f.worker("--slots", "4")
	}
	t.Logf("again with: go test ./cmd/loops -run TestWorkersKilledAtRandom -crash-seed %d", *crashSeed)
	random, kills := rand.New(rand.NewPCG(*crashSeed, 0)), 0
	db := f.db()
	next := time.NewTicker(every)
	defer next.Stop()
	for end := time.Now().Add(10 * time.Minute); statuses(t, db)["completed"] < runs; <-next.C {
		if time.Now().After(end) {
			t.Fatalf("after %d kills the runs are %v\n%s", kills, statuses(t, db), f.loops("runs"))
		}
		if kills < 20*crew {
			i := random.IntN(crew)
			workers[i].kill()
			workers[i], kills = f.worker("--slots", "4"), kills+1
		}
	}
	done := map[string]int{}
	for _, line := range f.lines("log") {
		done[line]++
	}
	interruptions, again := 0, 0
	for _, id := range ids {
		f.wholeHistory(id, strings.TrimSpace(path.String()))
		interruptions += strings.Count(f.loops("events", id, "--json"), `"event": "loop_resume"`)
		for n := range steps {
			times := done[fmt.Sprintf("%s/s%d", id, n+1)]
			if again += times - 1; times == 0 {
				t.Errorf("run %s has not done step %d", id, n+1)
			}
		}
	}
	t.Logf("%d kills interrupted runs %d times, and %d actions were begun again", kills, interruptions, again)
	if again > interruptions {
		t.Errorf("%d actions were begun again after %d interruptions", again, interruptions)
	}
}

// TestRunsOfOneScopeTakeTurns: runs that lock the same paths are carried one after the other, and each says
// once that it waits: they were tried every five seconds, which for sixty of them took half of a core and a
// line each time.
func TestRunsOfOneScopeTakeTurns(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "6s")
	f.write(".loops/turn.yaml", "name: turn\ndescription: holds its files\ninitial: a\nstates:\n"+
		"  a: {action: \"mkdir held && sleep 0.3; rmdir held; echo x >> log\", next: done}\n  done: {terminal: true}\n")
	const runs = 12
	for range runs {
		f.submit("turn")
	}
	w, db := f.worker("--slots", "4"), f.db()
	f.until("all have ended", func() bool {
		return statuses(t, db)["completed"] == runs && len(f.lines("log")) == runs
	})
	log := readText(t, w.log)
	if waits := strings.Count(log, " waits: "); waits > runs || strings.Contains(log, "did not begin here") {
		t.Errorf("%d runs wait %d times:\n%s", runs, waits, log)
	}
}
