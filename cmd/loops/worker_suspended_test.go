package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWorkerLeavesSuspendedRuns: runs that a login suspends occupy no worker, none tries what another has, and
// after unblock the worker continues them, each at its step.
func TestWorkerLeavesSuspendedRuns(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.write(".loops/config.yaml", "hosts:\n  mine: {program: ./ask, args: [\"{prompt}\"], format: jsonl, text: "+
		"{path: text, when: {type: say}}, error: error, status: code, done: {when: {type: end}}}\n")
	f.write(".loops/asks.yaml", "name: asks\ndescription: asks\nscope: [x]\ninitial: a\nllm: {host: mine}\nstates:\n"+
		"  a: {action: \"echo a >> steps\", next: b}\n  b: {action: hi, action_type: prompt, next: done}\n"+
		"  done: {terminal: true}\n")
	f.write("ask", "#!/bin/sh\necho asked >> asked\n[ -e login ] || { echo '{\"type\": \"end\", \"error\": \"401 "+
		"log in\", \"code\": 401}'; exit 1; }\n"+
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
	if said := f.loops("unblock", "mine"); !strings.Contains(said, one+" continues") ||
		!strings.Contains(said, other+" continues") {
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

// TestWorkerSuspendsRefusedPush: a run whose files the repository refuses, because a login expired, is
// suspended with what a person does; it occupies no worker, and after unblock it continues where it was recorded last.
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
	for _, part := range []string{
		"the files of the run cannot be kept", "refuses the login of git",
		"loops unblock git:origin",
	} {
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

// TestWorkerSuspendsRefusedFetch: a run that was begun, and whose files another worker cannot fetch because the
// repository refuses its login, is suspended with what a person does; unblock continues it.
func TestWorkerSuspendsRefusedFetch(t *testing.T) {
	t.Parallel()
	f := newGitFleet(t)
	id := f.submit("three")
	first := f.machine().worker()
	f.until("the run waits in its second step", func() bool { _, err := os.Stat(f.waits + ".has"); return err == nil })
	first.kill()
	f.until("the run is interrupted", func() bool { return f.status(id) == "interrupted" })
	m, bin := f.machineWithoutLogin()
	told := filepath.Join(bin, "told")
	m.write("config/loops/config.yaml",
		"files: {remote: "+f.remote+"}\nnotify: [{command: 'echo \"$LOOPS_NOTIFY_EVENT $LOOPS_NOTIFY_RUN\" >> "+told+
			"'}]\n")
	m.worker()
	f.until("the run is suspended", func() bool { return f.loops("status", id, "--jq", ".outcome") == "suspended" })
	if got := f.loops("list", "--suspended", "--json", "--jq", ".[].suspended_by"); got != "git:origin" {
		t.Errorf("it is suspended by %q", got)
	}
	if why := f.loops("status", id); !strings.Contains(why, "the files of the run cannot be fetched") ||
		!strings.Contains(why, "loops unblock git:origin") {
		t.Errorf("status does not say what to do:\n%s", why)
	}
	f.until("the worker has parked it", func() bool { return strings.Contains(m.log(), "is parked where it waits") })
	if got := readText(t, told); got != "suspended "+id+"\n" {
		t.Errorf("people are notified by %q", got)
	}
	must(t, os.WriteFile(filepath.Join(bin, "login"), nil, 0o600))
	must(t, os.WriteFile(f.waits, nil, 0o600))
	if said := f.loops("unblock", "git:origin"); !strings.Contains(said, id+" continues") {
		t.Errorf("unblock says %s", said)
	}
	f.until("the run is completed", func() bool { return f.status(id) == "completed" })
	f.wholeHistory(id, "a b c")
}

// TestWorkerSuspendsUnbegun: submitted runs that no worker can begin, because the repository of their files
// refuses its login, stay queued with what a person does. People are notified once for all, the repository is
// not asked again every few seconds, and after unblock workers begin them at once. A run that is suspended by the
// same later is not reported again.
func TestWorkerSuspendsUnbegun(t *testing.T) {
	t.Parallel()
	f := newGitFleet(t)
	m, bin := f.machineWithoutLogin()
	told := filepath.Join(bin, "told")
	m.write("config/loops/config.yaml",
		"files: {remote: "+f.remote+"}\nnotify: [{command: 'echo \"$LOOPS_NOTIFY_EVENT $LOOPS_NOTIFY_STATUS "+
			"$LOOPS_NOTIFY_TEXT\" >> "+told+"'}]\n")
	one, other := f.submit("three"), f.submit("three", "--no-lock")
	m.worker()
	by := func() string { return f.loops("list", "--suspended", "--json", "--jq", ".[].suspended_by") }
	f.until("both wait for a login", func() bool { return by() == "git:origin\ngit:origin" })
	for _, id := range []string{one, other} {
		if why := f.loops("status", id); f.status(id) != "queued" ||
			!strings.Contains(why, "git:origin: the files of the run cannot be fetched") ||
			!strings.Contains(why, "then `loops unblock git:origin`") {
			t.Errorf("status does not say what to do:\n%s", why)
		}
	}
	if got := strings.Split(strings.TrimSpace(readText(t, told)), "\n"); len(got) != 1 ||
		!strings.HasPrefix(got[0], "suspended queued three: suspended (blocked: needs you)") ||
		!strings.Contains(got[0], "loops unblock git:origin") {
		t.Errorf("people are notified by %q, want one line", got)
	}
	asked := len(strings.Fields(readText(t, filepath.Join(bin, "asked"))))
	third := f.submit("three", "--no-lock")
	f.until("a third waits as well", func() bool { return strings.Count(by(), "git:origin") == 3 })
	if now := len(strings.Fields(readText(t, filepath.Join(bin, "asked")))); now != asked {
		t.Errorf("the repository was asked %d times more for a run that was submitted later", now-asked)
	}
	if names := f.loops("__complete", "unblock", ""); !strings.Contains(names, "git:origin") {
		t.Errorf("unblock offers %s", names)
	}
	must(t, os.WriteFile(filepath.Join(bin, "login"), nil, 0o600))
	must(t, os.WriteFile(f.waits, nil, 0o600))
	if said := f.loops("unblock", "git:origin"); !strings.Contains(said, one+" continues") ||
		!strings.Contains(said, other+" continues") {
		t.Errorf("unblock says %s", said)
	}
	f.until("all are completed", func() bool {
		return f.status(one) == "completed" && f.status(other) == "completed" && f.status(third) == "completed"
	})
	f.wholeHistory(one, "a b c")
	if asked > 4 {
		t.Errorf("the repository was asked %d times before there was a login", asked)
	}
}

// machineWithoutLogin returns a machine where the server of git refuses the login of a fetch until the file
// login is in the folder bin, and what is asked of it is noted in the file asked.
func (f gitFleet) machineWithoutLogin() (m machine, bin string) {
	f.t.Helper()
	bin = f.t.TempDir()
	writeText(f.t, filepath.Join(bin, "git"), "#!/bin/sh\ncase \" $* \" in *' fetch '*|*' ls-remote '*) echo x >> "+
		bin+"/asked; [ -e "+bin+"/login ] || { echo 'fatal: Authentication failed for the repository' >&2; exit "+
		"128; };; esac\n"+
		"PATH=${PATH#*:} exec git \"$@\"\n")
	must(f.t, os.Chmod(filepath.Join(bin, "git"), 0o755))
	m = f.machine()
	m.env = append(m.env, "PATH="+bin+":"+os.Getenv("PATH"))
	return m, bin
}

// TestWorkerSuspendedInside: a run that is suspended inside a branch of a sub-loop, and one inside an item of a
// list, are parked, and continue where they are on another worker once they are unblocked: what was done is not
// done again. One is capped after it, one is stopped before it.
func TestWorkerSuspendedInside(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.write(".loops/config.yaml", "hosts:\n  mine: {program: ./ask, args: [\"{prompt}\"], format: jsonl, text: "+
		"{path: text, when: {type: say}}, error: error, status: code, done: {when: {type: end}}}\n")
	f.write("ask", "#!/bin/sh\n[ -e login ] || { echo '{\"type\": \"end\", \"error\": \"401 log in\", \"code\": "+
		"401}'; exit 1; }\n"+
		"echo \"asked $1\" >> did; echo '{\"type\": \"say\", \"text\": \"ready\"}'; echo '{\"type\": \"end\"}'\n")
	must(t, os.Chmod(filepath.Join(f.dir, "ask"), 0o755))
	f.write("did", "")
	f.write(".loops/outer.yaml", "name: outer\ndescription: runs a loop that does two things at once\nscope: [x]\n"+
		"initial: begin\nstates:\n"+
		"  begin: {action: \"echo begin >> did\", next: sub}\n  sub: {loop: both, on_yes: last, on_no: failed}\n"+
		"  last: {action: \"echo last >> did\", next: done}\n"+
		"  done: {terminal: true}\n  failed: {terminal: true, failure: true}\n")
	f.write(".loops/both.yaml", "name: both\ndescription: does two things at once\nscope: [y]\ninitial: both\n"+
		"llm: {host: mine}\nstates:\n"+
		"  both: {parallel: {work: {action: \"echo work >> did\"}, ask: {action: b, action_type: prompt, evaluate: "+
		"{type: exit_code}}}, on_branch_failure: continue, on_yes: done, on_no: failed}\n"+
		"  done: {terminal: true}\n  failed: {terminal: true, failure: true}\n")
	f.write(".loops/items.yaml", "name: items\ndescription: asks for one of its items\nscope: [z]\ninitial: each\n"+
		"max_steps: 1\nllm: {host: mine}\nstates:\n"+
		"  each: {for_each: [p, q], loop: item, with: {word: \"${item.value}\"}, on_yes: more, on_no: failed, "+
		"on_partial: failed}\n"+
		"  more: {action: \"echo more >> did\", next: done}\n  done: {terminal: true}\n"+
		"  failed: {terminal: true, failure: true}\n")
	f.write(".loops/item.yaml",
		"name: item\ndescription: asks for q\nvisibility: internal\ninitial: work\nllm: {host: mine}\n"+
			"parameters: {word: {type: string, required: true}}\nstates:\n"+
			"  work: {action: 'echo \"item $LOOPS_CONTEXT_WORD\" >> did; [ \"$LOOPS_CONTEXT_WORD\" != q ]', on_yes: "+
			"good, on_no: ask}\n"+
			"  ask: {action: \"${context.word}\", action_type: prompt, next: good}\n  good: {terminal: true}\n")
	outer, items := f.submit("outer"), f.submit("items")
	outcome := func(id string) string { return f.loops("status", id, "--jq", ".outcome") }
	first := f.worker()
	f.until("both are suspended", func() bool { return outcome(outer) == "suspended" && outcome(items) == "suspended" })
	first.kill()
	if said := f.loops("stop", items); outcome(items) != "stopped" ||
		!strings.Contains(said, "unblock does not continue it now") {
		t.Errorf("stop says %s, and the run is %s", said, outcome(items))
	}
	f.worker()
	f.write("login", "")
	if said := f.loops("unblock", "mine"); !strings.Contains(said, outer+" continues") ||
		strings.Contains(said, items) {
		t.Errorf("unblock says %s", said)
	}
	if out, err := f.command("resume", items, "--quiet").CombinedOutput(); err == nil {
		t.Errorf("the resume is not capped: %s", out)
	}
	f.until("the one has completed, and the other one is capped", func() bool {
		return outcome(outer) == "completed" && outcome(items) == "capped"
	})
	did := f.lines("did")
	slices.Sort(did)
	if got := strings.Join(did, ", "); got != "asked, asked, b, begin, item, item, last, p, q, q, work" {
		t.Errorf("they did: %s", got)
	}
}
