package main_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

var (
	crashes   = flag.Int("crashes", 10, "runs that TestCrash kills in each store")
	crashSeed = flag.Uint64("crash-seed", 0, "seed of what is chosen at random; 0 = 1, with -torture the time")
)

// stores are where runs are recorded, as LOOPS_STORE.
var stores = []string{"dir", "sqlite:runs.db"}

func storeName(store string) string {
	name, _, _ := strings.Cut(store, ":")
	return name
}

const maxKillsPerRun = 3

// crashLoop is a loop of 20 steps: actions that write to a file outside of the run, captures, messages, a
// decision state, and a counter that goes through its own state four times.
func crashLoop() string {
	var b strings.Builder
	b.WriteString("name: crash\ndescription: twenty steps to be killed in\nscope: [\".\"]\ninitial: a1\n" +
		"max_steps: 40\nstates:\n")
	action := func(say string) string {
		return `
    action: |
      echo "b ${state.name}.${state.iteration}" >> log.txt
      echo ` + say + `
      sleep 0.004
      echo "e ${state.name}.${state.iteration}" >> log.txt
`
	}
	for i := 1; i <= 8; i++ {
		next := fmt.Sprintf("a%d", i+1)
		if i == 8 {
			next = "decide"
		}
		fmt.Fprintf(&b, "  a%d:%s    capture: c%d\n", i, action(fmt.Sprintf("out-%d", i)), i)
		if i%2 == 0 {
			fmt.Fprintf(&b, "    on_yes: %s\n    on_no: failed\n", next)
		} else {
			fmt.Fprintf(&b, "    append_to_messages: \"said ${captured.c%d.output}\"\n    next: %s\n", i, next)
		}
	}
	b.WriteString(`  decide:
    evaluate: {type: output_contains, source: "${captured.c3.output}", pattern: "out-3"}
    on_yes: count
    on_no: failed
`)
	b.WriteString("  count:" + action("$((${captured.n.output:default=0} + 1))") + `    capture: n
    evaluate: {type: output_numeric, operator: ge, target: 4}
    max_retries: 5
    on_retry_exhausted: failed
    on_yes: z1
    on_no: count
`)
	for i := 1; i <= 7; i++ {
		next := fmt.Sprintf("z%d", i+1)
		if i == 7 {
			next = "done"
		}
		fmt.Fprintf(&b, "  z%d:%s    capture: last\n    next: %s\n", i, action("${captured.n.output}-${prev.state}"),
			next)
	}
	b.WriteString("  done: {terminal: true}\n  failed: {terminal: true}\n")
	return b.String()
}

// TestCrash kills the real program with SIGKILL at random moments of a run, resumes it until it is done, and
// compares what is left with a run that was never killed. `make torture` does it more often.
func TestCrash(t *testing.T) {
	t.Parallel()
	t.Logf("again with: go test ./cmd/loops -run TestCrash -crashes %d -crash-seed %d", *crashes, *crashSeed)
	for _, store := range stores {
		whole := newCrashDir(t, store)
		begin := time.Now()
		if code := whole.start(t, "run", "crash", "--quiet").end(t, 0); code != 0 {
			t.Fatalf("the unbroken run exits with %v: %s", code, whole.said(t))
		}
		length := time.Since(begin)
		want := whole.left(t)
		if want.steps != 20 {
			t.Fatalf("the unbroken run has %d steps, want 20", want.steps)
		}
		if d := checkActions(want.log, want.events, 0); d != "" {
			t.Fatal(d)
		}
		for i := range *crashes {
			rnd := rand.New(rand.NewPCG(*crashSeed, uint64(i)))
			t.Run(fmt.Sprint(storeName(store), "/", i), func(t *testing.T) {
				t.Parallel()
				dir := newCrashDir(t, store)
				kills := dir.runToEnd(t, rnd, length)
				got := dir.left(t)
				if d := compareCrash(want, got, kills); d != "" {
					t.Errorf("killed %d times: %s\nfiles: %v\nlog:\n%s\nevents:\n%s", kills, d,
						visible(dir.cwd, ".loops/.running/*", ".loops/.history/*/*"), got.log, tail(got.events, 30))
				}
			})
		}
	}
}

// A crashDir is a project with loops to be interrupted in it.
type crashDir struct {
	cwd   string
	store string // where its runs are recorded
}

func newCrashDir(t *testing.T, store string) crashDir {
	t.Helper()
	cwd := t.TempDir()
	must(t, os.Mkdir(filepath.Join(cwd, ".loops"), 0o755))
	must(t, os.WriteFile(filepath.Join(cwd, ".loops/crash.yaml"), []byte(crashLoop()), 0o644))
	return crashDir{cwd, store}
}

// runToEnd runs the loop, kills it one to three times, and resumes it until it ends. It returns how often the
// program was killed before it had ended by itself.
func (d crashDir) runToEnd(t *testing.T, rnd *rand.Rand, length time.Duration) (kills int) {
	t.Helper()
	planned := 1 + rnd.IntN(maxKillsPerRun)
	verb := "run"
	for range 4 * maxKillsPerRun {
		p := d.start(t, verb, "crash", "--quiet")
		var after time.Duration
		if kills < planned {
			after = time.Duration(rnd.Int64N(int64(length))) + time.Millisecond
		}
		switch code := p.end(t, after); {
		case code == -float64(syscall.SIGKILL):
			kills++
			verb = "resume"
		case code == 0:
			return kills
		case code == 4 && verb == "resume":
			// Killed before anything was recorded, so nothing may have been done; or after its end and before it was
			// archived, which the next start or sweep makes good.
			d.sweep(t)
			if d.status(t, "crash") == "completed" {
				return kills
			}
			if log := readText(t, filepath.Join(d.cwd, "log.txt")); log != "" {
				t.Fatalf("nothing to resume after a kill, but actions ran:\n%s", log)
			}
			verb = "run"
		default:
			t.Fatalf("%s after %d kills exits with %v: %s", verb, kills, code, d.said(t))
		}
	}
	t.Fatalf("the run did not come to its end after %d kills", kills)
	return 0
}

func (d crashDir) env(bin string) []string {
	return append(cleanEnv(bin, d.cwd), "LOOPS_STORE="+d.store)
}

// said is what the last program printed.
func (d crashDir) said(t *testing.T) string { return readText(t, filepath.Join(d.cwd, "err")) }

// copyToFiles has all runs in files, to look at, wherever they are recorded.
func (d crashDir) copyToFiles(t *testing.T) {
	t.Helper()
	if d.store == "dir" {
		return
	}
	if code := d.start(t, "store", "copy", d.store, "dir").end(t, 0); code != 0 {
		t.Fatalf("store copy exits with %v: %s", code, d.said(t))
	}
}

func (d crashDir) sweep(t *testing.T) {
	t.Helper()
	code := d.start(t, "sweep").end(t, 0)
	// it was killed before it made one
	if code != 0 && (code != 4 || !strings.Contains(d.said(t), "there is no database")) {
		t.Fatalf("sweep exits with %v: %s", code, d.said(t))
	}
}

// status is that of the newest run of a loop, as users see it, and "" if there is none.
func (d crashDir) status(t *testing.T, loop string) string {
	t.Helper()
	code := d.start(t, "status", loop, "--json").end(t, 0)
	if code == 4 {
		return ""
	}
	var run struct{ Status string }
	if err := json.Unmarshal([]byte(d.said(t)), &run); code != 0 || err != nil {
		t.Fatalf("status exits with %v: %s", code, d.said(t))
	}
	return run.Status
}

// stdin is what the program reads: the file in of the project, or nothing.
func (d crashDir) stdin() (*os.File, error) {
	f, err := os.Open(filepath.Join(d.cwd, "in"))
	if errors.Is(err, fs.ErrNotExist) {
		return os.Open(os.DevNull)
	}
	return f, err
}

type crashProcess struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func (d crashDir) start(t *testing.T, args ...string) crashProcess {
	t.Helper()
	return d.startInto(t, "err", args...)
}

// startInto starts the program, which prints into a file of the project.
func (d crashDir) startInto(t *testing.T, said string, args ...string) crashProcess {
	t.Helper()
	bin := binary(t)
	cmd := exec.Command(bin, args...)
	cmd.Dir, cmd.Env = d.cwd, d.env(bin)
	stderr := createFile(t, filepath.Join(d.cwd, said))
	defer stderr.Close()
	stdin, err := d.stdin()
	must(t, err)
	defer stdin.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stderr, stderr
	must(t, cmd.Start())
	p := crashProcess{cmd, make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // how it ended is read from ProcessState
	}()
	return p
}

// end kills the process after a while, if that is not 0, and returns how it ended.
func (p crashProcess) end(t *testing.T, after time.Duration) float64 {
	t.Helper()
	limit := testenv.Patience
	if after > 0 {
		limit = after
	}
	select {
	case <-p.done:
	case <-time.After(limit):
		_ = p.cmd.Process.Kill() // may have ended by now
		<-p.done
		if after == 0 {
			t.Fatalf("%v did not end within %v", p.cmd.Args, limit)
		}
	}
	return exitCode(p.cmd.ProcessState)
}

// leftovers is what a run left behind, without what differs from run to run.
type leftovers struct {
	log      string
	events   []map[string]any
	torn     int
	captured any
	messages any
	edges    any
	status   any
	steps    int
	routes   []string
	folders  int
	running  int
}

func (d crashDir) left(t *testing.T) leftovers {
	t.Helper()
	d.copyToFiles(t)
	state := lastState(t, d.cwd)
	events, bad := lastLog(t, d.cwd)
	l := leftovers{
		log: readText(t, filepath.Join(d.cwd, "log.txt")), events: events, torn: len(bad),
		captured: norm(state["captured"], d.cwd), messages: state["messages"], edges: state["edge_revisit_counts"],
		status:  state["status"],
		folders: len(visible(d.cwd, ".loops/.history/*")), running: len(visible(d.cwd, ".loops/.running/*.state.json")),
	}
	for _, e := range events {
		switch e["event"] {
		case "state_enter":
			l.steps = max(l.steps, int(e["iteration"].(float64)))
		case "route":
			l.routes = append(l.routes, fmt.Sprintf("%v>%v", e["from"], e["to"]))
		}
	}
	return l
}

func compareCrash(want, got leftovers, kills int) string {
	if d := compareLeft(want, got); d != "" {
		return d
	}
	return checkActions(got.log, got.events, kills)
}

// compareLeft compares all but what the actions themselves wrote.
func compareLeft(want, got leftovers) string {
	for i, e := range got.events {
		if e["seq"] != float64(i+1) {
			return fmt.Sprintf("event %d has seq %v", i+1, e["seq"])
		}
	}
	switch {
	case got.torn > 0:
		return fmt.Sprintf("%d lines of the event log are not JSON", got.torn)
	case got.status != want.status:
		return fmt.Sprintf("status is %v, want %v", got.status, want.status)
	case got.folders != 1 || got.running != 0:
		return fmt.Sprintf("%d archive folders and %d live state files, want 1 and 0", got.folders, got.running)
	case !reflect.DeepEqual(got.captured, want.captured):
		return fmt.Sprintf("captured is %s\nwant %s", toJSON(got.captured), toJSON(want.captured))
	case !reflect.DeepEqual(got.messages, want.messages):
		return fmt.Sprintf("messages are %s, want %s", toJSON(got.messages), toJSON(want.messages))
	case !reflect.DeepEqual(got.edges, want.edges):
		return fmt.Sprintf("edges are %s, want %s", toJSON(got.edges), toJSON(want.edges))
	case !slices.Equal(got.routes, want.routes):
		return fmt.Sprintf("routes are %v, want %v", got.routes, want.routes)
	case got.steps != want.steps:
		return fmt.Sprintf("%d steps, want %d", got.steps, want.steps)
	}
	return ""
}

// checkActions compares what actions did with what was recorded of them: an action starts only after it was
// recorded, never again once its result was recorded, and never while another copy of it runs.
func checkActions(log string, events []map[string]any, kills int) string {
	var tag string
	starts, complete := map[string]int{}, map[string]bool{}
	for _, e := range events {
		switch e["event"] {
		case "state_enter":
			tag = fmt.Sprintf("%v.%v", e["state"], e["iteration"])
		case "action_start":
			if complete[tag] {
				return "the action of " + tag + " was started again after its result was recorded"
			}
			starts[tag]++
		case "action_complete":
			complete[tag] = true
		}
	}
	begun := map[string]int{}
	again, previous := 0, ""
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		what, tag, _ := strings.Cut(line, " ")
		switch what {
		case "b":
			if begun[tag]++; begun[tag] > 1 {
				again++
			}
		case "e":
			if previous != "b "+tag {
				return "two copies of the action of " + tag + " ran at once"
			}
		default:
			return fmt.Sprintf("log.txt has the line %q", line)
		}
		previous = line
	}
	for tag, n := range begun {
		if n > starts[tag] {
			return fmt.Sprintf("the action of %s ran %d times and was recorded %d times", tag, n, starts[tag])
		}
	}
	for tag := range complete {
		if strings.HasPrefix(tag, "decide.") {
			return "a decision state ran an action"
		}
		if begun[tag] == 0 {
			return "the action of " + tag + " is recorded but never ran"
		}
	}
	if again > kills {
		return fmt.Sprintf("%d actions ran again after %d kills", again, kills)
	}
	return ""
}

func tail(events []map[string]any, n int) string {
	var b strings.Builder
	for _, e := range events[max(0, len(events)-n):] {
		line, err := json.Marshal(e)
		if err != nil {
			return err.Error()
		}
		b.WriteString(cut(string(line), 250) + "\n")
	}
	return b.String()
}

// TestCheckActions makes sure that the checks of TestCrash can fail.
func TestCheckActions(t *testing.T) {
	event := func(kind, state string) map[string]any {
		return map[string]any{"event": kind, "state": state, "iteration": 1.0}
	}
	enter, start, complete := event("state_enter", "a"), event("action_start", ""), event("action_complete", "")
	for _, c := range []struct {
		name, log string
		events    []map[string]any
		kills     int
		ok        bool
	}{
		{"once", "b a.1\ne a.1\n", []map[string]any{enter, start, complete}, 0, true},
		{
			"killed and run again", "b a.1\nb a.1\ne a.1\n",
			[]map[string]any{enter, start, enter, start, complete},
			1,
			true,
		},
		{
			"killed after it was done", "b a.1\ne a.1\nb a.1\ne a.1\n",
			[]map[string]any{enter, start, enter, start, complete},
			1, true,
		},
		{
			"again without a kill", "b a.1\ne a.1\nb a.1\ne a.1\n",
			[]map[string]any{enter, start, enter, start, complete},
			0, false,
		},
		{
			"again after its result", "b a.1\ne a.1\nb a.1\ne a.1\n",
			[]map[string]any{enter, start, complete, enter, start, complete},
			1, false,
		},
		{"at once", "b a.1\nb a.1\ne a.1\ne a.1\n", []map[string]any{enter, start, enter, start, complete}, 1, false},
		{"before it was recorded", "b a.1\nb a.1\n", []map[string]any{enter, start}, 1, false},
		{"never", "", []map[string]any{enter, start, complete}, 0, false},
	} {
		if d := checkActions(c.log, c.events, c.kills); (d == "") != c.ok {
			t.Errorf("%s: %q, want ok %v", c.name, d, c.ok)
		}
	}
}
