package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/internal/testenv"
)

// cloned returns a clone of a repository with a loop, or an example, that eve committed.
func cloned(t *testing.T, name, text string) string {
	t.Helper()
	testenv.Command(t, "git")
	origin, clone := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = origin, append(cleanEnv(binary(t), origin), "GIT_AUTHOR_EMAIL=eve@example.org")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	must(t, os.MkdirAll(filepath.Dir(filepath.Join(origin, name)), 0o755))
	must(t, os.WriteFile(filepath.Join(origin, name), []byte(text), 0o644))
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "first")
	git("clone", "-q", origin, clone)
	return clone
}

const foreignLoop = `name: fix
description: of another author
initial: a
states:
  a: {action: echo it ran, next: done}
  done: {terminal: true}
`

// TestTrustAtATerminal: the user is shown the loop and asked once; no is no.
func TestTrustAtATerminal(t *testing.T) {
	t.Parallel()
	dir := cloned(t, ".loops/fix.yaml", foreignLoop)
	ask := func(answer string, args ...string) string {
		t.Helper()
		x := typistIn(t, dir, args...)
		x.until("may write", 1)
		x.until("echo it ran", 1)
		x.until("\n\nRun it, now and whenever it is as it is now? [y/N] ", 1)
		x.types(answer + "\n")
		return x.ends()
	}
	if out := ask("", "run", "fix"); !strings.Contains(out, "loops trust fix") ||
		strings.Contains(out, "Loop completed") {
		t.Errorf("after no:\n%s", out)
	}
	if out := ask("y", "run", "fix"); !strings.Contains(out, "Loop completed: done") {
		t.Errorf("after yes:\n%s", out)
	}
	x := typistIn(t, dir, "run", "fix")
	if out := x.ends(); !strings.Contains(out, "Loop completed: done") || strings.Contains(out, "[y/N]") {
		t.Errorf("the second time:\n%s", out)
	}
	// in the background it is asked about before
	testenv.Loops(t, dir, cleanEnv(binary(t), dir), "trust", "--forget", "fix")
	if out := ask("yes", "run", "-b", "fix"); !strings.Contains(out, "is running in the background") {
		t.Errorf("in the background:\n%s", out)
	}
	endsInBackground(t, dir)
}

// endsInBackground waits until the one run in the background of a project has said the last that it says.
func endsInBackground(t *testing.T, dir string) {
	t.Helper()
	testenv.Wait(t, "the run in the background ends", func() bool {
		logs, _ := filepath.Glob(filepath.Join(dir, ".loops", "logs", "*.log"))
		if len(logs) != 1 {
			return false
		}
		said, err := os.ReadFile(logs[0])
		return err == nil && strings.Contains(string(said), "# ended with exit code 0")
	})
}

// TestTrustOfExamples: an example of this repository runs unasked in a fresh clone, one with other bytes does not.
func TestTrustOfExamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.loops.example/hello.yaml")
	must(t, err)
	dir := cloned(t, ".loops.example/hello.yaml", string(text))
	testenv.Loops(t, dir, cleanEnv(binary(t), dir), "run", ".loops.example/hello.yaml")
	dir = cloned(t, ".loops.example/hello.yaml", string(text)+"# more\n")
	cmd := exec.Command(binary(t), "run", ".loops.example/hello.yaml")
	cmd.Dir, cmd.Env = dir, cleanEnv(binary(t), dir)
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 13 ||
		!strings.Contains(string(out), "loops trust .loops.example/hello.yaml") {
		t.Errorf("exit code %d:\n%s", cmd.ProcessState.ExitCode(), out)
	}
}

// TestTrustOfServe: the page and the API of a server begin no loop that others wrote, until the user of the server
// trusts it, and say that its schedule does not.
func TestTrustOfServe(t *testing.T) {
	t.Parallel()
	dir := cloned(t, ".loops/fix.yaml", foreignLoop+"schedule: '0 3 1 1 *'\n")
	s := startServe(t, dir)
	for _, path := range []string{"/schedule", "/api/v1/projects/clone/schedules"} {
		if status, text := s.ask("GET", path, "", ""); status != http.StatusOK ||
			!strings.Contains(text, "loop fix is not yours: .loops/fix.yaml (eve@example.org)") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	begin := func() (int, string) {
		return s.ask("POST", "/api/v1/projects/clone/runs", "application/json", `{"loop": "fix"}`)
	}
	if status, text := begin(); status < 400 || !strings.Contains(text, " trust fix") {
		t.Errorf("before: %d %s", status, text)
	}
	testenv.Loops(t, dir, append(cleanEnv(binary(t), dir), "XDG_STATE_HOME="+s.state), "trust", "fix")
	if status, text := begin(); status >= 300 {
		t.Errorf("after: %d %s", status, text)
	}
	endsInBackground(t, dir)
}

// TestTrustOfWebhooks: a message with the right signature begins no loop that others wrote, until the user of
// the server trusts it.
func TestTrustOfWebhooks(t *testing.T) {
	t.Parallel()
	dir := cloned(t, ".loops/greet.yaml", greetLoop)
	writeText(t, filepath.Join(dir, ".loops/config.yaml"), webhookSettings)
	s := startServe(t, dir)
	send := func(delivery string) (int, map[string]any) {
		body := `{"sender": {"login": "ada"}, "n": 1}`
		return s.hook("deploy", signed("github", webhookSecret, "push", delivery, body, time.Now()), body)
	}
	if status, answer := send("1"); status != http.StatusServiceUnavailable || answer["run"] != nil {
		t.Errorf("before: %d %v", status, answer)
	}
	if out := testenv.Loops(t, dir, cleanEnv(binary(t), dir), "list"); !strings.Contains(out, "greet") ||
		strings.Contains(out, "greet-") {
		t.Errorf("there is a run:\n%s", out)
	}
	testenv.Loops(t, dir, append(cleanEnv(binary(t), dir), "XDG_STATE_HOME="+s.state), "trust", "greet")
	status, answer := send("2")
	run, _ := answer["run"].(string)
	if status >= 300 || run == "" {
		t.Fatalf("after: %d %v", status, answer)
	}
	s.until(run, `"completed"`)
	if got := greeted(dir); len(got) != 1 || got[0] != "hello ada, 1" {
		t.Errorf("greeted %q", got)
	}
}
