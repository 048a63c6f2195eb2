package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"loops/internal/needs"
)

var openedState = regexp.MustCompile(`open(?:at)?\(.*"([^"]*state\.json)", O_RDONLY`)

// TestStateFileIsOpenedOnce: a command that tells how runs stand opens the state file of each once.
func TestStateFileIsOpenedOnce(t *testing.T) {
	t.Parallel()
	strace := needs.Command(t, "strace")
	needs.Tracing(t)
	dir, env := watchProject(t, "dir", "name: slow\ninitial: a\nstates:\n  a: {action: \"touch began; sleep 600\", next: b}\n  b: {terminal: true}\n")
	waitForFile(t, filepath.Join(dir, "began"))
	quick := "name: quick\ninitial: a\nstates:\n  a: {action: \"echo hi\", next: b}\n  b: {terminal: true}\n"
	must(t, os.WriteFile(filepath.Join(dir, ".loops/quick.yaml"), []byte(quick), 0o644))
	loopsIn(t, dir, env, "run", "--no-lock", "quick")
	for _, args := range []string{
		"status slow", "status quick", "status", "status --json", "list --running", "watch --once",
		"explain slow", "explain quick", "history slow", "history quick", "events slow", "events quick", "logs slow --no-follow", "logs quick", "graph --run slow",
	} {
		trace := filepath.Join(t.TempDir(), "trace")
		cmd := exec.Command(strace, append([]string{"-f", "-e", "trace=open,openat", "-o", trace, binary(t)}, strings.Fields(args)...)...)
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
