package action

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/confine"
	"loops/internal/agent"
	"loops/internal/process"
	"loops/internal/testenv"
)

// sandboxed returns a runner whose home and work tree are in a folder that no sandbox may change.
func sandboxed(t *testing.T) (r *Runner, base string) {
	t.Helper()
	base, err := os.MkdirTemp("/var/lib", "loops-action-*")
	if err != nil {
		base = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	for _, dir := range []string{"home/.ssh", "tree/.loops/runs/x", "tree/.github"} {
		testenv.Must(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	testenv.WriteText(t, base+"/home/.ssh/id", "secret\n")
	testenv.WriteText(t, base+"/tree/.loops/fix.yaml", "name: fix\n")
	r = &Runner{
		Dir: base + "/tree", RunDir: base + "/tree/.loops/runs/x",
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base + "/home", "SECRET=1"},
	}
	return r, base
}

func TestSandboxOfActions(t *testing.T) {
	t.Parallel()
	workspace, strict := []*confine.Policy{{Preset: confine.Workspace}}, []*confine.Policy{{Preset: confine.Strict}}
	for _, c := range []struct {
		name, script string
		sandbox      []*confine.Policy
		code         int
		out, err     string // parts of what is printed
	}{
		{"none", `cat ~/.ssh/id; echo ${LOOPS_SANDBOX-unset}`, nil, 0, "secret\nunset\n", ""},
		{"off", `echo ${LOOPS_SANDBOX-unset}`, []*confine.Policy{{Preset: confine.Off}}, 0, "unset\n", ""},
		{
			"the tree can be changed", `echo a > new && mkdir -p d && cat new; echo $LOOPS_SANDBOX`, workspace, 0,
			"a\nworkspace\n", "",
		},
		{
			"so can the folder of the run", `echo a > "$LOOPS_RUN_DIR/f" && cat "$LOOPS_RUN_DIR/f"`, workspace, 0,
			"a\n",
			"",
		},
		{"a secret cannot be read", `cat ~/.ssh/id`, workspace, 1, "", "loops: the sandbox may have refused: cat: "},
		{"the hint names the command", `cat ~/.ssh/id`, workspace, 1, "", "; loops doctor --sandbox workspace\n"},
		{"the home cannot be written to", `echo a > ~/f`, workspace, 1, "", "the sandbox may have refused"},
		{"other failures get no hint", `echo no >&2; exit 3`, workspace, 3, "", "no\n"},
		{"the span of a trace in strict", `echo $TRACEPARENT`, strict, 0, "of /1\n", ""},
		{
			"variables of strict",
			`echo ${SECRET-gone} $LOOPS_SANDBOX; echo x > "$TMPDIR/f" && cat "$TMPDIR/f"; touch /tmp/loops-no`,
			strict, 1, "gone strict\nx\n", "refused",
		},
		{
			"layers tighten", `echo ${SECRET-gone}; echo a > new`,
			[]*confine.Policy{{Preset: confine.Workspace}, {Env: []string{"PATH"}, Write: []string{"/tmp"}}},
			1,
			"gone\n", "refused",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, _ := sandboxed(t)
			r.Trace = func(a fsm.Action) string { return "of " + a.At }
			res, err := r.Run(context.Background(),
				fsm.Action{Kind: fsm.KindShell, Text: c.script, State: "s", At: "/1", Sandbox: c.sandbox}, nil)
			if err != nil {
				if c.sandbox != nil && c.sandbox[0].Preset == confine.Strict {
					testenv.Skip(t, "what strict needs: "+err.Error())
				}
				t.Fatal(err)
			}
			if res.ExitCode != c.code || !strings.Contains(res.Stdout, c.out) || !strings.Contains(res.Stderr, c.err) {
				t.Errorf("exit code %d, want %d\nout %q, want %q\nerr %q, want %q", res.ExitCode, c.code, res.Stdout,
					c.out, res.Stderr, c.err)
			}
		})
	}
}

// Where the home is below the folder of temporary files, as in some containers, nothing can be made beside its
// secret places: an action has a folder of its own then.
func TestTemporaryFilesAroundTheHome(t *testing.T) {
	t.Parallel()
	r, base := sandboxed(t)
	r.Env = append(r.Env, "TMPDIR="+base)
	res, err := r.Run(t.Context(), fsm.Action{
		Kind: fsm.KindShell, Text: `f=$(mktemp) && echo "$f" && cat ~/.ssh/id`,
		State: "s", At: "/1", Sandbox: []*confine.Policy{{Preset: confine.Workspace}},
	}, nil)
	testenv.Must(t, err)
	if !strings.HasPrefix(res.Stdout, r.RunDir+"/.tmp-") || strings.Contains(res.Stdout, "secret") {
		t.Errorf("out %q, err %q", res.Stdout, res.Stderr)
	}
	if left, _ := filepath.Glob(r.RunDir + "/.tmp-*"); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// A home that does not exist, as users of services have it, is not made for the state of an agent.
func TestNoHomeIsMade(t *testing.T) {
	t.Parallel()
	h, dir := &agent.CLI{State: []string{"~/.fake"}}, t.TempDir()
	for home, want := range map[string]bool{dir: true, dir + "/none": false, "": false} {
		(&Runner{base: []string{"HOME=" + home}}).makeState(h)
		if exists(home+"/.fake") != want || exists(dir+"/none") {
			t.Errorf("the home %q: made: %v", home, !want)
		}
	}
}

// What could not be mounted is put back after the action, which has failed then.
func TestProtectedFilesArePutBack(t *testing.T) {
	t.Parallel()
	r, base := sandboxed(t)
	res, err := r.Run(context.Background(),
		fsm.Action{
			Kind: fsm.KindShell, Text: `echo '{}' > .mcp.json; mkdir -p .codex; echo x > .codex/config.toml`,
			State: "s", Step: 3, Attempt: 1, Sandbox: []*confine.Policy{{Preset: confine.Workspace}},
		}, nil)
	testenv.Must(t, err)
	breach := r.RunDir + "/breach/3-1/"
	if res.ExitCode != exitBreach ||
		!strings.Contains(res.Stderr, "/.mcp.json is protected by the sandbox workspace") ||
		!strings.Contains(res.Stderr, " is in "+breach) {
		t.Errorf("exit code %d, %q", res.ExitCode, res.Stderr)
	}
	for _, name := range []string{"1-codex/config.toml", "2-mcp.json"} {
		if _, err := os.Lstat(breach + name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{".mcp.json", ".codex"} {
		if _, err := os.Lstat(base + "/tree/" + name); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// What an action in a sandbox leaves running is ended with the run, in another session and without its variables too.
func TestStayingProcessesEnd(t *testing.T) {
	t.Parallel()
	grouped(t) // where there are no control groups, the second is not found
	r, _ := sandboxed(t)
	r.Mark = "staying-" + strconv.Itoa(os.Getpid())
	r.Grace = time.Minute
	a := fsm.Action{
		Kind: fsm.KindShell,
		Text: `setsid sleep 300 > /dev/null 2>&1 & env -i setsid bash -c 'sleep 301 & wait' > /dev/null 2>&1 & echo left`, State: "s", Step: 1, Attempt: 1, Sandbox: []*confine.Policy{{Preset: confine.Workspace}},
	}
	res, err := r.Run(context.Background(), a, nil)
	testenv.Must(t, err)
	if res.Stdout != "left\n" || res.Background == 0 {
		t.Fatalf("%d processes are left, and it printed %q", res.Background, res.Stdout)
	}
	testenv.Must(t, r.Close())
	left, err := process.Marked(Variable, r.marker(a))
	testenv.Must(t, err)
	if len(left) > 0 {
		t.Errorf("%v are alive", left)
		end(t, left)
	}
}

func TestSandboxOfRequests(t *testing.T) {
	t.Parallel()
	r, _ := sandboxed(t)
	_, err := r.Run(context.Background(),
		fsm.Action{
			Kind: fsm.KindHTTP, State: "s", Call: &fsm.Request{Method: "GET", URL: "http://127.0.0.1:1/"},
			Sandbox: []*confine.Policy{{Preset: confine.Offline}},
		}, nil)
	if err == nil || !strings.Contains(err.Error(), "the sandbox offline does not let it reach 127.0.0.1:1") {
		t.Errorf("the error is %v", err)
	}
}

// A redirect leads to no address that the sandbox does not let a request reach.
func TestRedirectInASandbox(t *testing.T) {
	t.Parallel()
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(other.Close)
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	t.Cleanup(first.Close)
	r, _ := sandboxed(t)
	res, err := r.Run(context.Background(), fsm.Action{
		Kind: fsm.KindHTTP, State: "s", Call: &fsm.Request{Method: "GET", URL: first.URL},
		Sandbox: []*confine.Policy{{Network: []string{strings.TrimPrefix(first.URL, "http://")}}},
	}, nil)
	testenv.Must(t, err)
	if reached || res.Response == nil || res.Response.Status != http.StatusFound ||
		!strings.Contains(res.Stderr, "does not let it reach "+strings.TrimPrefix(other.URL, "http://")) {
		t.Errorf("reached: %v, %+v", reached, res)
	}
}
