package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

var openedState = regexp.MustCompile(`open(?:at)?\(.*"([^"]*state\.json)", O_RDONLY`)

// TestStateFileIsOpenedOnce: a command that shows the status of runs opens the state file of each once.
func TestStateFileIsOpenedOnce(t *testing.T) {
	t.Parallel()
	strace := testenv.Command(t, "strace")
	testenv.Tracing(t)
	dir, env := watchProject(t, "dir", "name: slow\ninitial: a\nstates:\n  a: {action: \"touch began; sleep 600\", "+
		"next: b}\n  b: {terminal: true}\n")
	waitForFile(t, filepath.Join(dir, "began"))
	quick := "name: quick\ninitial: a\nstates:\n  a: {action: \"echo hi\", next: b}\n  b: {terminal: true}\n"
	must(t, os.WriteFile(filepath.Join(dir, ".loops/quick.yaml"), []byte(quick), 0o644))
	loopsIn(t, dir, env, "run", "--no-lock", "quick")
	for _, args := range []string{
		"status slow", "status quick", "status", "status --json", "list --running", "watch --once",
		"explain slow", "explain quick", "history slow", "history quick", "history slow last", "history quick last",
		"events slow", "events quick",
		"logs slow", "logs quick", "graph slow --by visits", "graph quick --by visits", "report quick -o -",
	} {
		trace := filepath.Join(t.TempDir(), "trace")
		cmd := exec.Command(strace, append([]string{"-f", "-e", "trace=open,openat", "-o", trace, binary(t)},
			strings.Fields(args)...)...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
		text, err := os.ReadFile(trace)
		must(t, err)
		opened := map[string]int{}
		for _, m := range openedState.FindAllStringSubmatch(string(text), -1) {
			opened[filepath.Base(m[1])+" of "+filepath.Base(filepath.Dir(m[1]))]++
		}
		if len(opened) == 0 {
			t.Errorf("%s opens no state file", args)
		}
		for file, n := range opened {
			if n != 1 {
				t.Errorf("%s opens %s %d times", args, file, n)
			}
		}
	}
}

// TestOneFileCallForALookAtCommands: while an action runs, its owner touches no file of the project but that of
// the commands, once for each look: before anything was sent, and after a pause was.
func TestOneFileCallForALookAtCommands(t *testing.T) {
	t.Parallel()
	strace := testenv.Command(t, "strace")
	testenv.Tracing(t)
	dir, env := watchProject(t, "dir")
	text := "name: slow\ninitial: a\nstates:\n  a: {action: \"until test -e go; do sleep 0.1; done\", next: b}\n" +
		"  b: {terminal: true}\n"
	must(t, os.WriteFile(filepath.Join(dir, ".loops/slow.yaml"), []byte(text), 0o644))
	trace := filepath.Join(t.TempDir(), "trace")
	run := exec.Command(strace, "-f", "-e", "trace=%file", "-o", trace, binary(t), "run", "slow", "--quiet")
	run.Dir, run.Env = dir, env
	must(t, run.Start())
	t.Cleanup(func() { // for a test that fails before it says go
		_ = os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
		_ = run.Wait()
	})
	calls := func(from int) []string { // until there were looks behind that one
		t.Helper()
		var all []string
		testenv.Wait(t, "looks at commands", func() bool {
			b, _ := os.ReadFile(trace) // which is not there at first
			lines := strings.Split(string(b), "\n")
			all = slices.DeleteFunc(lines[:len(lines)-1], func(line string) bool {
				return !strings.Contains(line, `/.loops/`)
			})
			return strings.Count(strings.Join(all[min(from, len(all)):], "\n"), `.commands.jsonl"`) > 8
		})
		return all
	}
	before := calls(0)
	loopsIn(t, dir, env, "pause", "slow")
	after := calls(len(calls(0))) // the pause has been read
	for _, all := range [][]string{before, after} {
		for _, call := range all[len(all)-6:] {
			if !strings.Contains(call, "stat") || !strings.Contains(call, `.commands.jsonl"`) {
				t.Errorf("for a look there is the call %s", call)
			}
		}
	}
	if !slices.ContainsFunc(after[len(before):], func(call string) bool {
		return strings.Contains(call, "open") && strings.Contains(call, ".commands.jsonl")
	}) {
		t.Error("the pause was not read")
	}
	loopsIn(t, dir, env, "unpause", "slow")
}
