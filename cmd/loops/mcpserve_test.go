package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/docs"
	"loops/internal/testenv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An agent is the official client of the protocol, with the real program as its server.
type agent struct {
	*mcp.ClientSession
	t      *testing.T
	dir    string
	env    []string
	server *exec.Cmd
}

var agentLoops = map[string]string{
	"quick": "name: quick\ndescription: a test\ninitial: say\nstates:\n  say: {action: 'echo \"${context.word}\"', " +
		"next: done}\n  done: {terminal: true}\ncontext: {word: none}\n",
	"slow": "name: slow\ndescription: a test\ninitial: wait\nstates:\n" +
		"  wait: {action: 'echo $$ > \"pid.$LOOPS_RUN_ID\"; exec sleep 60', next: done}\n  done: {terminal: true}\n",
	"bad": "name: bad\ndescription: a test\ninitial: nowhere\nstates:\n  done: {terminal: true}\n",
}

func newAgent(t *testing.T, args ...string) *agent {
	dir := t.TempDir()
	t.Cleanup(func() { testenv.RemoveSoon(t, dir) }) // a run that is shown as ended may still be busy in it
	must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
	for name, text := range agentLoops {
		must(t, os.WriteFile(filepath.Join(dir, ".loops", name+".yaml"), []byte(text), 0o644))
	}
	return agentIn(t, dir, cleanEnv(binary(t), dir), args...)
}

func agentIn(t *testing.T, dir string, env []string, args ...string) *agent {
	cmd := exec.Command(binary(t), append([]string{"-C", dir, "mcp"}, args...)...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return &agent{session, t, dir, env, cmd}
}

// ask calls a tool that is to succeed.
func (a *agent) ask(tool string, arguments map[string]any) map[string]any {
	a.t.Helper()
	r, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	must(a.t, err)
	if r.IsError {
		a.t.Fatalf("%s: %s", tool, said(r))
	}
	m, ok := r.StructuredContent.(map[string]any)
	if !ok {
		a.t.Fatalf("%s: no object but %v", tool, r.StructuredContent)
	}
	var again map[string]any
	if err := json.Unmarshal([]byte(said(r)), &again); err != nil || !reflect.DeepEqual(m, again) {
		a.t.Errorf("%s: the text is not the structured content: %s", tool, said(r))
	}
	return m
}

// fail calls a tool that is to fail, and returns what it says.
func (a *agent) fail(tool string, arguments map[string]any) string {
	a.t.Helper()
	r, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	must(a.t, err)
	if !r.IsError {
		a.t.Fatalf("%s does not fail: %s", tool, said(r))
	}
	return said(r)
}

func said(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// loops returns what a command prints as JSON.
func (a *agent) loops(args ...string) any {
	a.t.Helper()
	cmd := exec.Command(binary(a.t), append([]string{"-C", a.dir}, args...)...)
	cmd.Env = a.env
	out, err := cmd.Output()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		a.t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(out, &v); err != nil {
		a.t.Fatalf("loops %q: %v: %s", args, err, out)
	}
	return v
}

func (a *agent) same(what string, got, want any) {
	a.t.Helper()
	if !reflect.DeepEqual(got, want) {
		a.t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// started waits until the action of a run of slow runs, and returns its pid.
func (a *agent) started(id any) int {
	a.t.Helper()
	file := filepath.Join(a.dir, fmt.Sprintf("pid.%v", id))
	var b []byte
	testenv.Wait(a.t, fmt.Sprint("the action of run ", id), func() bool {
		b, _ = os.ReadFile(file)
		return strings.HasSuffix(string(b), "\n")
	})
	var pid int
	_, err := fmt.Sscan(string(b), &pid)
	must(a.t, err)
	return pid
}

func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return syscall.Kill(pid, 0) == nil && (err != nil || !strings.Contains(string(stat), ") Z "))
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	testenv.Wait(t, fmt.Sprint("the end of process ", pid), func() bool { return !lives(pid) })
}

// Every tool returns what its command prints.
func TestMCPTools(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	tools, err := a.ListTools(t.Context(), nil)
	must(t, err)
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	a.same("tools", names, []string{
		"answer", "events", "explain", "extend", "history", "list", "logs", "memory",
		"pause", "receipt", "resume", "run", "signal", "simulate", "status", "stop", "unblock", "unpause", "validate",
	})

	listed := a.ask("list", nil)
	a.same("loops", listed["loops"], a.loops("list", "--json"))
	a.same("runs", listed["runs"], []any{})
	checked := a.ask("validate", nil)
	a.same("validate", checked["loops"], a.loops("validate", "--json"))
	a.same("valid", checked["valid"], false)
	a.same("valid", a.ask("validate", map[string]any{"names": []string{"quick"}, "strict": true})["valid"], true)

	ran := a.ask("run", map[string]any{"name": "quick", "context": map[string]any{"word": "hello"}, "wait_seconds": 60})
	a.same("ended", ran["ended"], true)
	a.same("exit code", ran["exit_code"], 0.0)
	id := ran["instance_id"].(string)
	a.same("status", ran["status"], a.loops("status", id, "--json"))
	a.same("status", a.ask("status", map[string]any{"run": "quick"}), a.loops("status", id, "--json"))
	a.same("history", a.ask("history", map[string]any{"name": "quick", "since": "1h"})["runs"],
		a.loops("history", "quick", "--json"))

	// The events in pieces are those of the command, and the output is among them.
	var events []any
	for after, more := 0.0, true; more; {
		page := a.ask("events", map[string]any{"run": id, "after": after, "limit": 2})
		if list := page["events"].([]any); len(list) == 0 || len(list) > 2 {
			t.Fatalf("%d events on a page", len(list))
		}
		events = append(events, page["events"].([]any)...)
		after, more = page["next_after"].(float64), page["more"].(bool)
	}
	a.same("events", events, a.loops("history", "quick", id, "--json", "-n", "0"))
	routes := a.ask("events", map[string]any{"run": "quick", "event": "action_output"})["events"].([]any)
	if len(routes) != 1 || routes[0].(map[string]any)["line"] != "hello" {
		t.Errorf("output: %v", routes)
	}
}

// What a run did and why, and what a loop would do, are the objects of the commands.
func TestMCPLooksInside(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	id := a.ask("run", map[string]any{"name": "quick", "wait_seconds": 60})["instance_id"].(string)
	a.same("explain", a.ask("explain", map[string]any{"run": "quick"}), a.loops("explain", id, "--json"))
	a.same("receipt", a.ask("receipt", map[string]any{"run": "quick"}), a.loops("receipt", id, "--json"))
	if said := a.fail("memory", map[string]any{"name": "quick"}); !strings.Contains(said, "no run left a memory") {
		t.Errorf("without a memory: %s", said)
	}
	must(t, os.MkdirAll(filepath.Join(a.dir, ".loops/memory"), 0o755))
	writeText(t, filepath.Join(a.dir, ".loops/memory/quick.jsonl"),
		`{"id":"r/1","run":"r","state":"a","at":"2026-11-30T10:00:00Z","fact":"the tests need a database"}`+"\n")
	a.same("memory", a.ask("memory", map[string]any{"name": "quick"}), a.loops("memory", "show", "quick", "--json"))
	a.same("explain a step", a.ask("explain", map[string]any{"run": id, "step": "1"}),
		a.loops("explain", id, "1", "--json"))

	const all = "==> step 1, say: echo \"none\"\nnone\n"
	a.same("logs", a.ask("logs", map[string]any{"run": id}),
		map[string]any{"instance_id": id, "text": all, "bytes_before": 0.0})
	a.same("end of logs", a.ask("logs", map[string]any{"run": id, "bytes": 5}),
		map[string]any{"instance_id": id, "text": "none\n", "bytes_before": float64(len(all) - 5)})
	a.same("logs of no state", a.ask("logs", map[string]any{"run": id, "state": "other"})["text"], "")

	a.same("by chance", a.ask("simulate", map[string]any{"name": "quick"}),
		a.loops("simulate", "quick", "--seed", "1", "--json"))
	a.same("by scenario",
		a.ask("simulate",
			map[string]any{"name": "quick", "scenario": "all-fail", "context": map[string]any{"word": "x"}}),
		a.loops("simulate", "quick", "--scenario", "all-fail", "--context", "word=x", "--json"))
	a.same("many", a.ask("simulate", map[string]any{"name": "quick", "runs": 10}),
		a.loops("simulate", "quick", "--runs", "10", "--json"))
	a.same("by script",
		a.ask("simulate",
			map[string]any{"name": "quick", "script": "say yes"})["end"].(map[string]any)["final_state"], "done")
}

// The page of the language is a resource.
func TestMCPResource(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	list, err := a.ListResources(t.Context(), nil)
	must(t, err)
	if len(list.Resources) != 1 || list.Resources[0].URI != "loops://language" {
		t.Fatalf("resources: %v", list.Resources)
	}
	page, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "loops://language"})
	must(t, err)
	if len(page.Contents) != 1 || page.Contents[0].Text != docs.Language() ||
		page.Contents[0].MIMEType != "text/markdown" {
		t.Errorf("the page is not that of the language: %d parts", len(page.Contents))
	}
	if _, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "loops://other"}); err == nil {
		t.Error("there is a page loops://other")
	}
}

// A run is held before its next state, and continues when it is let.
func TestMCPPause(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	must(t, os.WriteFile(filepath.Join(a.dir, ".loops", "steps.yaml"),
		[]byte("name: steps\ndescription: a test\ninitial: one\nstates:\n  one: {action: 'until [ -e go ]; do sleep "+
			"0.02; done', next: two}\n  two: {action: 'touch two', next: done}\n  done: {terminal: true}\n"), 0o644))
	id := a.ask("run", map[string]any{"name": "steps"})["instance_id"]
	paused := a.ask("pause", map[string]any{"run": id})["paused"].([]any)
	if len(paused) != 1 || paused[0].(map[string]any)["instance_id"] != id ||
		paused[0].(map[string]any)["paused"] != false {
		t.Errorf("paused in an action: %v", paused)
	}
	must(t, os.WriteFile(filepath.Join(a.dir, "go"), nil, 0o644))
	testenv.Wait(t, "the pause", func() bool {
		paused = a.ask("pause", map[string]any{"run": "steps"})["paused"].([]any)
		return paused[0].(map[string]any)["paused"] == true
	})
	if _, err := os.Stat(filepath.Join(a.dir, "two")); err == nil {
		t.Error("the next state was entered")
	}
	if on := a.ask("unpause", map[string]any{"run": id})["unpaused"].([]any); len(on) != 1 ||
		on[0].(map[string]any)["goes_on"] != true {
		t.Errorf("unpaused: %v", on)
	}
	testenv.Wait(t, "the end of the run", func() bool {
		return a.ask("status", map[string]any{"run": id})["status"] == "completed"
	})
}

func TestMCPMistakes(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"run", map[string]any{"name": "quik"}, `did you mean quick?`},
		{"run", map[string]any{"name": "bad"}, "nowhere"},
		{"run", map[string]any{"name": "quick", "permissions": "all"}, `permissions "all": expected skip or host`},
		{"run", map[string]any{"name": "-x"}, "-x"},
		{
			"run",
			map[string]any{"name": "quick", "wait_seconds": -1},
			"wait_seconds: expected a whole number from 0 to 3600, not -1",
		},
		{"status", map[string]any{"run": "quick"}, "quick has no recorded run"},
		{"status", map[string]any{}, "run is missing"},
		{"stop", map[string]any{"run": "quick"}, "nothing to stop: quick has no recorded run"},
		{"events", map[string]any{"run": "nothing"}, "nothing has no recorded run"},
		{"history", map[string]any{"name": "quik"}, `did you mean quick?`},
		{"resume", map[string]any{"run": "quick"}, "nothing to resume"},
		{"resume", map[string]any{}, "run is missing"},
		{"explain", map[string]any{"run": "quick"}, "quick has no recorded run"},
		{"receipt", map[string]any{"run": "quick"}, "there is no run quick"},
		{"explain", map[string]any{"run": "quick", "step": "x"}, `"x" is no step: expected a number from 1`},
		{"logs", map[string]any{"run": "quick"}, "quick has no recorded run"},
		{"logs", map[string]any{}, "run is missing"},
		{"logs", map[string]any{"run": "quick", "bytes": 0}, "bytes: expected a whole number from 1 to 1048576, not 0"},
		{"pause", map[string]any{"run": "quick"}, "nothing to pause: quick has no recorded run"},
		{"unpause", map[string]any{"run": "quick"}, "nothing to unpause: quick has no recorded run"},
		{"unpause", map[string]any{}, "run is missing"},
		{"simulate", map[string]any{"name": "bad"}, "nowhere"},
		{"simulate", map[string]any{"name": "quik"}, `did you mean quick?`},
		{"simulate", map[string]any{}, "name is missing"},
		{"simulate", map[string]any{"name": "quick", "scenario": "all-pas"}, `did you mean "all-pass"?`},
		{
			"simulate",
			map[string]any{"name": "quick", "scenario": "all-pass", "script": "yes"},
			"scenario and script exclude each other",
		},
		{
			"simulate",
			map[string]any{"name": "quick", "scenario": "all-pass", "runs": 2},
			"runs is for verdicts by chance",
		},
		{"simulate", map[string]any{"name": "quick", "script": "elsewhere yes"}, "script:1: "},
		{"history", map[string]any{"name": "quick", "since": "soon"}, `--since "soon": expected an age such as 45s`},
	} {
		got := a.fail(c.tool, c.arguments)
		if !strings.Contains(got, c.want) || strings.Contains(got, "loops: ") {
			t.Errorf("%s %v says %q, want %q", c.tool, c.arguments, got, c.want)
		}
	}
}

// A run that works on a list is stopped between its items.
func TestMCPStopAfterItem(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	must(t, os.WriteFile(filepath.Join(a.dir, ".loops", "items.yaml"), []byte(`name: items
description: Waits at its second item for a file.
initial: work
states:
  work:
    for_each: [1, 2, 3]
    action: 'echo "$LOOPS_ITEM" >> begun; [ "$LOOPS_ITEM" != 2 ] || touch second; [ "$LOOPS_ITEM" != 2 ] || until [ -e free ]; do sleep 0.02; done; [ "$LOOPS_ITEM" != 3 ] || sleep 60'
    on_yes: end
    on_no: end
  end: {terminal: true}
`), 0o644))
	id := a.ask("run", map[string]any{"name": "items", "wait_seconds": 1})["instance_id"]
	waitForFile(t, filepath.Join(a.dir, "second"))
	time.AfterFunc(300*time.Millisecond, func() { _ = os.WriteFile(filepath.Join(a.dir, "free"), nil, 0o644) })
	stopped := a.ask("stop", map[string]any{"run": id, "after_item": true})["stopped"].([]any)
	if len(stopped) != 1 || stopped[0].(map[string]any)["stopped"] != true {
		t.Errorf("stopped: %v", stopped)
	}
	items := a.ask("status", map[string]any{"run": id})["items"].(map[string]any)
	a.same("items that are done", items["done"], 2.0)
	b, err := os.ReadFile(filepath.Join(a.dir, "begun"))
	a.same("items that began", string(b), "1\n2\n")
	must(t, err)
	other := a.ask("run", map[string]any{"name": "slow", "wait_seconds": 1})["instance_id"]
	a.started(other)
	if text := a.fail("stop", map[string]any{"run": other, "after_item": true}); !strings.Contains(text,
		"does not work on a list now") {
		t.Errorf("a run without a list: %s", text)
	}
	a.ask("stop", map[string]any{"run": other})
}

// A run is started, watched and stopped.
func TestMCPRunAndStop(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	ran := a.ask("run", map[string]any{"name": "slow", "wait_seconds": 1})
	a.same("ended", ran["ended"], false)
	id := ran["instance_id"]
	pid := a.started(id)
	status := a.ask("status", map[string]any{"run": id})
	a.same("alive", status["alive"], true)
	a.same("state", status["current_state"], "wait")
	a.same("pid", status["pid"], ran["pid"])
	if runs := a.ask("list", nil)["runs"].([]any); len(runs) != 1 {
		t.Errorf("open runs: %v", runs)
	}
	if again := a.fail("run", map[string]any{"name": "slow"}); !strings.Contains(again,
		"is locked by run "+id.(string)) {
		t.Errorf("a second run: %s", again)
	}
	stopped := a.ask("stop", map[string]any{"run": id})["stopped"].([]any)
	if len(stopped) != 1 || stopped[0].(map[string]any)["stopped"] != true {
		t.Errorf("stopped: %v", stopped)
	}
	waitGone(t, pid)
	a.same("resumable", a.ask("status", map[string]any{"run": id})["resumable"], true)

	// It is resumed, and ends with the loop as it is now.
	must(t, os.WriteFile(filepath.Join(a.dir, ".loops", "slow.yaml"),
		[]byte(strings.Replace(agentLoops["slow"], "sleep 60", "true", 1)), 0o644))
	if text := a.fail("resume", map[string]any{"run": id}); !strings.Contains(text, "changed") {
		t.Errorf("resumed although its loop changed: %s", text)
	}
	for _, c := range []struct {
		with map[string]any
		want string
	}{
		{map[string]any{"from": "nowhere"}, "has no such state"},
		{map[string]any{"retry_failed": true}, "is not in a state with for_each"},
		{map[string]any{"definition": "file"}, "expected recorded"},
	} {
		c.with["run"], c.with["force"] = id, true
		if text := a.fail("resume", c.with); !strings.Contains(text, c.want) {
			t.Errorf("resume %v: %s", c.with, text)
		}
	}
	again := a.ask("resume", map[string]any{"run": id, "force": true, "wait_seconds": 60})
	a.same("resumed", again["instance_id"], id)
	a.same("its exit code", again["exit_code"], 0.0)
	a.same("its status", again["status"], a.loops("status", id.(string), "--json"))
}

// A run outlives the server, unless the agent wanted it otherwise; whatever ends the server, its exit is clean.
func TestMCPServerEnds(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"input", "SIGTERM", "SIGINT", "SIGHUP", "Ctrl-C"} {
		for _, bound := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s bound %v", how, bound), func(t *testing.T) {
				t.Parallel()
				a := newAgent(t)
				id := a.ask("run", map[string]any{"name": "slow", "stop_with_server": bound})["instance_id"]
				pid := a.started(id)
				if sig, ok := map[string]syscall.Signal{
					"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT,
					"SIGHUP": syscall.SIGHUP,
				}[how]; ok {
					must(t, a.server.Process.Signal(sig))
				}
				if how == "Ctrl-C" { // it goes to all that the terminal knows as one job
					must(t, syscall.Kill(-a.server.Process.Pid, syscall.SIGINT))
				}
				if how != "input" {
					waitGone(t, a.server.Process.Pid) // the end of its input is another reason to end
				}
				if bound {
					_ = a.Close() // the client gives a server five seconds; ours waits for the run
					waitGone(t, pid)
				} else {
					if err := a.Close(); err != nil {
						t.Errorf("the server's end: %v", err)
					}
					if !lives(pid) {
						t.Error("the run ended with the server")
					}
				}
				status := a.loops("status", id.(string), "--json").(map[string]any)
				a.same("alive", status["alive"], !bound)
				if !bound {
					cmd := exec.Command(binary(t), "-C", a.dir, "stop", id.(string))
					cmd.Env = a.env
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Errorf("stop: %v: %s", err, out)
					}
					waitGone(t, pid)
				}
			})
		}
	}
}

// Only messages of the protocol are on standard output.
func TestMCPOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(binary(t), "-C", dir, "mcp")
	cmd.Env = cleanEnv(binary(t), dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"no such tool"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"no/such/method"}`,
	} {
		_, err := in.Write([]byte(message + "\n"))
		must(t, err)
		var answer struct{ Jsonrpc string }
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &answer) != nil || answer.Jsonrpc != "2.0" {
			t.Fatalf("%s: %s", message, lines.Text())
		}
	}
	must(t, in.Close())
	if lines.Scan() {
		t.Errorf("more: %s", lines.Text())
	}
	if err := cmd.Wait(); err != nil || errs.Len() > 0 {
		t.Errorf("%v: %s", err, errs.String())
	}
}

// A run that an agent starts inside the action of another continues when that action has ended, unless it ends with the
// server: only then it shares what the other has locked.
func TestServeWithinAction(t *testing.T) {
	t.Parallel()
	outer := newAgent(t)
	id, _ := outer.ask("run", map[string]any{"name": "slow", "stop_with_server": true})["instance_id"].(string)
	inner := agentIn(t, outer.dir, append(outer.env, "LOOPS_ANCESTORS="+id))
	if text := inner.fail("run", map[string]any{"name": "quick"}); !strings.Contains(text, "is locked by run "+id) {
		t.Errorf("a run that outlives the action: %s", text)
	}
	answer := inner.ask("run", map[string]any{"name": "quick", "stop_with_server": true, "wait_seconds": 60})
	if answer["exit_code"] != 0.0 {
		t.Errorf("a run that does not: %v", answer)
	}
	outer.ask("stop", map[string]any{"run": id})
}
