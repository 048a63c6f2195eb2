package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loops/internal/testenv"
)

// newAsked starts a run that asks, and an agent whose client asks its user by handler; nil = it cannot.
func newAsked(t *testing.T, handler func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)) *agent {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "ship.yaml"),
		[]byte(strings.Replace(asking, "choices: [approve, reject],",
			"choices: [approve, reject], confirm: [approve],", 1)), 0o644))
	env := cleanEnv(binary(t), dir)
	run := exec.Command(binary(t), "-C", dir, "run", "ship", "--park", "--quiet")
	run.Env = env
	if out, err := run.CombinedOutput(); run.ProcessState == nil || run.ProcessState.ExitCode() != 10 {
		t.Fatalf("run --park: %v\n%s", err, out)
	}
	cmd := exec.Command(binary(t), "-C", dir, "mcp")
	cmd.Env, cmd.Stderr = env, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	t.Cleanup(cancel)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"},
		&mcp.ClientOptions{ElicitationHandler: handler})
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return &agent{session, t, dir, env, cmd}
}

// An agent has its client ask the user with a form, which has the choices and fields of the question; the
// answer is the user's.
func TestMCPAsksTheUser(t *testing.T) {
	t.Parallel()
	forms := make(chan *mcp.ElicitParams, 4)
	a := newAsked(t, func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		forms <- r.Params
		return &mcp.ElicitResult{
			Action: "accept",
			Content: map[string]any{
				"choice": "approve", "confirm choice": true, "percent": 30.0,
				"reason": "it's green",
			},
		}, nil
	})
	if said := a.fail("answer", map[string]any{"run": "ship", "choice": "approve"}); !strings.Contains(said,
		"approve is a choice to be confirmed") {
		t.Errorf("an agent that does not confirm its choice: %s", said)
	}
	got := fmt.Sprint(a.ask("answer", map[string]any{"run": "ship", "ask_user": true}))
	if !strings.Contains(got, "choice:approve") || !strings.Contains(got, "by:the user, ") {
		t.Errorf("answer says %s", got)
	}
	form := <-forms
	if schema := fmt.Sprint(form.RequestedSchema); form.Message != "Ship it?\n\na\nb" ||
		!strings.Contains(schema, "approve reject") || !strings.Contains(schema, "I am sure (needed for approve)") ||
		!strings.Contains(schema, "percent:map[title:percent type:integer]") {
		t.Errorf("the user was asked %q with %s", form.Message, schema)
	}
	out := exec.Command(binary(t), "-C", a.dir, "resume", "ship")
	out.Env = a.env
	if text, err := out.CombinedOutput(); err != nil || !strings.Contains(string(text), "shipped 30, it's green") {
		t.Errorf("the run continues so: %v\n%s", err, text)
	}
}

// A user who closes the form, and a client without forms, leave the question open.
func TestMCPAsksInVain(t *testing.T) {
	t.Parallel()
	a := newAsked(t, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	})
	if got := fmt.Sprint(a.ask("answer", map[string]any{"run": "ship", "ask_user": true})); !strings.Contains(got,
		"question:Ship it?") || strings.Contains(got, "choice:approve") {
		t.Errorf("a form that was closed: %s", got)
	}
	if said := a.fail("answer",
		map[string]any{"run": "ship", "ask_user": true, "choice": "approve"}); !strings.Contains(said,
		"leave choice out") {
		t.Errorf("choice beside ask_user: %s", said)
	}
	b := newAsked(t, nil)
	if said := b.fail("answer", map[string]any{"run": "ship", "ask_user": true}); !strings.Contains(said,
		"no forms to ask its user with") {
		t.Errorf("a client without forms: %s", said)
	}
}
