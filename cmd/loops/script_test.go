package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"loops/cmd/loops/cli"
	"loops/internal/process"
	"loops/internal/testenv"
)

// TestScript runs testdata/script/*.txtar against the real program. Besides the usual commands there are
//
//	loops ARGS            run, and want exit code 0; "! loops ARGS" wants another
//	code N loops ARGS     run, and want exit code N
//	waitfor FILE          wait until FILE exists
//	mask stdout|stderr|FILE OUT   write it to OUT with times, pids and folders replaced, to compare
//	gone FILE             wait until the process whose pid is in FILE has ended
//	job FILE OUT          write the commands that GitHub Actions would obey of the log FILE
//	suites FILE... OUT    write what services read of files with JUnit XML
//	sameevents A B        A, a stream of events, and B, a JSON array of them, hold the same
//
// What they run of the commands in views is run in this process, which spares the start of a program; "exec
// loops ARGS" is always a process.
func TestScript(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	must(t, err)
	runScripts(t, "dir", scripts, func(*testscript.Env) (location, name string) { return "", "" })
}

// scriptHome is the home that scripts have unless they set another. It does not exist, and no script may make it.
var scriptHome = fmt.Sprintf("/no-home-%d", os.Getpid())

// cgroups reports whether this process can make control groups.
func cgroups() bool {
	g, err := process.NewCgroup()
	if err != nil {
		return false
	}
	g.Close()
	return true
}

// runScripts runs scripts with their runs in one store, whose name is a condition. locate says where it is, and what
// it is called in messages.
func runScripts(t *testing.T, store string, scripts []string, locate func(*testscript.Env) (location, name string)) {
	bin := binary(t)
	variables := variablesOf(t, scripts)
	t.Cleanup(func() {
		if _, err := os.Lstat(scriptHome); err == nil {
			t.Errorf("a script made %s: it needs a HOME of its own", scriptHome)
		}
	})
	testscript.Run(t, testscript.Params{
		Files:               scripts,
		UpdateScripts:       testenv.Update(),
		RequireExplicitExec: false,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "dir", "sqlite", "postgres":
				return cond == store, nil
			case "cgroups":
				return cgroups(), nil
			case "namespaces":
				return testenv.CanNamespaces(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Setup: func(env *testscript.Env) error {
			path := filepath.Join(env.WorkDir, ".bin")
			if err := os.Mkdir(path, 0o755); err != nil {
				return err
			}
			if err := os.Symlink(bin, filepath.Join(path, "loops")); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(path, "tick"), []byte(tick), 0o755); err != nil {
				return err
			}
			env.Setenv("PATH", path+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("HOME", scriptHome)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("TZ", "UTC")
			env.Setenv("LC_ALL", "C.UTF-8")
			env.Setenv("LOOPS_VERIFY", "1")
			location, name := locate(env)
			env.Setenv("LOOPS_STORE", location)
			env.Setenv("STORE", name)
			names := slices.Clone(variables)
			for _, v := range env.Vars {
				name, _, _ := strings.Cut(v, "=")
				names = append(names, name)
			}
			env.Values[variablesKey{}] = names
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code": scriptCode, "loops": scriptLoops, "waitfor": scriptWaitFor, "mask": scriptMask,
			"gone": scriptGone, "sameevents": scriptSameEvents,
			"job": scriptJob, "suites": scriptSuites, "serve": scriptServe,
		},
	})
}

// tick is a program for loops of a shell that wait: until CONDITION; do tick || exit; done. It sleeps, and
// fails when the shell has called it for two minutes.
const tick = `#!/bin/sh
n=0
[ ! -e "$TMPDIR/tick.$PPID" ] || read -r n < "$TMPDIR/tick.$PPID"
[ "$n" -lt 620 ] || { echo "tick: waited too long" >&2; exit 1; }
echo $((n + 1)) > "$TMPDIR/tick.$PPID"
[ "$n" -gt 20 ] || exec sleep 0.05
exec sleep 0.2
`

func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [args]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := scriptRun(ts, args[1:]); got != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func scriptLoops(ts *testscript.TestScript, neg bool, args []string) {
	if got := scriptRun(ts, append([]string{"loops"}, args...)); (got == 0) == neg {
		ts.Fatalf("loops %s: exit code %d", strings.Join(args, " "), got)
	}
}

// views are the commands that only read and print: they are the same in this process.
var views = []string{
	"__complete", "config", "cost", "events", "explain", "forecast", "fragments", "graph", "help", "history", "list",
	"logs", "render", "report", "runs", "schema",
	"show", "stats", "status", "validate",
}

// scriptRun runs a command and returns its exit code.
func scriptRun(ts *testscript.TestScript, command []string) int {
	if command[0] == "loops" && isView(command[1:]) {
		var env []string
		for _, name := range ts.Value(variablesKey{}).([]string) {
			if value := ts.Getenv(name); value != "" {
				env = append(env, name+"="+value)
			}
		}
		return view(ts.Stdout(), ts.Stderr(), ts.MkAbs("."), env, command[1:])
	}
	err := ts.Exec(command[0], command[1:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

// view runs a command that only reads and prints in this process, which costs a tenth of a process of its own.
func view(out, errs io.Writer, dir string, env, args []string) (code int) {
	return cli.Main(args, cli.IO{In: strings.NewReader(""), Out: out, Err: errs, Dir: dir, Env: env})
}

// commandLimit is how long a command that a test calls may take before it counts as one that does not end.
const commandLimit = 2 * time.Minute

// answer returns what a command prints and its exit code; -1 = a signal ended it. One that only reads and
// prints runs in this process.
func answer(t testing.TB, dir string, env []string, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if isView(args) {
		code = view(&stdout, &stderr, dir, env, args)
		return stdout.String(), stderr.String(), code
	}
	ctx, cancel := context.WithTimeout(t.Context(), commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(t), args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// loopsIn runs a command in a folder, which is to succeed, and returns all it prints. One that only reads and
// prints runs in this process.
func loopsIn(t testing.TB, dir string, env []string, args ...string) string {
	t.Helper()
	if !isView(args) {
		return testenv.Loops(t, dir, env, args...)
	}
	var all bytes.Buffer
	if code := view(&all, &all, dir, env, args); code != 0 {
		t.Fatalf("loops %s: exit code %d\n%s", strings.Join(args, " "), code, all.String())
	}
	return all.String()
}

func isView(args []string) bool {
	if len(args) > 2 && args[0] == "-C" {
		args = args[2:]
	}
	return len(args) > 0 && slices.Contains(views, args[0])
}

// A variablesKey is the key of the names of a script's environment variables: testscript tells the value of a
// name only.
type variablesKey struct{}

// variablesOf returns the names of the variables that scripts set.
func variablesOf(t *testing.T, scripts []string) []string {
	t.Helper()
	var names []string
	for _, path := range scripts {
		for _, line := range setting.FindAllString(readText(t, path), -1) {
			for _, m := range assignment.FindAllStringSubmatch(line, -1) {
				names = append(names, m[1])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var (
	setting    = regexp.MustCompile(`(?m)^(\[[^\]]*\] )?env .*$`)
	assignment = regexp.MustCompile(`(\w+)=`)
)

func scriptWaitFor(ts *testscript.TestScript, _ bool, args []string) {
	if !testenv.Within(testenv.Patience, func() bool { _, err := os.Stat(ts.MkAbs(args[0])); return err == nil }) {
		ts.Fatalf("%s did not appear", args[0])
	}
}

func scriptGone(ts *testscript.TestScript, neg bool, args []string) {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	if !testenv.Within(testenv.Patience, func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		// the others of a process may outlive its first, with its open files
		threads, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		zombie := err == nil && strings.Contains(string(stat), ") Z ") && len(threads) <= 1
		return zombie || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}) {
		ts.Fatalf("process %d still runs", pid)
	}
}

func scriptSameEvents(ts *testscript.TestScript, neg bool, args []string) {
	var stream, list []map[string]any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	for {
		var e map[string]any
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			ts.Fatalf("%s: %v", args[0], err)
		}
		if e["event"] != "run_info" {
			stream = append(stream, e)
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &list))
	if len(list) == 0 || !reflect.DeepEqual(stream, list) {
		ts.Fatalf("the events differ:\n%v\n%v", stream, list)
	}
}

// masks replace what differs from run to run. Their order matters.
var masks = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00`), "<TS>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d{6}`), "<RUN>"},
	{regexp.MustCompile(`\d{8}T\d{6}`), "<STAMP>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( [A-Z]{3,5}| [-+]\d{2,4})?`), "<TIME>"},
	// above lines that have a clock; a second one at midnight
	{regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d ([A-Z]{3,5}|[-+]\d{2,4})\n`), ""},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "<CLOCK>"},
	{
		regexp.MustCompile(
			`"(duration_ms|elapsed_ms|accumulated_ms|wallclock_ms|idle_ms|running_ms|waits_ms|events|pid|start)": \d+`),
		`"$1": <N>`,
	},
	{regexp.MustCompile(`\b(with|there|here) \d+ events`), "$1 <N> events"}, // output comes in one event or two
	{regexp.MustCompile(`\b\d+ [GM]iB free|"free_bytes": \d+`), "<ROOM>"},
	{regexp.MustCompile(`built-in table, of \d{4}-\d\d-\d\d`), "built-in table, of <DAY>"},
	{regexp.MustCompile(`"(host|boot)": "[^"]*"`), `"$1": "<X>"`},
	{regexp.MustCompile(`\bpid \d+ on (?:host )?[\w.-]+`), "pid <PID> on <HOST>"},
	{regexp.MustCompile(`\bpid \d+`), "pid <PID>"},
	{regexp.MustCompile(`sha256 \w{12}`), "sha256 <SHA>"},
	{regexp.MustCompile(`now \w{12}\)`), "now <SHA>)"},
	{regexp.MustCompile(`"sha256": "\w{64}"`), `"sha256": "<SHA>"`},
	{regexp.MustCompile(`\b\d+(\.\d+)?m?s ago|just now`), "<AGO>"},
	{regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`), "<DUR>"},
	{regexp.MustCompile(` {2,}`), "  "},
	{regexp.MustCompile(` +\n`), "\n"},
}

func scriptMask(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: mask stdout|stderr|FILE OUT")
	}
	text := ts.ReadFile(args[0])
	if name := ts.Getenv("STORE"); name != "" {
		text = strings.ReplaceAll(text, name, "<STORE>")
	}
	for _, prefix := range []string{"/private", ""} {
		text = strings.ReplaceAll(text, prefix+ts.Getenv("WORK"), "<WORK>")
	}
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.by)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}
