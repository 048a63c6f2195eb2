package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWorkerLeavesSuspendedRuns: runs that a login suspends occupy no worker, none tries what another has, and unblock has
// the worker continue them, each at its step.
func TestWorkerLeavesSuspendedRuns(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.write(".loops/config.yaml", "hosts:\n  mine: {program: ./ask, args: [\"{prompt}\"], format: jsonl, text: {path: text, when: {type: say}}, error: error, status: code, done: {when: {type: end}}}\n")
	f.write(".loops/asks.yaml", "name: asks\ndescription: asks\nscope: [x]\ninitial: a\nllm: {host: mine}\nstates:\n"+
		"  a: {action: \"echo a >> steps\", next: b}\n  b: {action: hi, action_type: prompt, next: done}\n  done: {terminal: true}\n")
	f.write("ask", "#!/bin/sh\necho asked >> asked\n[ -e login ] || { echo '{\"type\": \"end\", \"error\": \"401 log in\", \"code\": 401}'; exit 1; }\n"+
		"echo '{\"type\": \"say\", \"text\": \"ready\"}'; echo '{\"type\": \"end\"}'\n")
	must(t, os.Chmod(filepath.Join(f.dir, "ask"), 0o755))
	one, other := f.submit("asks"), f.submit("asks", "--no-lock")
	f.worker()
	outcome := func(id string) string { return f.loops("status", id, "--jq", ".outcome") }
	f.until("both are suspended", func() bool {
		return strings.Contains(outcome(one), "suspended") && strings.Contains(outcome(other), "suspended")
	})
	if n := len(f.lines("asked")); n != 1 {
		t.Errorf("the agent was asked %d times, want once", n)
	}
	f.write("login", "")
	if said := f.loops("unblock", "mine"); !strings.Contains(said, one+" continues") || !strings.Contains(said, other+" continues") {
		t.Errorf("unblock says %s", said)
	}
	f.until("both completed", func() bool {
		return strings.Contains(f.status(one), "completed") && strings.Contains(f.status(other), "completed")
	})
	if n := len(f.lines("steps")); n != 2 {
		t.Errorf("the first step was done %d times, want 2", n)
	}
	f.wholeHistory(one, "a b")
}

// TestWorkerSuspendsRefusedPush: a run whose files the repository refuses, because a login expired, is suspended with what a
// person does; it occupies no worker, and unblock has it continue where it was recorded last.
func TestWorkerSuspendsRefusedPush(t *testing.T) {
	t.Parallel()
	f := newGitFleet(t)
	id := f.submit("three")
	m := f.machine()
	m.worker()
	f.until("the run waits in its second step", func() bool { _, err := os.Stat(f.waits + ".has"); return err == nil })
	hook := filepath.Join(f.remote, "hooks/pre-receive")
	writeText(t, hook, "#!/bin/sh\necho 'remote: HTTP Basic: Access denied. Authentication failed' >&2\nexit 1\n")
	must(t, os.Chmod(hook, 0o755))
	must(t, os.WriteFile(f.waits, nil, 0o600))
	f.until("the run is suspended", func() bool { return f.loops("status", id, "--jq", ".outcome") == "suspended" })
	why := f.loops("status", id)
	for _, part := range []string{"the files of the run cannot be kept", "refuses the login of git", "loops unblock git:origin"} {
		if !strings.Contains(why, part) {
			t.Errorf("status does not have %q:\n%s", part, why)
		}
	}
	if got := f.loops("list", "--suspended", "--json", "--jq", ".[].suspended_by"); got != "git:origin" {
		t.Errorf("it is suspended by %q", got)
	}
	f.until("the worker has parked it", func() bool { return strings.Contains(m.log(), "is parked where it waits") })
	must(t, os.Remove(hook))
	if said := f.loops("unblock", "git:origin"); !strings.Contains(said, id+" continues") {
		t.Errorf("unblock says %s", said)
	}
	f.until("the run is completed", func() bool { return f.status(id) == "completed" })
	f.wholeHistory(id, "a b c")
	if got := strings.Join(strings.Fields(f.kept(id, "steps")), " "); got != "a b B c" {
		t.Errorf("the steps are %s", got)
	}
}
