package main_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

// A fleet is a project whose runs are in a schema of PostgreSQL, and workers of it.
type fleet struct {
	t          *testing.T
	dir, store string
	server     *testenv.PostgresServer
	env        []string // beside that of the test
}

// workerLease is how long the runs of a fleet are safe: short, so that takeovers can be waited for.
const workerLease = "3s"

func newFleet(t *testing.T, lease string) fleet {
	t.Helper()
	return fleetOn(t, startPostgres(t), lease)
}

// fleetOn returns a fleet whose server the test may change and stop, if it is its own.
func fleetOn(t *testing.T, server *testenv.PostgresServer, lease string) fleet {
	t.Helper()
	f := fleet{t, t.TempDir(), server.URL("fleet") + "&connect_timeout=30&lease=" + lease, server, nil}
	must(t, os.Mkdir(filepath.Join(f.dir, ".loops"), 0o755))
	return f
}

func (f fleet) write(name, text string) {
	f.t.Helper()
	must(f.t, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644))
}

func (f fleet) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary(f.t), args...)
	cmd.Dir = f.dir
	cmd.Env = append(append(os.Environ(), "LOOPS_STORE="+f.store, "LOOPS_VERIFY=1"), f.env...)
	return cmd
}

// loops runs a command that is to succeed, and returns what it prints.
func (f fleet) loops(args ...string) string {
	f.t.Helper()
	out, errs, code := answer(f.t, f.dir, f.command().Env, args...)
	if code != 0 {
		f.t.Fatalf("loops %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return strings.TrimSpace(out)
}

func (f fleet) submit(args ...string) string {
	f.t.Helper()
	return f.loops(append([]string{"submit", "--quiet"}, args...)...)
}

// A workerProcess is a worker, which is killed with the test.
type workerProcess struct {
	f    fleet
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

func (f fleet) worker(args ...string) *workerProcess {
	f.t.Helper()
	log, err := os.CreateTemp(f.dir, "worker")
	must(f.t, err)
	w := &workerProcess{f, f.command(append([]string{"worker"}, args...)...), log.Name(), make(chan struct{})}
	w.cmd.Stderr = log
	must(f.t, w.cmd.Start())
	must(f.t, log.Close())
	go func() {
		_ = w.cmd.Wait()
		close(w.done)
	}()
	f.t.Cleanup(func() {
		_ = w.cmd.Process.Signal(syscall.SIGCONT)
		w.kill()
		if f.t.Failed() {
			b, _ := os.ReadFile(w.log)
			f.t.Logf("worker %v:\n%s", args, b)
		}
	})
	f.until("the worker is there", func() bool {
		b, _ := os.ReadFile(w.log)
		return bytes.Contains(b, []byte(" takes runs of queue "))
	})
	return w
}

// drain has the worker end, and waits for it.
func (w *workerProcess) drain() {
	w.f.t.Helper()
	must(w.f.t, w.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-w.done:
	case <-time.After(testenv.Patience):
		w.f.t.Fatal("a worker that was told to end does not")
	}
}

func (w *workerProcess) kill() {
	_ = w.cmd.Process.Kill()
	<-w.done
}

func (f fleet) until(what string, done func() bool) {
	f.t.Helper()
	if !testenv.Within(testenv.Patience, done) {
		f.t.Fatalf("waited in vain until %s\n%s", what, f.loops("runs"))
	}
}

func (f fleet) db() *sql.DB {
	f.t.Helper()
	location, _, _ := strings.Cut(f.store, "&lease=")
	db, err := sql.Open("pgx", location)
	must(f.t, err)
	f.t.Cleanup(func() { _ = db.Close() })
	return db
}

// statuses counts the runs of the fleet by their status.
func statuses(t *testing.T, db *sql.DB) map[string]int {
	t.Helper()
	rows, err := db.Query(`SELECT status, count(*) FROM runs GROUP BY status`)
	must(t, err)
	defer rows.Close()
	all := map[string]int{}
	for rows.Next() {
		var status string
		var n int
		must(t, rows.Scan(&status, &n))
		all[status] = n
	}
	must(t, rows.Err())
	return all
}

// lines are those of a file of the project; none where it is not there yet.
func (f fleet) lines(name string) []string {
	b, _ := os.ReadFile(filepath.Join(f.dir, name))
	return strings.Fields(string(b))
}

// threeSteps notes each step of a run. The second one waits for a file.
const threeSteps = `name: three
description: notes its steps
initial: a
states:
  a: {action: "echo a >> steps", next: b}
  b: {action: "echo b >> steps; while test ! -e go; do sleep 0.05; done; echo B >> steps", next: c}
  c: {action: "echo c >> steps", next: done}
  done: {terminal: true}
`

func newThree(t *testing.T) fleet {
	f := newFleet(t, workerLease)
	f.write(".loops/three.yaml", threeSteps)
	return f
}

// wholeHistory fails unless the events of a run are 1, 2, 3 …, and the run went through these states.
func (f fleet) wholeHistory(id, steps string) {
	f.t.Helper()
	var path []string
	n := 0
	for line := range strings.Lines(f.loops("events", id, "--json")) {
		var e struct {
			Seq   int    `json:"seq"`
			Event string `json:"event"`
			State string `json:"state"`
		}
		must(f.t, json.Unmarshal([]byte(line), &e))
		if n++; e.Seq != n {
			f.t.Errorf("run %s: event %d is number %d", id, n, e.Seq)
		}
		if e.Event == "state_enter" {
			path = append(path, e.State)
		}
	}
	if got := strings.Join(slices.Compact(path), " "); got != steps { // one that was taken over enters its state again
		f.t.Errorf("run %s went through %s, want %s", id, got, steps)
	}
}

func (f fleet) status(id string) string {
	f.t.Helper()
	return f.loops("status", id, "--json", "--jq", ".status")
}

// TestWorkerKilled: a run continues on another worker when its worker is killed, and when its own process is.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	f := newThree(t)
	id := f.submit("three")
	if got := f.status(id); got != "queued" {
		t.Fatalf("before there is a worker the run is %s", got)
	}
	one := f.worker()
	f.until("the first worker has the run", func() bool { return len(f.lines("steps")) == 2 })
	two := f.worker()
	one.kill()
	f.until("the second worker has the run", func() bool { return len(f.lines("steps")) == 3 })
	var pid int
	must(t, f.db().QueryRow(`SELECT (owner::json ->> 'pid')::int FROM leases`).Scan(&pid))
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	f.until("the run continues after its process was killed", func() bool { return len(f.lines("steps")) == 4 })
	f.write("go", "")
	f.until("the run is over", func() bool { return strings.Contains(f.status(id), "completed") })
	if got := strings.Join(f.lines("steps"), " "); got != "a b b b B c" {
		t.Errorf("the steps were %s", got)
	}
	f.wholeHistory(id, "a b c")
	two.drain()
	if code := two.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("a worker that is told to end exits with %d", code)
	}
}

// TestWorkerDrains: a worker that is drained hands its runs over, and is gone from the list.
func TestWorkerDrains(t *testing.T) {
	t.Parallel()
	f := newThree(t)
	id := f.submit("three")
	one := f.worker()
	f.until("the first worker has the run", func() bool { return len(f.lines("steps")) == 2 })
	two := f.worker()
	f.until("the first worker has said so", func() bool {
		list := f.loops("workers")
		return strings.Count(list, "1 of 1") == 1 && strings.Contains(list, id) && strings.Count(list, "\n") == 2
	})
	one.drain()
	if n := strings.Count(f.loops("workers", "--json"), `"worker_id"`); n != 1 {
		t.Errorf("%d workers after one ended", n)
	}
	f.until("the second worker has the run", func() bool { return len(f.lines("steps")) == 3 })
	f.write("go", "")
	f.until("the run is over", func() bool { return strings.Contains(f.status(id), "completed") })
	f.wholeHistory(id, "a b c")
	two.kill()
}

// TestStoppedBetweenTwoWorkers: a run that is stopped while no worker has it, because the one that had it ended
// or was killed, is continued by none.
func TestStoppedBetweenTwoWorkers(t *testing.T) {
	t.Parallel()
	for _, end := range []struct {
		name string
		do   func(*workerProcess)
	}{{"drained", (*workerProcess).drain}, {"killed", (*workerProcess).kill}} {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			f := newThree(t)
			id := f.submit("three")
			one := f.worker()
			f.until("the first worker has the run", func() bool { return len(f.lines("steps")) == 2 })
			end.do(one)
			f.until("no process has the run", func() bool { return !strings.Contains(f.status(id), "running") })
			said := f.loops("stop", id)
			if !strings.Contains(said,
				"Stopped "+id+" in state b: no process had it, and no worker continues it now.") {
				t.Errorf("stop says %s", said)
			}
			f.write("go", "")
			other := f.submit("three", "--no-lock")
			f.worker()
			f.until("the other run is over", func() bool { return strings.Contains(f.status(other), "completed") })
			if status := f.status(id); !strings.Contains(status, "interrupted") {
				t.Errorf("the run that was stopped is %s", status)
			}
			if err := f.command("stop", id).Run(); err == nil {
				t.Error("it was stopped twice")
			}
			f.loops("resume", id)
			f.wholeHistory(id, "a b c")
		})
	}
}

// TestWorkerFrozen: the process of a run that is frozen for three leases is fenced when it wakes, and its
// successor is left alone.
func TestWorkerFrozen(t *testing.T) {
	t.Parallel()
	f := newThree(t)
	id := f.submit("three")
	one := f.worker()
	f.until("the first worker has the run", func() bool { return len(f.lines("steps")) == 2 })
	db := f.db()
	var pid int
	must(t, db.QueryRow(`SELECT (owner::json ->> 'pid')::int FROM leases`).Scan(&pid))
	for _, p := range []int{one.cmd.Process.Pid, pid} {
		must(t, syscall.Kill(p, syscall.SIGSTOP))
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	two := f.worker()
	f.until("the second worker has the run", func() bool { return len(f.lines("steps")) >= 3 })
	for _, p := range []int{one.cmd.Process.Pid, pid} {
		must(t, syscall.Kill(p, syscall.SIGCONT))
	}
	f.until("the frozen process ended", func() bool { return syscall.Kill(pid, 0) != nil })
	var jobs string
	must(t, db.QueryRow(`SELECT string_agg(state::text, ' ' ORDER BY id) FROM river_job`).Scan(&jobs))
	if jobs != "discarded running" {
		t.Errorf("after the frozen worker woke its job and that of its successor are %s", jobs)
	}
	two.kill() // the successor: the run still ends
	f.write("go", "")
	f.until("the run is over", func() bool { return strings.Contains(f.status(id), "completed") })
	f.wholeHistory(id, "a b c")
}

// TestManyRuns: each of many short runs is carried once, with a key limit at most so many at a time, and
// nothing is lost when the queue is emptied in between.
func TestManyRuns(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "6s")
	f.write(".loops/one.yaml", "name: one\ndescription: one step\nsingleton: false\ninitial: a\nstates:\n"+
		"  a: {action: \"echo x >> steps\", next: done}\n  done: {terminal: true}\n")
	f.write(".loops/slow.yaml", "name: slow\ndescription: holds a place\ninitial: a\nstates:\n"+
		"  a: {action: \"mkdir -p held; touch held/$$; ls held | wc -l >> most; sleep 0.2; rm held/$$\", next: "+
		"done}\n  done: {terminal: true}\n")
	f.write(".loops/config.yaml", "dispatch:\n  limits:\n    api: 2\n")
	short, limited := 20, 5
	if *torture {
		short, limited = 1000, 20
	}
	for range short {
		f.submit("one", "--no-lock")
	}
	for range limited {
		f.submit("slow", "--key", "api", "--no-lock")
	}
	f.worker("--slots", "3")
	f.until("some have ended", func() bool { return len(f.lines("steps")) > 3 })
	db := f.db()
	_, err := db.Exec(`TRUNCATE river_job`)
	must(t, err)
	f.worker("--slots", "2")
	f.until("all have ended", func() bool { return statuses(t, db)["completed"] == short+limited })
	if n := len(f.lines("steps")); n != short {
		t.Errorf("%d runs of one step did %d", short, n)
	}
	most := f.lines("most")
	slices.Sort(most)
	if len(most) != limited || most[len(most)-1] > "2" {
		t.Errorf("of a key with the limit 2 so many were carried at once: %v", most)
	}
}

// TestQueuedRunIsSeen: a queued run has that status in every view, and is taken out of its queue by stop.
func TestQueuedRunIsSeen(t *testing.T) {
	t.Parallel()
	f := newThree(t)
	id := f.submit("three", "--queue", "nightly", "--priority", "1")
	for _, view := range [][]string{
		{"status"},
		{"status", id},
		{"list"},
		{"list", "--running"},
		{"list", "--running", "--status", "queued"},
		{"runs"},
		{"runs", "--status", "queued"},
		{"history", "three"},
		{"watch", "--once"},
		{"runs", "--json"},
		{"status", "--json"},
	} {
		if out := f.loops(view...); !strings.Contains(out, "queued") {
			t.Errorf("loops %s:\n%s", strings.Join(view, " "), out)
		}
	}
	f.worker() // of another queue
	if out := f.loops("stop", id); out != "Took run "+id+" out of the queue of workers. Nothing of it was run." {
		t.Errorf("stop: %s", out)
	}
	f.worker("--queue", "nightly")
	late := f.submit("three", "--queue", "nightly", "--at", "1s")
	f.write("go", "")
	f.until("a run that began later is over", func() bool { return strings.Contains(f.status(late), "completed") })
	if got := f.status(id); got != "user_stopped" {
		t.Errorf("the run that was stopped is %s", got)
	}
	if got := strings.Join(f.lines("steps"), " "); got != "a b B c" {
		t.Errorf("the steps were %s", got)
	}
}

// TestWorkerRefuses: a run whose definition is another one on the worker does not begin there, with words,
// until it is the same again.
func TestWorkerRefuses(t *testing.T) {
	t.Parallel()
	f := newThree(t)
	f.write("go", "")
	id := f.submit("three")
	text, err := os.ReadFile(filepath.Join(f.dir, ".loops/three.yaml"))
	must(t, err)
	f.write(".loops/three.yaml", strings.ReplaceAll(string(text), "echo a", "echo CHANGED"))
	w := f.worker()
	f.until("the worker refused it", func() bool {
		b, _ := os.ReadFile(w.log)
		return bytes.Contains(b, []byte("is not here as it was submitted"))
	})
	f.until("the list of workers says why", func() bool {
		return strings.Contains(f.loops("workers"),
			"last error: run "+id+": .loops/three.yaml is not here as it was submitted")
	})
	if n := len(f.lines("steps")); n != 0 {
		t.Errorf("%d steps were done", n)
	}
	f.write(".loops/three.yaml", string(text))
	f.until("the run is over", func() bool { return strings.Contains(f.status(id), "completed") })
}

// TestSubmitRefused: what submit refuses, with words, and nothing is recorded.
func TestSubmitRefused(t *testing.T) {
	t.Parallel()
	f := newThree(t)
	for _, c := range []struct {
		args []string
		env  string
		code int
		want string
	}{
		{
			[]string{"submit", "three"},
			"dir", 2,
			"workers share runs through PostgreSQL: give --store postgres://USER@HOST/NAME",
		},
		{[]string{"submit", "three"}, "sqlite:runs.db", 2, "workers share runs through PostgreSQL"},
		{[]string{"worker"}, "dir", 2, "workers share runs through PostgreSQL"},
		{[]string{"workers"}, "dir", 2, "workers share runs through PostgreSQL"},
		{[]string{"submit", "three", "--queue", "A B"}, "", 2, `"A B" is no name of a queue`},
		{[]string{"submit", "three", "--priority", "5"}, "", 2, "expected 1 (first) to 4 (last)"},
		{[]string{"submit", "three", "--at", "soon"}, "", 2, `"soon" is no time`},
		{[]string{"submit", "nothing"}, "", 4, "nothing"},
		{[]string{"worker", "--slots", "0"}, "", 2, "expected 1 to 1000"},
	} {
		cmd := f.command(c.args...)
		if c.env != "" {
			cmd.Env = append(cmd.Env, "LOOPS_STORE="+c.env)
		}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.want) {
			t.Errorf("%s with %s exits with %d and says %s", strings.Join(c.args, " "), c.env, code, out)
		}
	}
	if out := f.loops("runs"); !strings.HasPrefix(out, "No runs are recorded.") {
		t.Errorf("recorded: %s", out)
	}
}

// TestWorkerWithoutDatabase: a server that is killed and back before the lease is over interrupts no run.
func TestWorkerWithoutDatabase(t *testing.T) {
	t.Parallel()
	f := fleetOn(t, ownPostgres(t), "2m") // a busy machine takes half a minute to start a server again
	f.write(".loops/three.yaml", threeSteps)
	id := f.submit("three")
	w := f.worker()
	f.until("the worker has the run", func() bool { return len(f.lines("steps")) == 2 })
	must(t, f.server.Kill())
	away := 2 * time.Second
	if *torture {
		away = 8 * time.Second
	}
	time.Sleep(away) // the server is away for a part of the lease
	must(t, f.server.Launch(t.Context()))
	f.write("go", "")
	f.until("the run is over", func() bool { return strings.Contains(f.status(id), "completed") })
	if got := strings.Join(f.lines("steps"), " "); got != "a b B c" {
		t.Errorf("the steps were %s", got)
	}
	again := f.submit("three")
	f.until("the worker carries another run", func() bool { return strings.Contains(f.status(again), "completed") })
	w.drain()
}
