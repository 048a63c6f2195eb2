package action

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/fsm"
)

func TestToolCallByTheProgramInPath(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	bin := t.TempDir()
	r.Env = []string{"PATH=" + bin}
	a := fsm.Action{Kind: fsm.KindMCP, Text: "srv/tool", Params: `{"x": 1}`, State: "a", Step: 1, Attempt: 1}
	if _, err := r.Run(context.Background(), a, nil); err == nil || !strings.Contains(err.Error(), "install mcp-call") {
		t.Errorf("missing: error %v", err)
	}
	stub := "#!/bin/bash\nif [ \"$1\" = slow ]; then /bin/sleep 60; fi\necho \"$#,$1,$2\"\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "mcp-call"), []byte(stub), 0o700); err != nil {
		t.Fatal(err)
	}
	if res := do(t, r, a); res.ExitCode != 1 || res.Stdout != "2,srv/tool,{\"x\": 1}\n" {
		t.Errorf("called: %+v", res)
	}
	a.Params = ""
	if res := do(t, r, a); res.Stdout != "2,srv/tool,{}\n" {
		t.Errorf("without arguments: %+v", res)
	}
	a.Text, a.Timeout = "slow", 50*time.Millisecond
	if res := do(t, r, a); res.ExitCode != 124 || res.Stderr != "MCP call timed out" || res.TimeoutKind != "wall" {
		t.Errorf("timed out: %+v", res)
	}
	a.Timeout, a.Idle = 0, 50*time.Millisecond
	if res := do(t, r, a); res.ExitCode != 124 || res.Stderr != "MCP call idle-timed out" || res.TimeoutKind != "idle" {
		t.Errorf("idle: %+v", res)
	}
}

// callBy makes a program of the runner's own from a script.
func callBy(t *testing.T, r *Runner, script string, known bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "call")
	if err := os.WriteFile(path, []byte("#!/bin/bash\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	r.ToolCall = func(dir, tool string) ([]string, bool) { return []string{path, "for=" + tool, "in=" + dir}, known }
}

func tool(params string) fsm.Action {
	return fsm.Action{Kind: fsm.KindMCP, Text: "srv/tool", Params: params, State: "a", Step: 1, Attempt: 1}
}

func TestToolCall(t *testing.T) {
	t.Parallel()
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "mcp-call"), []byte("#!/bin/bash\necho mcp-call \"$@\"\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	long := `{"x":"` + strings.Repeat("y", 3<<20) + `"}`
	for _, c := range []struct {
		name   string
		script string
		known  bool
		path   string // in front of PATH
		change func(a *fsm.Action)
		want   string
	}{
		{"known", `echo ours "$@"`, true, other, nil, "ours for=srv/tool in=DIR -- srv/tool {\"x\": 1}\n"},
		{"unknown", `echo ours "$@"`, false, other, nil, "mcp-call srv/tool {\"x\": 1}\n"},
		{
			"unknown, and no other", `echo ours "$@"`, false, "/none", nil,
			"ours for=srv/tool in=DIR -- srv/tool {\"x\": 1}\n",
		},
		{
			"directory", `echo ours "$@"; pwd`, true, other, func(a *fsm.Action) { a.Dir = other },
			"ours for=srv/tool in=" + other + " -- srv/tool {\"x\": 1}\n" + other + "\n",
		},
		{"no arguments", `echo "$5"`, true, "", func(a *fsm.Action) { a.Params = "" }, "{}\n"},
		{
			"long arguments", `echo "${@:3}"; exec 4<&3; wc -c <&4`, true, "", func(a *fsm.Action) { a.Params = long },
			fmt.Sprintf("--arguments-fd=3 -- srv/tool\n%d\n", len(long)),
		},
		{"no descriptor else", `cd /proc/$$/fd; [ -e 3 ] && echo leaked; true`, true, "", nil, ""},
		{"no variables", `env | grep -c LOOPS_PREV; env | grep ^LOOPS_STEP`, true, "", func(a *fsm.Action) {
			a.Vars = []fsm.Var{{Name: "LOOPS_PREV_OUTPUT", Value: "x"}}
		}, "0\nLOOPS_STEP=1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRunner(t)
			r.Env = append(os.Environ(), "PATH="+c.path+":"+os.Getenv("PATH"))
			callBy(t, r, c.script, c.known)
			a := tool(`{"x": 1}`)
			if c.change != nil {
				c.change(&a)
			}
			if res := do(t, r, a); res.Stdout != strings.ReplaceAll(c.want, "DIR", r.Dir) || res.Stderr != "" {
				t.Errorf("got %q %q, want %q", res.Stdout, res.Stderr, c.want)
			}
		})
	}
}

// A call by our own program is over when nothing of it is alive; a call by another may leave something (D25).
func TestNothingOfAToolCallIsLeft(t *testing.T) {
	t.Parallel()
	const leave = "setsid sleep 600 & sleep 600 & (trap '' TERM;" + reached + "sleep 600) & "
	for _, c := range []struct {
		name, script string
		timesOut     bool
		exit         int
		stdout       string
	}{
		{"ends well", leave + "echo said; echo more >&2", false, 0, "said\n"},
		{"ends badly", leave + "echo said; exit 1", false, 1, "said\n"},
		{"is killed", leave + "echo said; kill -9 $$", false, -9, "said\n"},
		{"outputs closed", "(" + leave + ") >/dev/null 2>&1; echo said", false, 0, "said\n"},
		{"times out", "echo said; " + leave + "exec sleep 600", true, 124, "said\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			callBy(t, r, c.script, true)
			a := tool("")
			r.Grace = short
			if c.timesOut {
				a.Timeout = later
				expire(t, r)
			}
			res := do(t, r, a)
			if left := r.alive(t, 1); len(left) > 0 {
				t.Errorf("Run returned while %v were alive", left)
			}
			if res.ExitCode != c.exit || res.Stdout != c.stdout || res.Background != 0 {
				t.Errorf("%+v; want exit %d, %q", res, c.exit, c.stdout)
			}
		})
	}
	t.Run("by another program", func(t *testing.T) {
		t.Parallel()
		r := newRunner(t)
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "mcp-call"), []byte("#!/bin/bash\nsleep 600 & exec sleep 0.1\n"),
			0o700); err != nil {
			t.Fatal(err)
		}
		r.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		if res := do(t, r, tool("")); res.Background != 1 {
			t.Errorf("%+v", res)
		}
		end(t, r.alive(t, 1))
	})
}

func TestToolCallThatCannotBeMade(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.ToolCall = func(string, string) ([]string, bool) { return []string{"/gone/loops", "mcp-call"}, true }
	if _, err := r.Run(context.Background(), tool(""), nil); err == nil ||
		!strings.Contains(err.Error(), "/gone/loops or the program its first line names is gone") {
		t.Errorf("error %v", err)
	}
	callBy(t, r, "echo ran", true)
	a := tool("")
	a.Text = "srv/to\x00ol"
	if _, err := r.Run(context.Background(), a, nil); err == nil || !strings.Contains(err.Error(), "zero byte") {
		t.Errorf("error %v", err)
	}
	r.RunDir += "/gone"
	if _, err := r.Run(context.Background(), tool(strings.Repeat(" ", longScript)), nil); err == nil ||
		!strings.Contains(err.Error(), `the arguments of state "a" cannot be written to a file`) {
		t.Errorf("error %v", err)
	}
}

// A tool whose server could not be started for lack of processes counted as a tool that is not there.
func TestToolCallTriesAgain(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	mark := filepath.Join(t.TempDir(), "tried")
	callBy(t, r, "[ -e "+mark+" ] && { echo called; exit 0; }; : > "+mark+
		"; echo 'server srv cannot be started' >&2; exit 75\n", true)
	if res := do(t, r, tool("{}")); res.ExitCode != 0 || res.Stdout != "called\n" {
		t.Errorf("got %+v", res)
	}
}
