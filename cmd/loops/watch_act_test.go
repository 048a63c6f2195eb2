package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// sometimes fails in its sub-loop until there is a file, and asks then.
const (
	sometimes = `name: ship
description: ships
initial: outer
states:
  outer: {loop: try, on_yes: gate, on_no: failed}
  gate: {ask: {question: "Ship it?", choices: [approve, reject]}, on_approve: done, on_reject: failed}
  done: {terminal: true}
  failed: {terminal: true, failure: true}
`
	try = `name: try
description: tries
initial: try
states:
  try:
    action: "[ -e fixed ] || { echo 2 tests failed in cart_test.go, of which the first one is TestTotal of the cart of a customer in Norway; exit 1; }"
    on_yes: done
    on_no: failed
  done: {terminal: true}
  failed: {terminal: true, failure: true}
`
)

// TestWatchActs drives a run from the screen alone: starts it, reads why it failed, starts it again, answers
// its question, reads its log in a pager and opens its loop in an editor.
func TestWatchActs(t *testing.T) {
	t.Parallel()
	dir, env := watchProject(t, "dir")
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "ship.yaml"), []byte(sometimes), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "try.yaml"), []byte(try), 0o644))
	for name, script := range map[string]string{
		"pager": "#!/bin/bash\ncat >paged\necho $$ >pid\ntrap 'echo caught >>paged' INT\n" +
			"read -r -p 'a page: ' line </dev/tty\nread -r -p 'again: ' line </dev/tty\n" +
			"echo \"left by $line\" >>paged\n",
		"editor": "#!/bin/bash\necho \"$1\" >edited\n",
		"broken": "#!/bin/bash\nexit 3\n",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	holds := func(file, want string) func() bool {
		return func() bool {
			b, _ := os.ReadFile(filepath.Join(dir, file))
			return strings.Contains(string(b), want)
		}
	}
	w := startWatch(t, dir, append(env, "PAGER=./pager", "VISUAL=./editor"), 24, 80)
	w.see("No active runs.")
	w.press("Snope\r")
	w.see("no loop")
	w.press("Sship\r")
	w.see("▸✗ ship-")
	w.see("failed")
	w.until("the reason is seen whole", func() bool {
		return strings.Contains(strings.Join(strings.Fields(strings.Join(w.lines(), " ")), " "),
			`the first one is TestTotal of the cart of a customer in Norway")`)
	})
	w.press("e")
	w.see("Run ship-")
	w.see("Step 1, outer")
	w.press("q")
	w.see("▸✗ ship-")
	w.press("L")
	w.see("a page:")
	w.press("\x03")
	w.until("Ctrl-C is the pager's", holds("paged", "caught"))
	pid, err := strconv.Atoi(strings.TrimSpace(readText(t, filepath.Join(dir, "pid"))))
	must(t, err)
	if pager, err := syscall.Getpgid(pid); err != nil || pager == w.cmd.Process.Pid {
		t.Errorf("the pager is in process group %d (%v), and that of watch would end by its Ctrl-C", pager, err)
	}
	w.press("x\ny\n")
	w.see("▸✗ ship-")
	w.until("the pager had the log", holds("paged", "2 tests failed in cart_test.go"))
	w.press("E")
	w.until("the editor had the loop", holds("edited", "ship.yaml"))
	w.see("▸✗ ship-")
	must(t, os.WriteFile(filepath.Join(dir, "fixed"), nil, 0o644))
	nextSecond(t) // the name of a run has its second
	w.press("S\r")
	w.see("▸~ ship-") // the log may show the question before the list does
	w.press("a")
	w.see("answer: ")
	w.see("1 approve, 2 reject   Enter answers")
	w.press("perhaps\r")
	w.see("no choice")
	w.press("\x15approve\r")
	w.see("▸✓ ship-")
	w.press("fcompleted\r")
	w.see("filter completed: 1 of 2")
	w.press("\x1b")
	w.until("both are seen", func() bool { return strings.Contains(strings.Join(w.lines(), "\n"), " ✗ ship-") })
	w.press("q")
	w.end(0)

	w = startWatch(t, dir, append(env, "PAGER=./broken"), 24, 80)
	w.see("▸✓ ship-")
	w.press("L")
	w.see("✗ ./broken failed (exit status 3); PAGER")
	w.press("q")
	w.end(0)
}

// TestWatchResumes has the screen resume what it stopped.
func TestWatchResumes(t *testing.T) {
	t.Parallel()
	dir, env := watchProject(t, "dir", ticking)
	w := startWatch(t, dir, env, 24, 80)
	w.see("▸▶ tick-")
	w.press("sy")
	w.see("▸! tick-")
	w.see("no active runs, 1 ended") // its process has ended, too
	w.press("R")
	w.see("Resume tick-")
	w.press("y")
	w.see("▸▶ tick-")
	w.see("1 active run")
	w.press("q")
	w.end(0)
}
