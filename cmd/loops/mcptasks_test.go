package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loops/internal/testenv"
)

type taskParams struct {
	mcp.ParamsBase
	ID        string         `json:"taskId"`
	Responses map[string]any `json:"inputResponses,omitempty"`
}

type taskResult struct {
	mcp.ResultBase
	Type     string              `json:"resultType"`
	ID       string              `json:"taskId"`
	Status   string              `json:"status"`
	Message  string              `json:"statusMessage"`
	Created  string              `json:"createdAt"`
	Updated  string              `json:"lastUpdatedAt"`
	TTL      *int64              `json:"ttlMs"`
	Requests mcp.InputRequestMap `json:"inputRequests"`
	Result   *mcp.CallToolResult `json:"result"`
}

// A tasker is a client that has declared tasks.
type tasker struct {
	*agent
	wire *bytes.Buffer // all messages
}

func newTasker(t *testing.T, dir string, env []string, declares bool) *tasker {
	t.Helper()
	cmd := exec.Command(binary(t), "-C", dir, "mcp")
	cmd.Env, cmd.Stderr = env, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	can := &mcp.ClientCapabilities{}
	if declares {
		can.AddExtension("io.modelcontextprotocol/tasks", nil)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: can})
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		must(t, mcp.AddSendingCustomMethod[*taskParams, *taskResult](client, method))
	}
	wire := &bytes.Buffer{}
	session, err := client.Connect(t.Context(), &mcp.LoggingTransport{
		Transport: &mcp.CommandTransport{Command: cmd},
		Writer:    wire,
	}, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return &tasker{&agent{session, t, dir, env, cmd}, wire}
}

func (a *tasker) send(method, id string, responses map[string]any) (*taskResult, error) {
	return mcp.CallCustomMethod[*taskParams, *taskResult](a.t.Context(), a.ClientSession, method,
		&taskParams{ID: id, Responses: responses})
}

// create calls a tool that starts a run, and returns the id of its task.
func (a *tasker) create(tool string, arguments map[string]any) string {
	a.t.Helper()
	r, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	must(a.t, err)
	task, _ := r.Meta["io.modelcontextprotocol/related-task"].(map[string]any)
	id, _ := task["taskId"].(string)
	if id == "" {
		a.t.Fatalf("%s returned no task: %v %s", tool, r.Meta, said(r))
	}
	return id
}

// waitFor polls a task until it has a status.
func (a *tasker) waitFor(id, status string) (task *taskResult) {
	a.t.Helper()
	testenv.Wait(a.t, "task "+id+" "+status, func() bool {
		var err error
		task, err = a.send("tasks/get", id, nil)
		must(a.t, err)
		return task.Status == status
	})
	if task.Type != "complete" || task.ID != id || task.TTL != nil || task.Created == "" {
		a.t.Errorf("tasks/get: %+v", task)
	}
	return task
}

// accept answers the one question of a task.
func (a *tasker) accept(task *taskResult, content map[string]any) {
	a.t.Helper()
	if len(task.Requests) != 1 {
		a.t.Fatalf("the task asks %v", task.Requests)
	}
	for key := range task.Requests {
		_, err := a.send("tasks/update", task.ID,
			map[string]any{
				key:       map[string]any{"action": "accept", "content": content},
				"another": map[string]any{"action": "accept"},
			})
		must(a.t, err)
	}
}

// withoutOwner returns a status without the process of the run: that of a run that has just completed may be ending.
func withoutOwner(status any) any {
	m, _ := status.(map[string]any)
	m = maps.Clone(m)
	for _, key := range []string{"owner", "pid", "pid_source"} {
		delete(m, key)
	}
	return m
}

// A run is a task over kills of the run, of the server and of the client: what it is, its record says.
func TestMCPTasks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	t.Cleanup(func() { testenv.RemoveSoon(t, dir) })
	must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
	work := "  work: {action: 'test -e again || { echo $$ > pid.$LOOPS_RUN_ID; exec sleep 60; }', next: approve}\n"
	loop := strings.Replace(strings.Replace(asking, "initial: approve", "initial: work", 1), "states:\n",
		"states:\n"+work, 1)
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "ship.yaml"), []byte(loop), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "slow.yaml"), []byte(agentLoops["slow"]), 0o644))
	env := cleanEnv(binary(t), dir)
	a := newTasker(t, dir, env, true)
	id := a.create("run", map[string]any{"name": "ship"})
	a.same("the first task", a.waitFor(id, "working").Result, (*mcp.CallToolResult)(nil))
	if !strings.Contains(a.wire.String(), `"resultType":"task"`) || !strings.Contains(a.wire.String(), `"ttlMs":null`) {
		t.Errorf("the result of run is no task:\n%s", a.wire)
	}
	pid := a.started(id)

	// the run and the server are killed
	owner := int(a.loops("status", id, "--json").(map[string]any)["pid"].(float64))
	must(t, syscall.Kill(owner, syscall.SIGKILL))
	waitGone(t, owner)
	must(t, a.server.Process.Kill())
	waitGone(t, a.server.Process.Pid)
	_ = a.Close()
	must(t, os.WriteFile(filepath.Join(dir, "again"), nil, 0o644))

	b := newTasker(t, dir, env, true)
	if killed := b.waitFor(id, "working"); !strings.Contains(killed.Message, "killed") ||
		!strings.Contains(killed.Message, "the tool resume continues it") {
		t.Errorf("a run that was killed: %+v", killed)
	}
	b.same("the task of resume", b.create("resume", map[string]any{"run": id}), id)
	waitGone(t, pid)
	asks := b.waitFor(id, "input_required")
	for _, ask := range asks.Requests {
		form, ok := ask.(*mcp.ElicitParams)
		if !ok || form.Message != "Ship it?\n\na\nb" ||
			!strings.Contains(fmt.Sprint(form.RequestedSchema), "approve reject") {
			t.Errorf("the question is %+v", ask)
		}
	}
	must(t, b.Close())

	c := newTasker(t, dir, env, true)
	c.accept(asks, map[string]any{"choice": "approve", "percent": 30, "reason": "it's green"})
	done := c.waitFor(id, "completed")
	object, _ := done.Result.StructuredContent.(map[string]any)
	c.same("the result", object["instance_id"], id)
	c.same("its status", withoutOwner(object["status"]), withoutOwner(c.loops("status", id, "--json")))
	c.accept(asks, map[string]any{"choice": "reject"}) // too late: it is ignored
	if answers := fmt.Sprint(object["status"]); !strings.Contains(answers, "by:the user, ") {
		t.Errorf("who answered is not on record: %s", answers)
	}
	if runs := c.loops("history", "ship", "--json").([]any); len(runs) != 1 {
		t.Errorf("the task is %d runs", len(runs))
	}
	for uri, want := range map[string]string{
		"": `"instance_id":"` + id, "/graph": "flowchart",
		"/receipt": `"loop":"ship"`,
	} {
		r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "loops://runs/" + id + uri})
		if err != nil || len(r.Contents) != 1 ||
			!strings.Contains(strings.ReplaceAll(r.Contents[0].Text, `": "`, `":"`), want) {
			t.Errorf("loops://runs/%s%s: %v %+v", id, uri, err, r)
		}
	}
}

// A task that is cancelled is a run that is stopped. Parked runs continue when their question is answered.
func TestMCPTaskEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	t.Cleanup(func() { testenv.RemoveSoon(t, dir) })
	must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "ship.yaml"), []byte(asking), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "slow.yaml"), []byte(agentLoops["slow"]), 0o644))
	env := cleanEnv(binary(t), dir)
	a := newTasker(t, dir, env, true)
	slow := a.create("run", map[string]any{"name": "slow"})
	pid := a.started(slow)
	_, err := a.send("tasks/cancel", slow, nil)
	must(t, err)
	waitGone(t, pid)
	a.waitFor(slow, "cancelled")
	_, err = a.send("tasks/cancel", slow, nil)
	must(t, err) // it has ended: nothing is done

	park := exec.Command(binary(t), "-C", dir, "run", "ship", "--park", "--quiet")
	park.Env = env
	if out, err := park.CombinedOutput(); park.ProcessState == nil || park.ProcessState.ExitCode() != 10 {
		t.Fatalf("run --park: %v\n%s", err, out)
	}
	parked := a.loops("history", "ship", "--json").([]any)[0].(map[string]any)["instance_id"].(string)
	asks := a.waitFor(parked, "input_required")
	for key := range asks.Requests {
		_, err := a.send("tasks/update", parked,
			map[string]any{key: map[string]any{"action": "accept", "content": map[string]any{"choice": "perhaps"}}})
		a.refused("a choice that is none", err, jsonrpc.CodeInvalidParams, "perhaps")
		_, err = a.send("tasks/update", parked, map[string]any{key: map[string]any{"action": "decline"}})
		must(t, err)
	}
	a.waitFor(parked, "input_required")
	a.accept(asks, map[string]any{"choice": "approve", "percent": 30, "reason": "it's green"})
	a.waitFor(parked, "completed")

	for _, id := range []string{
		"", "ship", "nothing-20260101T000000", "../" + parked, filepath.Join(dir, parked),
		"/etc/passwd",
	} {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			_, err := a.send(method, id, nil)
			a.refused(method+" "+id, err, jsonrpc.CodeInvalidParams, "")
		}
	}
	for _, uri := range []string{"nothing", "..%2Fship", "%2Fetc%2Fpasswd", "nothing/graph", "%2Fetc%2Fpasswd/graph"} {
		_, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "loops://runs/" + uri})
		a.refused(uri, err, jsonrpc.CodeInvalidParams, "")
	}

	// the plain tools are as they are: for clients without tasks, and for calls that wait themselves
	plain := newTasker(t, dir, env, false)
	_, err = plain.send("tasks/get", parked, nil)
	plain.refused("a client without tasks", err, mcp.CodeMissingRequiredClientCapabilities, "tasks")
	plain.same("a plain run", plain.ask("run", map[string]any{"name": "slow", "stop_with_server": true})["ended"],
		false)
	must(t, plain.Close())
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "slow.yaml"), []byte(agentLoops["quick"]), 0o644))
	a.same("a run that is waited for", a.ask("run", map[string]any{"name": "slow", "wait_seconds": 60})["ended"], true)
	if text := a.fail("run", map[string]any{"name": "nothing"}); !strings.Contains(text, "nothing") {
		t.Errorf("a loop that is not there: %s", text)
	}
}

func (a *tasker) refused(what string, err error, code int64, text string) {
	a.t.Helper()
	if wrong, ok := errors.AsType[*jsonrpc.Error](err); !ok || wrong.Code != code ||
		!strings.Contains(wrong.Message, text) {
		a.t.Errorf("%s: %v; expected the code %d and %q", what, err, code, text)
	}
}
