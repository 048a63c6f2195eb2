package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// forkedFiles is how many files a fork copies here, which takes a good part of the time until its first event.
const forkedFiles = 200

var forkCrashLoop = fmt.Sprintf(`name: crash
description: a run to be forked
initial: fill
states:
  fill: {action: "cd ${context.run_dir} && mkdir d && for n in $(seq %d); do echo x > d/$n; done", next: count}
  count: {action: "sleep 0.05; test $(cat ${context.run_dir}d/* | wc -l) = %d", on_yes: done, on_no: bad}
  done: {terminal: true}
  bad: {terminal: true, failure: true}
`, forkedFiles, forkedFiles)

// TestCrashOfFork kills a fork with SIGKILL at random moments: while it looks for its step, makes the run, copies the
// working folder and continues. There is no new run then, or one that can be resumed and has all of the files; what was
// copied for one that is not there goes with the next fork.
func TestCrashOfFork(t *testing.T) {
	t.Parallel()
	t.Logf("again with: go test ./cmd/loops -run TestCrashOfFork -crashes %d -crash-seed %d", *crashes, *crashSeed)
	for _, store := range stores {
		t.Run(storeName(store), func(t *testing.T) {
			t.Parallel()
			d := newCrashDir(t, store)
			must(t, os.WriteFile(filepath.Join(d.cwd, ".loops/crash.yaml"), []byte(forkCrashLoop), 0o644))
			if code := d.start(t, "run", "crash", "--quiet").end(t, 0); code != 0 {
				t.Fatalf("the run to be forked exits with %v: %s", code, d.said(t))
			}
			source := d.runs(t)[0]
			begin := time.Now()
			if code := d.start(t, "fork", source, "--at", "2", "--quiet").end(t, 0); code != 0 {
				t.Fatalf("the unbroken fork exits with %v: %s", code, d.said(t))
			}
			length := time.Since(begin)
			rnd := rand.New(rand.NewPCG(*crashSeed, 0))
			before, begun := d.runs(t), 0
			for range *crashes {
				after := time.Duration(rnd.Int64N(int64(length))) + time.Millisecond
				if code := d.start(t, "fork", source, "--at", "2", "--quiet").end(t, after); code != 0 &&
					code != -float64(syscall.SIGKILL) {
					t.Fatalf("killed after %v: the fork exits with %v: %s", after, code, d.said(t))
				}
				d.sweep(t)
				now := d.runs(t)
				if len(now) > len(before) {
					begun++
					d.finishFork(t, now[0], after)
				}
				if len(now) > len(before)+1 || !slices.Equal(now[len(now)-len(before):], before) {
					t.Fatalf("killed after %v: the runs were %v, and are %v", after, before, now)
				}
				before = now
			}
			if code := d.start(t, "fork", source, "--at", "2", "--quiet").end(t, 0); code != 0 {
				t.Fatalf("the last fork exits with %v: %s", code, d.said(t))
			}
			// Of one that was killed while it was made an empty folder may stay.
			if runs, folders := d.runs(t), visible(d.cwd, ".loops/runs/*/d"); len(folders) != len(runs) {
				t.Errorf("there are %d runs and %d working folders: %v", len(runs), len(folders), folders)
			}
			t.Logf("%d of %d forks had begun", begun, *crashes)
		})
	}
}

// finishFork resumes a fork that was killed, unless it had come to its end, and sees that it had what it needs.
func (d crashDir) finishFork(t *testing.T, id string, after time.Duration) {
	t.Helper()
	if d.status(t, id) != "completed" {
		if code := d.start(t, "resume", id, "--quiet").end(t, 0); code != 0 {
			t.Fatalf("killed after %v: resume exits with %v: %s", after, code, d.said(t))
		}
	}
	if code := d.start(t, "status", id).end(t, 0); code != 0 || !strings.Contains(d.said(t), "Fork of:") ||
		d.status(t, id) != "completed" {
		t.Fatalf("killed after %v: status exits with %v: %s", after, code, d.said(t))
	}
}

// runs are the ids of all runs, the newest first.
func (d crashDir) runs(t *testing.T) (ids []string) {
	t.Helper()
	code := d.start(t, "history", "crash", "-n", "0", "--json").end(t, 0)
	var runs []struct {
		ID string `json:"instance_id"`
	}
	if err := json.Unmarshal([]byte(d.said(t)), &runs); code != 0 || err != nil {
		t.Fatalf("history exits with %v: %s", code, d.said(t))
	}
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}
