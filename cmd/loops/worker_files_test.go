package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/internal/testenv"
)

// A gitFleet is a fleet whose files are in a repository that workers, which are in folders of no project, keep them in.
type gitFleet struct {
	fleet
	remote, waits string
}

// travelSteps notes each step of a run in a file that travels. The second one waits for a file that does not.
const travelSteps = `name: three
description: notes its steps
initial: a
states:
  a: {action: "echo a >> steps", next: b}
  b: {action: "echo b >> steps; touch $WAITS.has; while test ! -e $WAITS; do sleep 0.05; done; echo B >> steps", next: c}
  c: {action: "echo c >> steps; echo new > report; git add report", next: done}
  done: {terminal: true}
`

func newGitFleet(t *testing.T) gitFleet {
	t.Helper()
	testenv.Command(t, "git")
	f := gitFleet{newFleet(t, workerLease), filepath.Join(t.TempDir(), "remote.git"), filepath.Join(t.TempDir(), "go")}
	f.env = append(f.env, "EMAIL=t@localhost", "XDG_STATE_HOME="+t.TempDir()) // the loops are its user's
	f.write(".loops/three.yaml", travelSteps)
	f.write(".loops/config.yaml", "files: {mode: git, remote: "+f.remote+"}\n")
	f.write(".gitignore", ".loops/*\n!.loops/*.yaml\nworker*\n")
	f.write("steps", "")
	f.git("init", "-q", "--bare", f.remote)
	f.git("init", "-q")
	f.git("remote", "add", "origin", f.remote)
	f.git("add", "-A")
	f.commit("base")
	return f
}

func (f gitFleet) git(args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = f.dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits what is added, and pushes it.
func (f gitFleet) commit(message string) {
	f.t.Helper()
	f.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", message)
	f.git("push", "-q", "origin", "HEAD:refs/heads/main")
	f.git("--git-dir", f.remote, "symbolic-ref", "HEAD", "refs/heads/main")
}

// kept is a file as the remote has it of a run.
func (f gitFleet) kept(id, file string) string {
	f.t.Helper()
	return f.git("--git-dir", f.remote, "show", "refs/loops/"+id+":"+file)
}

// A machine is one of its own: a folder in no project, with settings and a state of its own.
type machine struct{ fleet }

func (f gitFleet) machine() machine {
	f.t.Helper()
	m := machine{f.fleet}
	m.dir = f.t.TempDir()
	m.env = []string{
		"HOME=" + m.dir, "XDG_STATE_HOME=" + filepath.Join(m.dir, "state"),
		"XDG_CONFIG_HOME=" + filepath.Join(m.dir, "config"), "WAITS=" + f.waits, "EMAIL=t@localhost",
	}
	must(f.t, os.MkdirAll(filepath.Join(m.dir, "config/loops"), 0o700))
	m.write("config/loops/config.yaml", "files: {remote: "+f.remote+"}\n")
	return m
}

// trees are the work trees on a machine.
func (m machine) trees() []string {
	all, err := filepath.Glob(filepath.Join(m.dir, "state/loops/files/trees/*/*"))
	must(m.t, err)
	var trees []string
	for _, path := range all {
		if !strings.HasSuffix(path, ".lock") {
			trees = append(trees, path)
		}
	}
	return trees
}

// TestWorkerFilesTravel: the worker that takes a run over has the files as they were recorded, in a folder of
// no project.
func TestWorkerFilesTravel(t *testing.T) {
	t.Parallel()
	f := newGitFleet(t)
	f.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "not pushed")
	f.write("steps", "changed\n")
	out, err := f.command("submit", "three", "--at", "1h").CombinedOutput()
	if must(t, err); !strings.Contains(string(out), "there are changes that are not in commit") ||
		!strings.Contains(string(out), "is on no branch of a remote") {
		t.Errorf("submit says %s", out)
	}
	f.git("reset", "-q", "--hard", "HEAD^")

	id := f.submit("three")
	one, two := f.machine(), f.machine()
	first := one.worker()
	has := f.waits + ".has"
	f.until("the first worker has the run", func() bool { _, err := os.Stat(has); return err == nil })
	second := two.worker()
	must(t, os.Remove(has))
	first.kill()
	f.until("the second worker has the run", func() bool { _, err := os.Stat(has); return err == nil })
	// its process was notified, and stopped its action
	if got := strings.Join(strings.Fields(f.kept(id, "steps")), " "); got != "a b" {
		t.Errorf("before its second step ended the run has kept %s", got)
	}
	if trees := two.trees(); len(trees) != 1 {
		t.Errorf("the second machine has the work trees %v", trees)
	}
	must(t, os.WriteFile(f.waits, nil, 0o600))
	f.until("the run is completed", func() bool { return f.status(id) == "completed" })
	f.wholeHistory(id, "a b c")
	if got := strings.Join(strings.Fields(f.kept(id, "steps")), " "); got != "a b b B c" {
		t.Errorf("the steps are %s", got)
	}
	if got := f.kept(id, "report"); got != "new" {
		t.Errorf("the report is %q", got)
	}
	f.until("the work tree is removed", func() bool { return len(two.trees()) == 0 })
	second.drain()
	one.worker() // tidies what it left when it was killed
	f.until("the first machine is tidy", func() bool { return len(one.trees()) == 0 })

	f.loops("rm", id)
	if refs := f.git("ls-remote", f.remote, "refs/loops/*"); refs != "" {
		t.Errorf("after rm the remote has %s", refs)
	}
}

// TestWorkerMemoryTravels: what a run leaves in the memory of its loop is on its ref: the worker that takes it
// over has what the first one left, once, and a run begins with the memory of its commit.
func TestWorkerMemoryTravels(t *testing.T) {
	t.Parallel()
	f := newGitFleet(t)
	const memory = ".loops/memory/learns.jsonl"
	f.write(".gitignore", ".loops/*\n!.loops/*.yaml\n!.loops/memory\nworker*\n")
	f.write(".loops/learns.yaml", `name: learns
description: leaves facts
initial: a
memory: {}
states:
  a: {action: "echo one", remember: "learned in a", next: b}
  b: {action: "touch $WAITS.has; while test ! -e $WAITS; do sleep 0.05; done", remember: "learned in b", next: done}
  done: {terminal: true}
`)
	must(t, os.MkdirAll(filepath.Join(f.dir, ".loops/memory"), 0o755))
	f.write(memory,
		`{"id":"old/1","run":"old","state":"a","at":"2026-01-02T03:04:05.000000+00:00","fact":"known before"}`+"\n")
	f.git("add", "-A")
	f.commit("memory")

	id := f.submit("learns")
	first := f.machine().worker()
	has := f.waits + ".has"
	f.until("the first worker has the run", func() bool { _, err := os.Stat(has); return err == nil })
	f.machine().worker()
	must(t, os.Remove(has))
	first.kill()
	f.until("the second worker has the run", func() bool { _, err := os.Stat(has); return err == nil })
	must(t, os.WriteFile(f.waits, nil, 0o600))
	f.until("the run is completed", func() bool { return f.status(id) == "completed" })
	facts := func(id string) string {
		var all []string
		for line := range strings.Lines(f.kept(id, memory)) {
			if _, fact, is := strings.Cut(line, `"fact":"`); is {
				fact, _, _ = strings.Cut(fact, `"`)
				all = append(all, fact)
			}
		}
		return strings.Join(all, ", ")
	}
	if got := facts(id); got != "known before, learned in a, learned in b" {
		t.Errorf("the ref of the run has the facts %q", got)
	}
	if n := strings.Count(f.kept(id, memory), `"saw":["old/1"]`); n != 1 {
		t.Errorf("that the run began with the fact of its commit is noted %d times", n)
	}
	next := f.submit("learns")
	f.until("the next run is completed", func() bool { return f.status(next) == "completed" })
	if got := facts(next); got != "known before, learned in a, learned in b" ||
		strings.Contains(f.kept(next, memory), id) {
		t.Errorf("the ref of the next run, which begins with its commit, has the facts %q:\n%s", got,
			f.kept(next, memory))
	}
}

// TestWorkerFilesRefused: what cannot be begun says why, and nothing of it is executed.
func TestWorkerFilesRefused(t *testing.T) {
	t.Parallel()
	f := newGitFleet(t)
	must(t, os.WriteFile(f.waits, nil, 0o600))
	m := f.machine()
	m.write("config/loops/config.yaml", "")
	if out, err := m.command("worker").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "this folder is in no project, and files.remote is not set: start the worker "+
			"in a checkout of the project without files.mode: git, or set files.remote") {
		t.Errorf("a worker without a repository says %s", out)
	}
	m.write("config/loops/config.yaml", "files: {mode: git}\n")
	if out, err := m.command("worker").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "files.mode is git, and files.remote is not set") {
		t.Errorf("a worker that is told to use git says %s", out)
	}
	m.write("config/loops/config.yaml", "files: {remote: --upload-pack=touch x}\n")
	if out, err := m.command("worker").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "remote is the address of a repository") {
		t.Errorf("a worker with an option for a repository says %s", out)
	}
	m.write("config/loops/config.yaml", "files: {remote: "+f.remote+"}\n")

	f.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "not pushed")
	lost := f.submit("three")
	f.git("reset", "-q", "--hard", "HEAD^")
	f.write(".loops/three.yaml", travelSteps+"# changed\n")
	changed := f.submit("three")
	f.git("reset", "-q", "--hard")
	f.write(".loops/config.yaml", "")
	pinned := f.submit("three")
	m.worker()
	said := func(text string) func() bool {
		return func() bool {
			return strings.Contains(f.loops("workers", "--json"), text) || strings.Contains(m.log(), text)
		}
	}
	f.until("the commit is missed", said("is not on "+f.remote+"; push it there"))
	f.until("the definition is refused", said("is not here as it was submitted"))
	for _, id := range []string{lost, changed, pinned} {
		if got := f.status(id); got != "queued" {
			t.Errorf("run %s is %s", id, got)
		}
	}
	if got := f.git("ls-remote", f.remote, "refs/loops/*"); got != "" {
		t.Errorf("the remote has %s", got)
	}
	f.worker() // in the checkout, whose settings say nothing of git now
	f.until("the run for a checkout is completed", func() bool { return f.status(pinned) == "completed" })
	if got := strings.Join(f.lines("steps"), " "); got != "a b B c" {
		t.Errorf("the steps are %s", got)
	}
}

// TestWorkerFilesAway: a run whose repository cannot be reached is not given up, however often that is tried.
func TestWorkerFilesAway(t *testing.T) {
	t.Parallel()
	f := newGitFleet(t)
	id := f.submit("three")
	one, two := f.machine(), f.machine()
	first := one.worker()
	has := f.waits + ".has"
	f.until("the first worker has the run", func() bool { _, err := os.Stat(has); return err == nil })
	first.kill()
	f.until("the run is interrupted", func() bool { return f.status(id) == "interrupted" })
	must(t, os.Rename(f.remote, f.remote+".away"))
	two.worker()
	f.until("the second worker cannot reach the files", func() bool {
		return strings.Contains(two.log(), "the repository "+f.remote+" cannot be reached")
	})
	f.until("that is on record", func() bool {
		return f.tries(id) == 0 && strings.Contains(f.loops("workers", "--json"), "cannot be reached")
	})
	must(t, os.Rename(f.remote+".away", f.remote))
	must(t, os.WriteFile(f.waits, nil, 0o600))
	f.until("the run is completed", func() bool { return f.status(id) == "completed" })
	f.wholeHistory(id, "a b c")
}

// TestWorkerFilesNew_34_1_7: a new file that nobody added to git travels; it was deleted with the work tree of
// the completed run. What git ignores does not travel, and is named.
func TestWorkerFilesNew_34_1_7(t *testing.T) {
	t.Parallel()
	f := newGitFleet(t)
	f.write(".loops/new.yaml", `name: new
description: makes files, as agents do
initial: make
states:
  make: {action: "mkdir -p notes; echo made > notes/new; echo x > worker.out", next: done}
  done: {terminal: true}
`)
	f.write(".loops/fails.yaml", "from: new\nname: fails\nstates:\n  make: {next: failed}\n"+
		"  failed: {terminal: true}\n")
	f.git("add", "-A")
	f.commit("new")
	id := f.submit("new")
	m := f.machine()
	m.worker()
	f.until("the worker has said what was not kept", func() bool {
		return strings.Contains(m.log(), "not kept for other machines, and removed with its work tree when it is "+
			"completed: worker.out (ignored)")
	})
	f.until("the work tree is removed", func() bool { return len(m.trees()) == 0 })
	if got := f.kept(id, "notes/new"); got != "made" {
		t.Errorf("the run has kept %q", got)
	}
	if got := f.loops("status", id); !strings.Contains(got, "Not kept:") ||
		!strings.Contains(got, "worker.out (ignored)") {
		t.Errorf("status: %s", got)
	}
	if got := f.loops("status", id, "--json"); !strings.Contains(got, `"files_left": "worker.out (ignored)"`) {
		t.Errorf("status --json: %s", got)
	}

	fails := f.submit("fails") // its work tree stays, with the log of its process
	f.until("the run has failed", func() bool { return f.status(fails) == "failed" })
	logs, err := filepath.Glob(filepath.Join(m.trees()[0], ".loops/logs", "*.log"))
	must(t, err)
	if len(logs) != 1 || !strings.Contains(readText(t, logs[0]), "Not kept for other machines: worker.out (ignored)") {
		t.Errorf("the end of the run names nothing: %s", logs)
	}
}

// TestWorkerFilesOfAnotherDatabase: a worker leaves the work trees alone of runs that another database has, and
// removes those of runs that are gone.
func TestWorkerFilesOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	f := newGitFleet(t)
	id := f.submit("three")
	m := f.machine()
	first := m.worker()
	f.until("the worker has the run", func() bool { _, err := os.Stat(f.waits + ".has"); return err == nil })
	first.kill()
	f.until("the run is interrupted", func() bool { return f.status(id) == "interrupted" })
	own := filepath.Join(m.trees()[0], "untracked")
	writeText(t, own, "of the run")

	other := m
	other.store = f.server.URL("other") + "&connect_timeout=30&lease=" + workerLease
	w := other.worker()
	time.Sleep(2 * time.Second) // it tidies at once, and says nothing when it leaves all as it is
	w.kill()
	if _, err := os.Stat(own); err != nil {
		t.Fatalf("the worker of another database removed it: %v", err)
	}
	f.loops("rm", "--force", id)
	m.worker()
	f.until("the work tree is removed", func() bool { return len(m.trees()) == 0 })
}

// tries is how often workers left a run without progress.
func (f gitFleet) tries(id string) (n int) {
	f.t.Helper()
	must(f.t, f.db().QueryRow(`SELECT tries FROM placements WHERE run = (SELECT n FROM runs WHERE id = $1)`, id).Scan(
		&n))
	return n
}

// log is all that workers on a machine have said.
func (m machine) log() string {
	var all strings.Builder
	logs, err := filepath.Glob(filepath.Join(m.dir, "worker*"))
	must(m.t, err)
	for _, path := range logs {
		all.WriteString(readText(m.t, path))
	}
	return all.String()
}
