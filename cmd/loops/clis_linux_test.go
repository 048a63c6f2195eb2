package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

// These tests run loops with the real agent CLIs, as users do, against stand-ins for their vendors.

// cliPatience is how long a CLI may take on a busy machine.
const cliPatience = 10 * time.Minute

// A cliProject is a project whose only agent host is one CLI.
type cliProject struct {
	dir, home string
	env       []string
	api       *testenv.VendorAPI
	bin       string
}

func newCLIProject(t *testing.T, cli, loop string) cliProject {
	t.Helper()
	p := cliProject{dir: t.TempDir(), home: t.TempDir(), api: testenv.ServeVendor(t, cli), bin: binary(t)}
	p.env = append(testenv.CLIEnv(t, cli, p.api, p.home), "NO_COLOR=1", "LOOPS_VERIFY=1", "TZ=UTC")
	if cli == "gemini" {
		loop = strings.ReplaceAll(loop, "action_type: prompt", "action_type: prompt, model: gemini-2.5-flash")
		loop = strings.ReplaceAll(loop, "type: llm_structured", "type: llm_structured, model: gemini-2.5-flash")
	}
	if err := os.Mkdir(filepath.Join(p.dir, ".loops"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(p.dir, ".loops/agent.yaml"), loop)
	t.Cleanup(func() {
		// The tools have HOME too, in whatever session they are. What is left may still be on its way out.
		var left []string
		if !testenv.Within(testenv.Patience, func() bool {
			left = testenv.Alive(t, "HOME="+p.home)
			return len(left) == 0
		}) {
			t.Errorf("left alive: %q", left)
		}
	})
	return p
}

// start starts loops. done returns its exit code, negative for a signal, and what it said.
func (p cliProject) start(t *testing.T, args ...string) (process *os.Process, done func() (int, string)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.bin, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	// What loops leaves behind when it is killed has these streams too.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	clock := time.AfterFunc(cliPatience, func() { _ = cmd.Process.Kill() })
	return cmd.Process, func() (int, string) {
		err := cmd.Wait()
		clock.Stop()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
			t.Fatal(err)
		}
		if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
			return -int(s.Signal()), said.String()
		}
		return cmd.ProcessState.ExitCode(), said.String()
	}
}

// until waits for something to become true.
func (p cliProject) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	if !testenv.Within(cliPatience, is) {
		t.Fatalf("waited in vain until %s", what)
	}
}

func (p cliProject) made() bool {
	_, err := os.Stat(filepath.Join(p.dir, testenv.ToolMakes))
	return err == nil
}

// A loop with two prompts, a judge and a budget is killed in the middle of the second prompt: what was done is not done
// again, what was left of the CLI ends, and the rest is done by the resume.
func TestCLIKilledAndResumed(t *testing.T) {
	t.Parallel()
	testenv.WithCLI(t, "claude", func(t *testing.T, cli string) {
		p := newCLIProject(t, cli, `name: agent
initial: work
budget: {tokens: 1000, prompts: 6}
states:
  work:
    {action_type: prompt, action: "make it [[tool]]", evaluate: {type: llm_structured, prompt: "is it made? [[yes]]"}, on_yes: say, on_no: failed, on_error: failed}
  say:
    {action_type: prompt, action: "say so [[stuck]]", evaluate: {type: exit_code}, on_yes: done, on_no: failed, on_error: failed}
  done: {terminal: true}
  failed: {terminal: true}
`)
		process, done := p.start(t, "run", "agent")
		stuck := make(chan struct{})
		go func() {
			defer close(stuck)
			testenv.Within(cliPatience, func() bool { return p.api.Count("stuck") > 0 })
			_ = process.Kill()
		}()
		code, said := done()
		<-stuck
		if code != -int(syscall.SIGKILL) || p.api.Count("stuck") == 0 {
			t.Fatalf("exit %d before the second prompt:\n%s", code, said)
		}
		if !p.made() {
			t.Fatalf("the first prompt made nothing:\n%s", said)
		}
		_, done = p.start(t, "resume", "agent")
		if code, said := done(); code != 0 {
			t.Fatalf("resume: exit %d\n%s", code, said)
		}
		// The first prompt takes two requests: one for the tool, one with what came of it.
		if tool, yes, second := p.api.Count("tool"), p.api.Count("yes"), p.api.Count("stuck"); tool != 2 || yes < 1 ||
			yes > 2 || second != 2 {
			t.Errorf("requests: %d of the first prompt, %d of the judge, %d of the second prompt", tool, yes, second)
		}
	})
}

// Ctrl-C ends the CLI and the tool it runs, and the run can be resumed.
func TestCLICtrlC(t *testing.T) {
	t.Parallel()
	testenv.WithCLI(t, "codex", func(t *testing.T, cli string) {
		p := newCLIProject(t, cli, `name: agent
initial: work
states:
  work: {action_type: prompt, action: "work [[slowtool]]", evaluate: {type: exit_code}, on_yes: done, on_no: done}
  done: {terminal: true}
`)
		process, done := p.start(t, "run", "agent")
		p.until(t, "the tool runs", p.made)
		if err := process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if code, said := done(); code != 130 {
			t.Errorf("exit %d\n%s", code, said)
		}
		if left := testenv.Alive(t, "HOME="+p.home); len(left) > 0 {
			t.Errorf("alive when loops had ended: %q", left)
		}
	})
}

// A key that is refused ends the run with a message that names host, state and reason, after one request.
func TestCLIWrongKey(t *testing.T) {
	t.Parallel()
	testenv.WithCLI(t, "codex", func(t *testing.T, cli string) {
		p := newCLIProject(t, cli, `name: agent
initial: work
states:
  work: {action_type: prompt, action: "work [[401]]", evaluate: {type: exit_code}, on_yes: done, on_no: failed, on_error: failed}
  done: {terminal: true}
  failed: {terminal: true}
`)
		_, done := p.start(t, "run", "agent")
		code, said := done()
		if code != 1 || !strings.Contains(said, "work") || !strings.Contains(said, "invalid api key") {
			t.Errorf("exit %d\n%s", code, said)
		}
		if n := p.api.Count("401"); n != 1 {
			t.Errorf("%d requests with a key that is refused", n)
		}
	})
}

// A budget ends a run before the prompt that it is too small for.
func TestCLIBudget(t *testing.T) {
	t.Parallel()
	testenv.WithCLI(t, "codex", func(t *testing.T, cli string) {
		p := newCLIProject(t, cli, `name: agent
initial: work
budget: {tokens: 30}
states:
  work: {action_type: prompt, action: "say [[ok]]", evaluate: {type: exit_code}, on_yes: work, on_no: failed, on_error: failed}
  failed: {terminal: true}
`)
		_, done := p.start(t, "run", "agent")
		// Each prompt takes 18.
		if code, said := done(); code != 8 || p.api.Count("ok") != 2 {
			t.Errorf("exit %d after %d prompts\n%s", code, p.api.Count("ok"), said)
		}
	})
}
