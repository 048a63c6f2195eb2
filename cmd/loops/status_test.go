package main_test

import (
	"regexp"
	"strings"
	"testing"
)

// full is a run of which there is much to show.
const full = `name: full
description: tells all that status knows of
initial: work
max_steps: 5
timeout: 3600
budget: {steps: 6}
scope: [one]
states:
  work: {action: "echo $(seq 1 60)", evaluate: {type: output_contains, pattern: "nothing of the kind that would ever appear in there"}, on_yes: done, on_no: slow}
  slow: {action: "touch began; sleep 60", timeout: 100, idle_timeout: 90, next: done}
  done: {terminal: true}
`

const fullStatus = `Loop:      full
Run:       full-<STAMP>
Status:    running
State:     slow
Step:      2/5
Elapsed:   <TIME>
Idle:      <TIME> since its last event or line of output
Action:    touch began; sleep 60 (runs for <TIME>)
Verdict:   work: output_contains said no: the pattern "nothing of the kind that
           would ever appear in there" was not found in the output.
Route:     work continued to slow: on_no.
Limits:    step cap: 2 of 5 used; step budget: 2 of 6 used
Started:   <CLOCK>
Updated:   <CLOCK> (<AGO>)
Owner:     pid <PID>, alive
Events:    .loops/.running/full-<STAMP>.events.jsonl
Watch:     loops attach full-<STAMP>`

var fullMasks = []struct {
	found *regexp.Regexp
	mask  string
}{
	{regexp.MustCompile(`full-\d{8}T\d{6}`), "full-<STAMP>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( [A-Z]{3,5}| [-+]\d{2,4})`), "<CLOCK>"},
	{regexp.MustCompile(`\((just now|\S+ ago)\)`), "(<AGO>)"},
	{regexp.MustCompile(`pid \d+`), "pid <PID>"},
	{regexp.MustCompile(`(Elapsed: +|Idle: +|runs for )[\d.]+m?s`), "$1<TIME>"},
}

// TestStatusFitsOneScreen wants all that status prints to fit on a terminal of 80 columns and 24 rows, with the prompt.
func TestStatusFitsOneScreen(t *testing.T) {
	t.Parallel()
	dir, env := watchProject(t, "dir", full)
	waitForFile(t, dir+"/began")
	w := startOnTerminal(t, dir, env, 24, 80, binary(t), "status", "full")
	w.see("Watch: ")
	got := strings.Join(w.lines(), "\n")
	for _, m := range fullMasks {
		got = m.found.ReplaceAllString(got, m.mask)
	}
	if got = strings.TrimRight(got, "\n"); got != fullStatus {
		t.Errorf("got\n%s\nwant\n%s", got, fullStatus)
	}
}
