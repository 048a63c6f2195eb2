package action

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/agent"
)

const verdictSchema = `{"type": "object", "required": ["verdict"], "properties": {"verdict": {"enum": ["yes", "no"]}}}`

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name, script string
		strict       bool
		answer       string // as JSON; "" = none
		failure      fsm.Failure
		reason       string
		exit         int
	}{
		{
			name: "structured", script: `echo 'answer {"verdict": "yes", "n": 1}'; echo done`, strict: true,
			answer: `{"verdict": "yes", "n": 1}`,
		},
		{
			name:   "structured wins",
			script: `echo 'final {"verdict": "no"}'; echo 'answer {"verdict": "yes"}'; echo done`,
			answer: `{"verdict": "yes"}`,
		},
		{
			name: "in the text", script: `echo 'final I say {"verdict": "no"}.'; echo done`, strict: true,
			answer: `{"verdict": "no"}`,
		},
		{
			name: "tags", script: `echo 'final <verdict>YES</verdict><confidence>0.7</confidence>'; echo done`,
			strict: true, answer: `{"confidence": 0.7, "verdict": "yes"}`,
		},
		{
			name: "prose", script: `echo 'final It went  well.'; echo done`,
			failure: fsm.FailSchema, reason: "no JSON was found in the answer: It went well.", exit: 1,
		},
		{
			name: "empty", script: `echo done`, failure: fsm.FailSchema,
			reason: "no JSON was found in the answer: it was empty", exit: 1,
		},
		{
			name: "does not match", script: `echo 'answer {"verdict": "maybe"}'; echo done`, strict: true,
			answer: `{"verdict": "maybe"}`, failure: fsm.FailSchema,
			reason: "the answer does not match the schema: verdict: enum: maybe does not equal any of: [yes no]",
			exit:   1,
		},
		{
			name: "does not match, which may be", script: `echo 'answer {"verdict": "maybe"}'; echo done`,
			answer: `{"verdict": "maybe"}`,
		},
		{
			name: "damaged", script: `echo 'answer {"verdict"'; echo done`, failure: fsm.FailSchema,
			reason: `the answer is no JSON`, exit: 1,
		},
		{
			name: "refused", script: `echo 'final {"verdict": "no"}'; echo fail auth no key; echo done`,
			failure: fsm.FailAuth, reason: "no key", exit: 1,
		},
		{name: "exit code", script: `echo 'answer {"verdict": "no"}'; echo done; exit 7`, exit: 7},
		{
			name: "cut off", script: `echo 'not an envelope'`, failure: fsm.FailTruncated,
			reason: "it ended without a last word", exit: 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, _ := prompted(t, c.script, func(_ *Runner, a *fsm.Action) {
				a.Kind, a.Schema, a.Strict, a.Quiet = fsm.KindJudge, verdictSchema, c.strict, true
			})
			got := ""
			if res.Reply.Answer != nil {
				got = string(value.AppendJSON(nil, res.Reply.Answer))
			}
			if got != c.answer || res.Reply.Failure != c.failure || !strings.HasPrefix(res.Reply.Reason, c.reason) ||
				(c.reason == "") != (res.Reply.Reason == "") || res.ExitCode != c.exit {
				t.Errorf("got %s, %+v, exit %d; want %s", got, *res.Reply, res.ExitCode, c.answer)
			}
		})
	}
}

// TestJudgeReply: what a verdict needs to explain itself is there.
func TestJudgeReply(t *testing.T) {
	t.Parallel()
	res, _ := prompted(t, `printf 'noise\377\nsay thinking\nfinal {"verdict": "no"}\ndone\n'`,
		func(_ *Runner, a *fsm.Action) { a.Kind = fsm.KindJudge })
	if got := res.Reply; got.Text != `{"verdict": "no"}` ||
		got.Raw != "noise\uFFFD\nsay thinking\nfinal {\"verdict\": \"no\"}\ndone\n" || !got.Complete ||
		res.Stdout != "thinking" {
		t.Errorf("%+v, %q", *got, res.Stdout)
	}
	res, _ = prompted(t, `printf %010000d 0`, func(_ *Runner, a *fsm.Action) { a.Kind = fsm.KindJudge })
	if got := res.Reply; got.Raw != strings.Repeat("0", rawMost) || got.Complete {
		t.Errorf("%+v", *got)
	}
}

// TestSchemaOfJudge: a host that supports schemas gets it as a schema, others as part of the prompt.
func TestSchemaOfJudge(t *testing.T) {
	t.Parallel()
	for _, knows := range []bool{true, false} {
		r := newRunner(t)
		h := fakeHost(t, "fake", "echo 'answer {}'; echo done")
		h.Has.Schema, h.JudgeModel = knows, "strict-1"
		command := h.Command
		var got agent.Request
		h.Command = func(q agent.Request) (agent.Command, error) { got = q; return command(q) }
		r.Hosts, r.Model = []*agent.CLI{h}, "large-1"
		a := ask("is it so?")
		a.Kind, a.Schema = fsm.KindJudge, verdictSchema
		do(t, r, a)
		asked := strings.HasPrefix(got.Text, "is it so?\n\nAnswer with one JSON object") &&
			strings.Contains(got.Text, verdictSchema)
		if asked == knows || (got.Schema == verdictSchema) != knows || got.Model != "strict-1" || !got.Judge {
			t.Errorf("knows %v: %+v", knows, got)
		}
		a.Schema = `{"type": "zork"}`
		if _, err := r.Run(context.Background(), a, nil); err == nil ||
			!strings.HasPrefix(err.Error(),
				`the schema of the judge of state "a" cannot be used: it is no JSON Schema: at the top: there is no type "zork"`) {
			t.Errorf("%v", err)
		}
	}
}

// TestRequest: what a host is asked.
func TestRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		runner *Runner
		action fsm.Action
		want   agent.Request
	}{
		{"nothing is said", &Runner{}, fsm.Action{}, agent.Request{Skip: true}},
		{"permissions of the state", &Runner{}, fsm.Action{Permissions: "host"}, agent.Request{}},
		{"permissions of the flag", &Runner{Permissions: "host"}, fsm.Action{Permissions: "skip"}, agent.Request{}},
		{
			"permissions of the flag, skip", &Runner{Permissions: "skip"},
			fsm.Action{Permissions: "host"},
			agent.Request{Skip: true},
		},
		{"model of the flag", &Runner{Model: "m"}, fsm.Action{}, agent.Request{Skip: true, Model: "m"}},
		{"model of the state", &Runner{Model: "m"}, fsm.Action{Model: "n"}, agent.Request{Skip: true, Model: "n"}},
		{
			"model of a judge", &Runner{Model: "m"},
			fsm.Action{Kind: fsm.KindJudge, Model: "n"},
			agent.Request{Skip: true, Judge: true, Model: "n"},
		},
		{
			"its own session", &Runner{},
			fsm.Action{Session: "s", SessionHost: "fake", Counted: fsm.Usage{Input: 2}},
			agent.Request{Skip: true, Session: "s", Counted: agent.Usage{Input: 2}},
		},
		{
			"another host's session", &Runner{},
			fsm.Action{Session: "s", SessionHost: "other", Counted: fsm.Usage{Input: 2}},
			agent.Request{Skip: true},
		},
		{
			"the rest", &Runner{},
			fsm.Action{Text: "t", Agent: "a", Tools: []string{"b"}, Effort: "high", MaxCost: 1.5},
			agent.Request{Skip: true, Text: "t", Agent: "a", Tools: []string{"b"}, Effort: "high", MaxCost: 1.5},
		},
	} {
		if got := c.runner.request(c.action, &agent.CLI{Name: "fake"}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestReply(t *testing.T) {
	t.Parallel()
	before := time.Now()
	res, _ := prompted(t, "echo fail rate_limited slow down; echo after 60; echo done", func(r *Runner, a *fsm.Action) {
		a.Session = "s"
	})
	got := res.Reply
	if got.Failure != fsm.FailRateLimited || got.ResetAt.Before(before.Add(time.Minute)) ||
		got.ResetAt.After(time.Now().Add(time.Minute)) {
		t.Errorf("%+v", *got)
	}
	if got.Usage != (fsm.Usage{Input: 7}) || got.Coverage != fsm.CoverageComplete || got.Cost != nil ||
		got.Priced != "" {
		t.Errorf("%+v", *got)
	}
	// A prompt that is cut off used more than its host says.
	res, _ = prompted(t, "sleep 600 & trap 'echo done; exit' INT;"+reached+"wait", func(r *Runner, a *fsm.Action) {
		a.Timeout = later
		expire(t, r)
	})
	if got := res.Reply; got.Failure != fsm.FailTimeout || got.Coverage != fsm.CoveragePartial ||
		got.Usage != (fsm.Usage{Input: 7}) {
		t.Errorf("%+v", *got)
	}
}

func TestRefusedRequest(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	h := fakeHost(t, "fake", "")
	h.Command = func(agent.Request) (agent.Command, error) { return agent.Command{}, os.ErrInvalid }
	r.Hosts = []*agent.CLI{h}
	res := do(t, r, ask("x"))
	if res.ExitCode != 1 || res.Stderr != "Action failed: invalid argument" || res.Reply.Failure != fsm.FailOther ||
		res.Reply.Host != "fake" {
		t.Errorf("%+v, %+v", res, res.Reply)
	}
	long := fakeHost(t, "fake", "echo done")
	long.Command = func(agent.Request) (agent.Command, error) {
		return agent.Command{Args: []string{strings.Repeat("x", 200<<10)}}, nil
	}
	r.Hosts = []*agent.CLI{long}
	res = do(t, r, ask("x"))
	if want := "Action failed: " + long.Program + " cannot be started: argument list too long: its arguments and " +
		"its environment are too long together"; res.ExitCode != 1 || res.Stderr != want {
		t.Errorf("%q, want %q", res.Stderr, want)
	}
}

func TestChooseHost(t *testing.T) {
	t.Parallel()
	here, there := t.TempDir(), t.TempDir()
	for _, path := range []string{
		filepath.Join(here, "two"), filepath.Join(here, "three"),
		filepath.Join(there, "one"),
	} {
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	one, two := &agent.CLI{Name: "one", Program: "one"},
		&agent.CLI{Name: "two", Program: "two", Aliases: []string{"zwei"}}
	three := &agent.CLI{Name: "three", Program: filepath.Join(here, "three")}
	four := &agent.CLI{Name: "four", Program: "./three"}
	five := &agent.CLI{Name: "zwei", Program: "./nothing"}
	for _, c := range []struct {
		name  string
		hosts []*agent.CLI
		path  string
		of    string // the Runner's
		ask   string
		want  string
	}{
		{"the first in PATH", []*agent.CLI{one, two, three}, here, "", "", "two"},
		{"the order is the table's", []*agent.CLI{one, two, three}, here + ":" + there, "", "", "one"},
		{"named", []*agent.CLI{one, two, three}, here, "", "three", "three"},
		{"the runner's", []*agent.CLI{one, two, three}, here, "three", "", "three"},
		{"the state's before the runner's", []*agent.CLI{one, two, three}, here, "three", "two", "two"},
		{"alias", []*agent.CLI{one, two}, here, "", "zwei", "two"},
		{
			"a name before an alias",
			[]*agent.CLI{two, five},
			here, "", "zwei",
			"the agent host zwei cannot be used: its program ./nothing was not found or may not be executed: fix " +
				"its entry in the configuration",
		},
		{"beside the project", []*agent.CLI{four}, "", "", "four", "four"},
		{
			"not installed",
			[]*agent.CLI{one, two},
			here, "", "one",
			"the agent host one cannot be used: its program one was not found in PATH: install it, add the " +
				"directory it is in to PATH, or choose another host (state key host, --host, LOOPS_HOST)",
		},
		{"unknown", []*agent.CLI{one, two}, here, "", "six", `there is no agent host "six": known are one, two`},
		{"none", []*agent.CLI{one}, "/nowhere", "", "", "no agent host was found in PATH: install one of one"},
	} {
		r := &Runner{Dir: here, Env: []string{"PATH=" + c.path}, Hosts: c.hosts, Host: c.of}
		h, _, err := r.FindHost(c.ask)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = h.Name
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
