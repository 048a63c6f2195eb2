package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

const conformance = "testdata/conformance"

// TestConformance runs the cases in testdata/conformance/cases that not_yet.txt does not name. Those that wait
// for minutes run with -torture; the traces of package fsm show their waits in faked time.
func TestConformance(t *testing.T) {
	t.Parallel()
	notYet := readNotYet(t)
	for _, c := range testenv.Cases(t, conformance+"/cases/*.txtar") {
		spec := readSpec(t, c)
		if notYet[c.Name] != "" || spec.Slow && !*torture {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			r := runCase(t, c, spec)
			if d := r.compare(t, c); d != "" {
				t.Errorf("%s\nstderr of the last step: %s", d, cut(r.stderr[len(r.stderr)-1], 1500))
			}
		})
	}
}

// TestConformanceList holds not_yet.txt to the truth: together with what is run it names every public case.
func TestConformanceList(t *testing.T) {
	notYet := readNotYet(t)
	public := strings.Fields(readText(t, conformance+"/public.txt"))
	known := map[string]bool{}
	for _, c := range testenv.Cases(t, conformance+"/cases/*.txtar") {
		known[c.Name] = true
	}
	for _, f := range fixtures(t) {
		known[f.name] = true
	}
	for _, name := range public {
		if !known[name] && notYet[name] == "" {
			t.Errorf("%s is neither run nor listed in not_yet.txt", name)
		}
	}
	for name := range notYet {
		if fixture := strings.HasPrefix(name, "dirs/") && known[name]; !fixture && !slices.Contains(public, name) {
			t.Errorf("not_yet.txt names %s, which is no public case", name)
		}
	}
	for name := range known {
		if !strings.HasPrefix(name, "dirs/") && !slices.Contains(public, name) {
			t.Errorf("cases/%s is not in public.txt", name)
		}
	}
}

// TestFixtures runs commands in directories that little-loops wrote.
func TestFixtures(t *testing.T) {
	t.Parallel()
	notYet := readNotYet(t)
	for _, f := range fixtures(t) {
		if notYet[f.name] != "" {
			continue
		}
		t.Run(strings.TrimPrefix(f.name, "dirs/"), func(t *testing.T) {
			t.Parallel()
			if d := f.run(t); d != "" {
				t.Errorf("loops %s: %s", strings.Join(f.Args, " "), d)
			}
		})
	}
}

// readNotYet returns the reasons in not_yet.txt by name.
func readNotYet(t *testing.T) map[string]string {
	t.Helper()
	m := map[string]string{}
	for line := range strings.Lines(readText(t, conformance+"/not_yet.txt")) {
		name, why, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "" {
			continue
		}
		if why == "" || m[name] != "" {
			t.Errorf("not_yet.txt: %q has no reason or stands there twice", name)
		}
		m[name] = why
	}
	return m
}

// readJSON decodes a file of a case into v.
func readJSON(t testing.TB, c *testenv.Case, name string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(c.Text(name)), v); err != nil {
		t.Fatalf("%s, %s: %v", c.Name, name, err)
	}
}

// compare returns the first difference between what the case left behind and what it expects.
func (r *caseRun) compare(t *testing.T, c *testenv.Case) string {
	t.Helper()
	var exp map[string]any
	readJSON(t, c, "expect.json", &exp)
	if d := match(exp["exit"], r.exit, "exit"); d != "" {
		return d
	}
	raw, torn := lastLog(t, r.cwd)
	if len(torn) > 0 {
		return fmt.Sprintf("the event log has lines that are not JSON, first: %s", cut(torn[0], 200))
	}
	events := make([]map[string]any, len(raw))
	for i, e := range raw {
		events[i] = norm(e, r.cwd).(map[string]any)
	}
	if d := r.compareEvents(t, c, exp, raw, events); d != "" {
		return d
	}
	state, _ := norm(lastState(t, r.cwd), r.cwd).(map[string]any)
	for _, k := range []string{"status", "current_state", "captured", "messages"} {
		if want, ok := exp[k]; ok {
			if d := match(want, state[k], "state."+k); d != "" {
				return d
			}
		}
	}
	if want, ok := exp["history_count"]; ok {
		n := float64(len(visible(r.cwd, ".loops/.history/*/events.jsonl")))
		if d := match(want, n, "history_count"); d != "" {
			return d
		}
	}
	if want, ok := exp["host_calls"]; ok {
		calls := []any{}
		for line := range strings.Lines(readText(t, filepath.Join(r.cwd, "host.log"))) {
			calls = append(calls, norm(decode(t, line), r.cwd))
		}
		if d := match(want, calls, "host_calls"); d != "" {
			return d
		}
	}
	return r.compareRest(t, exp)
}

func (r *caseRun) compareEvents(t *testing.T, c *testenv.Case, exp map[string]any,
	raw, events []map[string]any,
) string {
	t.Helper()
	if want := c.Text("expect.events.jsonl"); want != "" {
		var list []map[string]any
		for line := range strings.Lines(want) {
			if strings.TrimSpace(line) != "" {
				list = append(list, decode(t, line).(map[string]any))
			}
		}
		if d := matchEvents(list, joinOutput(events)); d != "" {
			return d
		}
	}
	var end map[string]any
	depth := 0.0
	for _, e := range events {
		if e["event"] == "loop_complete" && falsy(e["depth"]) {
			end = e
		}
		if d, ok := e["depth"].(float64); ok {
			depth = max(depth, d)
		}
	}
	for _, k := range []string{"terminated_by", "final_state", "failure_terminal", "iterations"} {
		if want, ok := exp[k]; ok {
			if d := match(want, end[k], k); d != "" {
				return d
			}
		}
	}
	if want, ok := exp["max_depth"]; ok {
		if d := match(want, depth, "max_depth"); d != "" {
			return d
		}
	}
	// Cases ask for it with seq: true, but a gap is a defect in all of them (D14).
	for i, e := range raw {
		if e["seq"] != float64(i+1) {
			return fmt.Sprintf("event %d has seq %v", i+1, e["seq"])
		}
	}
	return ""
}

func (r *caseRun) compareRest(t *testing.T, exp map[string]any) string {
	t.Helper()
	files, _ := exp["files"].(map[string]any)
	for _, rel := range sortedKeys(files) {
		var got any
		if hits := visible(r.cwd, rel); len(hits) > 0 {
			got = normText(readText(t, hits[len(hits)-1]), r.cwd)
		}
		if d := match(files[rel], got, "file "+rel); d != "" {
			return d
		}
	}
	stdout, _ := exp["stdout"].([]any)
	for i, subs := range stdout {
		for _, s := range subs.([]any) {
			if !strings.Contains(r.stdout[i], s.(string)) {
				return fmt.Sprintf("stdout of step %d lacks %s: %s", i+1, short(s), cut(r.stdout[i], 600))
			}
		}
	}
	return ""
}

// A fixture is one check of a directory fixture.
type fixture struct {
	in           *testenv.Case
	name         string
	Snapshot     string         `json:"snapshot"`
	Args         []string       `json:"args"`
	Exit         any            `json:"exit"`
	StdoutJSON   any            `json:"stdout_json"`
	StdoutHas    []string       `json:"stdout_has"`
	StdoutHasNot []string       `json:"stdout_hasnot"`
	After        map[string]any `json:"after"`
	EventsEnd    []string       `json:"events_end"`
}

func fixtures(t *testing.T) []fixture {
	t.Helper()
	var out []fixture
	for _, c := range testenv.Cases(t, conformance+"/dirs/*.txtar") {
		var exp struct{ Checks []fixture }
		readJSON(t, c, "expect.json", &exp)
		for i, f := range exp.Checks {
			f.in, f.name = c, fmt.Sprintf("dirs/%s#%d", c.Name, i+1)
			out = append(out, f)
		}
	}
	return out
}

func (f fixture) run(t *testing.T) string {
	t.Helper()
	cwd, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	f.in.Unpack(t, f.Snapshot, cwd, "<CWD>", cwd)
	must(t, os.Mkdir(filepath.Join(cwd, "home"), 0o755))
	bin := binary(t)
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, f.Args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = cwd, cleanEnv(bin, filepath.Join(cwd, "home")), &stdout, &stderr
	_ = cmd.Run() // how it ended is read from ProcessState
	out := stdout.String()
	if d := match(f.Exit, exitCode(cmd.ProcessState), "exit"); d != "" {
		return d + "\n" + cut(stderr.String()+out, 1500)
	}
	if f.StdoutJSON != nil {
		if d := match(f.StdoutJSON, decode(t, out), "stdout"); d != "" {
			return d
		}
	}
	for _, s := range f.StdoutHas {
		if !strings.Contains(out, s) {
			return fmt.Sprintf("stdout lacks %q: %s", s, cut(out, 600))
		}
	}
	for _, s := range f.StdoutHasNot {
		if strings.Contains(out, s) {
			return fmt.Sprintf("stdout has %q: %s", s, cut(out, 600))
		}
	}
	if f.After != nil {
		if d := match(f.After, lastState(t, cwd), "state"); d != "" {
			return d
		}
	}
	return f.matchEnd(t, cwd)
}

// matchEnd looks for the wanted events, in order, in the log of the latest run.
func (f fixture) matchEnd(t *testing.T, cwd string) string {
	t.Helper()
	fields := map[string][]string{
		"state_enter": {"state", "iteration"}, "route": {"from", "to"}, "loop_complete": {"final_state", "iterations"},
	}
	log, _ := lastLog(t, cwd) // a torn line is what one of the fixtures is about
	for _, want := range f.EventsEnd {
		words := strings.Fields(want)
		i := slices.IndexFunc(log, func(e map[string]any) bool {
			if e["event"] != words[0] || !falsy(e["depth"]) {
				return false
			}
			for j, w := range words[1:] {
				if fmt.Sprint(e[fields[words[0]][j]]) != w {
					return false
				}
			}
			return true
		})
		if i < 0 {
			return fmt.Sprintf("the event log lacks %q", want)
		}
		log = log[i+1:]
	}
	return ""
}
