package main_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

// A caseSpec is a case.json; a case without one is "loops run main".
type caseSpec struct {
	Args    []string          `json:"args"`
	Steps   []caseStep        `json:"steps"`
	Signals []caseSignal      `json:"signals"`
	Env     map[string]string `json:"env"`
	Setup   string            `json:"setup"`
	Limit   float64           `json:"limit"`
	Stub    bool              `json:"host_stub"`
	Slow    bool              `json:"slow"` // waits that are not faked here: run with -torture alone
}

type caseStep struct {
	Args    []string     `json:"args"`
	Sh      string       `json:"sh"`
	Signals []caseSignal `json:"signals"`
	Stdin   *string      `json:"stdin"`
	Then    string       `json:"then"`
	Limit   float64      `json:"limit"`
}

type caseSignal struct {
	Sig      string  `json:"sig"`
	After    float64 `json:"after"`
	WhenFile string  `json:"when_file"`
}

var signals = map[string]syscall.Signal{
	"SIGHUP": syscall.SIGHUP, "SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL,
}

// readSpec returns the case.json of a case.
func readSpec(t testing.TB, c *testenv.Case) (spec caseSpec) {
	t.Helper()
	if c.Text("case.json") != "" {
		readJSON(t, c, "case.json", &spec)
	}
	return spec
}

// A caseRun is what a case left behind.
type caseRun struct {
	cwd    string
	exit   []any
	stdout []string
	stderr []string
}

// runCase carries out the steps of a case in a fresh folder.
func runCase(t *testing.T, c *testenv.Case, spec caseSpec) caseRun {
	t.Helper()
	cwd, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(cwd, ".loops"), 0o755))
	must(t, os.MkdirAll(filepath.Join(cwd, "home"), 0o755))
	c.Unpack(t, "loops", filepath.Join(cwd, ".loops"), "", "")
	bin := binary(t)
	env := cleanEnv(bin, filepath.Join(cwd, "home"))
	for k, v := range spec.Env {
		env = append(env, k+"="+strings.ReplaceAll(v, "<CWD>", cwd))
	}
	if spec.Stub {
		stubs, err := filepath.Abs(conformance + "/fakebin")
		must(t, err)
		for i, kv := range env {
			if path, ok := strings.CutPrefix(kv, "PATH="); ok {
				env[i] = "PATH=" + stubs + ":" + path
			}
		}
		env = append(env, "FAKE_LOG="+cwd+"/host.log", "FAKE_JUDGE="+cwd+"/judge.txt")
	}
	if spec.Stub || strings.Contains(spec.Setup, "python3") {
		testenv.Command(t, "python3")
	}
	if spec.Setup != "" {
		if out, err := bash(cwd, env, spec.Setup); err != nil {
			t.Fatalf("setup: %v\n%s", err, out)
		}
	}
	steps := spec.Steps
	if steps == nil {
		steps = []caseStep{{Args: append([]string{"run", "main"}, spec.Args...), Signals: spec.Signals}}
	}
	r := caseRun{cwd: cwd}
	for _, st := range steps {
		if st.Limit == 0 {
			st.Limit = spec.Limit
		}
		r.step(t, bin, env, st)
		if st.Then != "" {
			// As in the reference runner, only what it leaves behind counts.
			_, _ = bash(cwd, env, st.Then)
		}
	}
	return r
}

// step runs one command, sends it the signals it is to get, and notes how it ended. Its output goes to files:
// with pipes, processes it leaves behind would hold the test.
func (r *caseRun) step(t *testing.T, bin string, env []string, st caseStep) {
	t.Helper()
	home := filepath.Join(r.cwd, "home")
	cmd := exec.Command(bin, st.Args...)
	if st.Sh != "" {
		cmd = exec.Command("bash", "-c", st.Sh)
	}
	cmd.Dir, cmd.Env = r.cwd, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, stderr := createFile(t, home+"/out"), createFile(t, home+"/err")
	defer stdout.Close()
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if st.Stdin != nil {
		must(t, os.WriteFile(home+"/in", []byte(*st.Stdin), 0o644))
		in, err := os.Open(home + "/in")
		must(t, err)
		defer in.Close()
		cmd.Stdin = in
	}
	must(t, cmd.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // how it ended is read from ProcessState
	}()
	for _, sg := range st.Signals {
		sendSignal(cmd.Process, done, r.cwd, sg)
	}
	limit := testenv.Patience
	if st.Limit > 0 {
		limit = seconds(st.Limit)
	}
	var exit any
	select {
	case <-done:
		exit = exitCode(cmd.ProcessState)
	case <-time.After(limit):
		exit = "timeout"
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // may have ended by now
		<-done
	}
	r.exit = append(r.exit, exit)
	r.stdout = append(r.stdout, normText(readText(t, home+"/out"), r.cwd))
	r.stderr = append(r.stderr, normText(readText(t, home+"/err"), r.cwd))
}

// sendSignal waits for what the signal waits for, at most testenv.Patience, and sends it unless the process has ended.
func sendSignal(p *os.Process, done <-chan struct{}, cwd string, sg caseSignal) {
	for end := time.Now().Add(testenv.Patience); sg.WhenFile != "" && time.Now().Before(end); {
		if _, err := os.Stat(filepath.Join(cwd, sg.WhenFile)); err == nil {
			break
		}
		select {
		case <-done:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	select {
	case <-done:
	case <-time.After(seconds(sg.After)):
		_ = p.Signal(signals[sg.Sig]) // may have ended by now
	}
}

// exitCode is the exit code, or the negative number of the signal that ended the process.
func exitCode(ps *os.ProcessState) float64 {
	if ws := ps.Sys().(syscall.WaitStatus); ws.Signaled() {
		return -float64(ws.Signal())
	}
	return float64(ps.ExitCode())
}

func bash(cwd string, env []string, script string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env, cmd.WaitDelay = cwd, env, time.Second
	return cmd.CombinedOutput()
}

// lastLog returns the events of the latest run below cwd, as they are, and the lines that are not JSON.
func lastLog(t testing.TB, cwd string) (events []map[string]any, bad []string) {
	t.Helper()
	best := ""
	for _, p := range visible(cwd, ".loops/.running/*.events.jsonl", ".loops/.history/*/events.jsonl") {
		rows, torn := readLog(t, p)
		if len(rows) == 0 {
			continue
		}
		ts, _ := rows[len(rows)-1]["ts"].(string)
		if ts > best || ts == best && len(rows) > len(events) {
			best, events, bad = ts, rows, torn
		}
	}
	return events, bad
}

func readLog(t testing.TB, path string) (rows []map[string]any, bad []string) {
	t.Helper()
	for line := range strings.Lines(readText(t, path)) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			bad = append(bad, line)
		} else if row != nil {
			rows = append(rows, row)
		}
	}
	return rows, bad
}

// lastState returns the state file of the latest run below cwd; on a tie the live one, which is written last.
func lastState(t testing.TB, cwd string) map[string]any {
	t.Helper()
	var best string
	var state map[string]any
	for _, p := range visible(cwd, ".loops/.history/*/state.json", ".loops/.running/*.state.json") {
		var m map[string]any
		if json.Unmarshal([]byte(readText(t, p)), &m) != nil {
			continue // some fixtures hold the NaN tokens of little-loops
		}
		if at, _ := m["updated_at"].(string); state == nil || at >= best {
			best, state = at, m
		}
	}
	return state
}

// visible returns the files below cwd that match the patterns. Unlike filepath.Glob it passes over hidden names
// where the pattern has a *: those are files still being written.
func visible(cwd string, patterns ...string) []string {
	var out []string
	for _, pattern := range patterns {
		hits, _ := filepath.Glob(filepath.Join(cwd, pattern))
		for _, h := range hits {
			rel, _ := filepath.Rel(cwd, h)
			parts, want := strings.Split(rel, "/"), strings.Split(pattern, "/")
			ok := len(parts) == len(want)
			for i := range parts {
				ok = ok && (!strings.HasPrefix(parts[i], ".") || strings.HasPrefix(want[i], "."))
			}
			if ok {
				out = append(out, h)
			}
		}
	}
	return out
}

func createFile(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	return f
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
