package main_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"loops/internal/testenv"
)

// An ending is a run that ends in its own way, or has not ended, and what every view must say of it.
type ending struct {
	states  string // of its loop
	keys    string // of its loop besides
	args    []string
	outcome string
	reason  string // a pattern for the whole of it
	last    string // a pattern for what run prints of its end; "" = that is not looked at
	pass    bool   // a report counts it as a success
	live    bool
	untold  bool   // nothing is left that could notify
	page    string // the class and text of the status on its page; "" = the outcome
	watched string // the word of watch, which is more precise; "" = the same
}

const turns = `
  check: {action: "echo still red; exit 1", on_yes: done, on_no: fix}
  fix: {action: "true", next: check}`

var endings = map[string]ending{
	"good": {
		states: `check: {action: "echo ok", on_yes: done, on_no: bad}`, outcome: "completed",
		reason: `state check said yes`, last: `Loop completed: done`, pass: true,
	},
	"bad": {
		states:  `check: {action: "echo 2 tests failed; exit 1", on_yes: done, on_no: bad}`,
		outcome: "failed", reason: `state check said no \(exit 1: "2 tests failed"\)`, last: `Loop failed: bad`,
	},
	"broken": {
		states:  `check: {action: "echo no such file >&2; exit 2", on_yes: done, on_no: bad}`,
		outcome: "failed", reason: `state check has no transition for verdict error \(exit 2: "no such file"\)`,
		last: `Loop ended with an error: check`,
	},
	"fatal": {
		states:  `check: {action: "echo 'FATAL_ERROR: the disk is gone'", on_yes: done, on_no: bad}`,
		outcome: "failed", reason: `state check: the disk is gone`, last: `Loop ended with an error: check`,
	},
	"enough": {
		states:  `check: {action: "echo 'LOOP_STOP: nothing left'", on_yes: done, on_no: bad}`,
		outcome: "interrupted", reason: `the output of state check asked for the end \(LOOP_STOP\)`,
		last: `Loop interrupted: done`, pass: true,
	},
	"capped": {
		states: turns, keys: "max_steps: 3", outcome: "capped",
		reason: `the cap of 3 steps was reached \(max_steps\); last, state check said no 2 times \(exit 1: "still red"\)`, last: `Loop stopped at its cap of 3 steps: `,
	},
	"round": {
		states: turns, keys: "max_edge_revisits: 2", outcome: "stalled",
		reason: `in state check: the transition from check to fix was taken 3 times; max_edge_revisits is 2`,
		last:   `Loop stopped in a cycle: check`,
	},
	"late": {
		states: `check: {action: "sleep 1.2", next: fix}` + "\n  fix: {action: echo on, next: done}",
		keys:   "timeout: 1", outcome: "timed_out",
		reason: `the run took longer than its timeout of 1\.0s; last, state .*`, last: `Loop timed out: `,
	},
	"dear": {
		states: `check: {action: hi, action_type: prompt, next: check}`, keys: "budget: {tokens: 100}",
		args: []string{"--host", "mine"}, outcome: "budget",
		reason: `in state check: the budget of the loop dear was used up: tokens 180 of 100`,
		last:   `Loop stopped at its budget: check`,
	},
	"handed": {
		states:  `check: {action: "echo 'CONTEXT_HANDOFF: read the notes'", next: done}`,
		outcome: "handed_off", reason: `state check handed off: "read the notes"`, last: `Loop handed off: check`,
	},
	"parked": {
		states: `gate: {ask: {question: "Ship it?", choices: [yes, no]}, on_yes: done, on_no: bad}`,
		keys:   "initial: gate", args: []string{"--park"}, outcome: "parked",
		reason: `parked in state gate, which waits for an answer: Ship it\?`, last: `Loop parked: gate`,
		page: `waiting">asks`,
	},
	"stopped": {
		states: slowState, outcome: "stopped", reason: `stopped by a user in state check`,
		last: `Loop stopped: check`,
	},
	"signaled": {
		states: slowState, outcome: "interrupted", reason: `stopped by SIGTERM in state check`,
		last: `Loop interrupted by SIGTERM: check`,
	},
	"killed": {
		states: slowState, outcome: "killed",
		reason: `interrupted in state check: its process \(pid \d+\) is gone`, untold: true,
	},
	"paused": {
		states: `check: {action: "touch began; until test -e go; do sleep 0.1; done", next: fix}` +
			"\n  fix: {action: echo on, next: done}", outcome: "paused",
		reason: `paused since [-0-9]+ [:0-9]+ UTC, before state fix`, live: true,
	},
	"asking": {
		states: `gate: {ask: {question: "Ship it?", choices: [yes, no]}, on_yes: done, on_no: bad}`,
		keys:   "initial: gate", outcome: "running", reason: `waits for an answer: Ship it\? \(state gate\)`,
		live: true, watched: "waiting", page: `waiting">asks`,
	},
}

const slowState = `check: {action: "echo $PPID > $(basename $LOOPS_RUN_DIR | cut -d- -f1).pid; sleep 600", next: done}`

// TestOutcomeInEveryView: every view of a run has the same word for how it ended and the same reason.
func TestOutcomeInEveryView(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	d := folder{t, dir}
	write := func(name, text string) { writeText(t, filepath.Join(dir, name), text) }
	write(".loops/config.yaml", `notify:
- command: 'printf "%s|%s\n" "$LOOPS_NOTIFY_LOOP" "$LOOPS_NOTIFY_TEXT" >> told'
  on: [completed, failed, timed_out, capped, stalled, budget, limited, interrupted, awaiting, paused, waiting]
hosts: {mine: {program: ./ask, args: [], format: jsonl, text: text, cost: cost, usage: {input: in, output: out}}}
`)
	must(t, os.WriteFile(filepath.Join(dir, "ask"),
		[]byte("#!/bin/bash\ncat >/dev/null\necho '{\"text\": \"done\", \"cost\": 0.5, \"in\": 80, \"out\": 10}'\n"),
		0o755))
	for name, e := range endings {
		if !strings.Contains(e.keys, "initial:") {
			e.keys += "\ninitial: check"
		}
		write(".loops/"+name+".yaml",
			fmt.Sprintf("name: %s\ndescription: ends in its own way\nscope: [%[1]s]\n%s\nstates:\n  %s\n"+
				"  done: {terminal: true}\n  bad: {terminal: true, failure: true}\n", name, e.keys,
				strings.TrimLeft(e.states, "\n ")))
	}
	runs := map[string]*testenv.Process{}
	for name, e := range endings {
		runs[name] = d.start(append([]string{"run", name}, e.args...)...)
	}
	pid := func(loop string) int {
		waitForFile(t, filepath.Join(dir, loop+".pid"))
		var n int
		testenv.Wait(t, "the pid of "+loop, func() bool {
			text := readText(t, filepath.Join(dir, loop+".pid"))
			_, err := fmt.Sscan(text, &n)
			return err == nil && strings.HasSuffix(text, "\n")
		})
		return n
	}
	pid("stopped")
	d.output("stop", "stopped")
	must(t, syscall.Kill(pid("signaled"), syscall.SIGTERM))
	must(t, syscall.Kill(pid("killed"), syscall.SIGKILL))
	waitForFile(t, filepath.Join(dir, "began"))
	d.output("pause", "paused")
	write("go", "")
	ids := map[string]string{}
	text := ""
	if !testenv.Within(testenv.Patience, func() bool {
		text = d.output("runs", "--json", "-n", "0")
		var rows []struct{ Loop, Outcome, ID string }
		must(t, json.Unmarshal([]byte(strings.ReplaceAll(text, `"instance_id"`, `"id"`)), &rows))
		settled := len(rows) == len(endings)
		for _, r := range rows {
			ids[r.Loop] = r.ID
			settled = settled && r.Outcome == endings[r.Loop].outcome
		}
		return settled && strings.Contains(d.output("status", "asking"), "Ship it?")
	}) {
		t.Fatalf("the runs do not come to their ends: %s", text)
	}
	for name, e := range endings {
		if !e.live {
			runs[name].Exit()
		}
	}
	s := startServe(t, dir)
	told := readText(t, filepath.Join(dir, "told"))
	all := d.output("runs", "-n", "0")
	watched := d.output("watch", "--once")
	listed := d.output("list")
	_, api := s.ask("GET", "/api/v1/runs", "", "")
	var answer struct {
		Runs []struct {
			Loop, Outcome string
			Reason        *string
		}
	}
	must(t, json.Unmarshal([]byte(api), &answer))
	for name, e := range endings {
		t.Run(name, func(t *testing.T) {
			see := func(view, text, pattern string) {
				t.Helper()
				if !regexp.MustCompile("(?m)" + pattern).MatchString(text) {
					t.Errorf("%s does not say %s:\n%s", view, pattern, text)
				}
			}
			row := name + `-\S+ +` + e.outcome + ` .* ` + e.reason + `$`
			see("runs", all, row)
			see("history", d.output("history", name), row)
			see("list", listed, name+` +`+e.outcome+` `)
			see("watch", watched, name+`-\S+ +`+cmp.Or(e.watched, e.outcome)+` .*`+
				strings.TrimPrefix(e.reason, "paused "))
			see("status", d.output("status", name), `^Status: +`+e.outcome+`$`)
			see("explain", d.output("explain", name), `^Run \S+ of `+name+`: `+e.outcome+`, `)
			said := []string{
				d.output("status", name, "--json"), d.output("watch", name, "--once", "--json"),
				d.output("history", name, "--json"),
			}
			for i, view := range []string{"status --json", "watch --json", "history --json"} {
				see(view, said[i], `"outcome": "`+e.outcome+`"`)
			}
			_, page := s.ask("GET", "/p/shop/runs/"+ids[name], "", "")
			page = html.UnescapeString(page)
			see("the page", page, `class="status `+cmp.Or(e.page, e.outcome+`"`))
			for _, r := range answer.Runs {
				if r.Loop == name && (r.Outcome != e.outcome || (r.Reason == nil) != e.live) {
					t.Errorf("the API says %+v", r)
				}
			}
			if e.live {
				see("explain", d.output("explain", name), `^It is in \w+: `+e.reason)
				return
			}
			for i, view := range []string{"status --json", "watch --json", "history --json"} {
				see(view, strings.ReplaceAll(said[i], `\"`, `"`), `"reason": "`+e.reason+`"`)
			}
			see("status", d.output("status", name), `^Reason: +`+e.reason+`$`)
			see("explain", d.output("explain", name), `^Reason: `+e.reason+`\.$`)
			see("explain --json", strings.ReplaceAll(d.output("explain", name, "--json"), `\"`, `"`),
				`"reason": "`+e.reason+`"`)
			see("the page", page, e.reason)
			see("the report", html.UnescapeString(d.output("report", name, "-o", "-")), e.reason)
			see("the report in Markdown",
				html.UnescapeString(d.output("report", name, "--format", "markdown", "-o", "-")), e.reason)
			if junit := html.UnescapeString(d.output("report", name, "--format", "junit", "-o", "-")); e.pass {
				see("JUnit", junit, `failures="0" errors="0"`)
			} else {
				see("JUnit", junit, `message="`+e.reason)
			}
			if name == "good" {
				return
			}
			if !e.untold {
				see("the notification", told, `^`+name+`\|.*`+e.reason)
			}
			if printed := runs[name].Said(); e.last != "" {
				see("run", printed, `^`+e.last)
				see("run", printed, `^Reason: `+e.reason+`$`)
			}
		})
	}
}
