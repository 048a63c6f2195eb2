package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// failsOnce fails in its second step until there is a file, and keeps something in its working folder.
const failsOnce = `name: twice
description: Fails in its second step.
context: {who: nobody}
initial: a
states:
  a: {action: 'echo "a:$LOOPS_CONTEXT_WHO" >> steps; echo note > "$LOOPS_RUN_DIR/note"', capture: first, next: b}
  b: {action: 'echo "b:$LOOPS_CONTEXT_WHO" >> steps; cat "$LOOPS_RUN_DIR/note"; test -e fixed', on_yes: c, on_no: failed}
  c: {action: 'echo c >> steps; while test ! -e go; do sleep 0.05; done; echo C >> steps', next: done}
  failed: {terminal: true, failure: true}
  done: {terminal: true}
`

// A run that was submitted failed at night, and retry refused it: workers begin runs at their first state only.
// It is submitted again with its queue and labels, and begins at the step that failed, also where its worker
// and its process are killed.
func TestRetryOfASubmittedRun(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.write(".loops/twice.yaml", failsOnce)
	id := f.submit("twice", "--queue", "nightly", "--label", "here", "--priority", "1", "--context", "who=you")
	one := f.worker("--queue", "nightly", "--label", "here")
	f.until("the run failed", func() bool { return strings.Contains(f.status(id), "failed") })
	if out := f.loops("retry", id, "--dry-run"); !strings.Contains(out, "begins with: b, step 2 ") {
		t.Errorf("a dry run says\n%s", out)
	}
	one.kill()
	f.write("fixed", "")
	out := f.loops("retry", id)
	if !strings.Contains(out, "nightly") {
		t.Errorf("retry says\n%s", out)
	}
	again := f.loops("status", "twice", "--json", "--jq", ".instance_id")
	if again == id || f.status(again) != "queued" || !strings.Contains(f.loops("status", again), id+" at step 2") {
		t.Fatalf("run %s follows %s:\n%s", again, id, f.loops("status", again))
	}
	two := f.worker("--queue", "nightly", "--label", "here")
	f.until("the run is in its third step", func() bool { return len(f.lines("steps")) == 4 })
	var pid int
	must(t, f.db().QueryRow(`SELECT (owner::json ->> 'pid')::int FROM leases`).Scan(&pid))
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	f.until("it continues after its process was killed", func() bool { return len(f.lines("steps")) == 5 })
	two.kill()
	f.worker("--queue", "nightly", "--label", "here")
	f.until("another worker has it", func() bool { return len(f.lines("steps")) == 6 })
	f.write("go", "")
	f.until("the run is over", func() bool { return strings.Contains(f.status(again), "completed") })
	if got := strings.Join(f.lines("steps"), ","); got != "a:you,b:you,b:you,c,c,c,C" {
		t.Errorf("the steps were %s", got)
	}
	f.wholeHistory(again, "b c")
	if _, err := os.Stat(f.dir + "/.loops/runs/" + again + "/note"); err != nil {
		t.Errorf("the working folder was not copied: %v", err)
	}
}

// The files of a submitted run that travel are, in the run that retries it on another machine, as the run kept
// them last.
func TestRetryWithFilesThatTravel(t *testing.T) {
	t.Parallel()
	f := newGitFleet(t)
	f.write(".loops/note.yaml", `name: note
description: Fails in its second step.
context: {fixed: "no"}
initial: a
states:
  a: {action: "echo a >> steps", next: b}
  b: {action: 'cat steps; test "$LOOPS_CONTEXT_FIXED" = yes', capture: seen, on_yes: c, on_no: failed}
  c: {action: "echo c >> steps", next: done}
  failed: {terminal: true, failure: true}
  done: {terminal: true}
`)
	f.git("add", "-A")
	f.commit("note")
	id := f.submit("note")
	one := f.machine().worker()
	f.until("the run failed", func() bool { return strings.Contains(f.status(id), "failed") })
	one.drain()
	again := f.loops("retry", id, "--set", "fixed=yes", "--quiet")
	f.machine().worker()
	f.until("the run is over", func() bool { return strings.Contains(f.status(again), "completed") })
	if got := strings.Join(strings.Fields(f.kept(again, "steps")), " "); got != "a c" {
		t.Errorf("the steps are %s", got)
	}
	f.wholeHistory(again, "b c")
}

// A worker without the loop retries it where one of its keys signed the definition.
func TestRetryOfASignedRun(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.env = []string{"XDG_CONFIG_HOME=" + filepath.Join(f.dir, "config")}
	f.write(".loops/outer.yaml",
		strings.Replace(signedLoop, `{loop: inner, on_yes: c, on_no: c}`, `{loop: inner, on_yes: c, on_no: failed}
  failed: {terminal: true, failure: true}`, 1))
	f.write(".loops/inner.yaml", `name: inner
description: needs a file
initial: x
states:
  x: {action: "echo x >> steps; test -e fixed", on_yes: done, on_no: failed}
  failed: {terminal: true, failure: true}
  done: {terminal: true}
`)
	key := f.loops("sign", "--new-key")
	f.loops("sign", "outer")
	other := f // a folder with none of the loops
	other.dir = t.TempDir()
	must(t, os.Mkdir(filepath.Join(other.dir, ".loops"), 0o755))
	other.write(".loops/config.yaml", "dispatch: {accept: signed, keys: ['"+key+"']}\n")
	id := f.submit("outer")
	other.worker()
	f.until("the run failed", func() bool { return strings.Contains(f.status(id), "failed") })
	other.write("fixed", "")
	again := f.loops("retry", id, "--quiet")
	f.until("the run is over", func() bool { return strings.Contains(f.status(again), "completed") })
	if got := strings.Join(other.lines("steps"), " "); got != "a x x c" {
		t.Errorf("the steps were %s", got)
	}
	f.wholeHistory(again, "b x c")
}

// The button of the page, and the API, submit a run again as the command does.
func TestRetryOfASubmittedRunOnAPage(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.write(".loops/twice.yaml", failsOnce)
	id := f.submit("twice", "--queue", "nightly")
	one := f.worker("--queue", "nightly")
	f.until("the run failed", func() bool { return strings.Contains(f.status(id), "failed") })
	one.kill()
	s := startServe(t, f.dir, "--store", f.store)
	again, _ := s.post("/runs/"+id+"/retry", "{}")["instance_id"].(string)
	if again == id || f.status(again) != "queued" || !strings.Contains(f.loops("status", again), "queue nightly") {
		t.Errorf("run %q follows %s:\n%s", again, id, f.loops("runs"))
	}
}
