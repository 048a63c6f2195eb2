package main_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// What a process did not deliver that was killed, a server delivers: the run is not resumed.
func TestEventsOutByServe(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	dir, env, _ := eventsProject(t, r)
	config := filepath.Join(dir, ".loops/config.yaml")
	writeText(t, filepath.Join(dir, "key"), "sesame\n")
	writeText(t, config,
		strings.Replace(readText(t, config), "secret_env: KEY", "secret_file: "+filepath.Join(dir, "key"), 1))
	r.answers(http.StatusServiceUnavailable)
	writeText(t, filepath.Join(dir, ".loops/busy.yaml"),
		strings.Replace(eventful, "echo b;", "echo b; kill -9 $PPID;", 1))
	run := exec.Command(binary(t), "-C", dir, "run", "busy", "--quiet")
	run.Env = env
	_ = run.Run()
	if run.ProcessState.ExitCode() != -1 {
		t.Fatalf("the run was not killed: %v", run.ProcessState)
	}
	events := strings.Count(loopsIn(t, dir, env, "events", "busy", "--json"), "\n")
	if len(r.got()) > 0 || events < 4 {
		t.Fatalf("before the server %d events are on record, and delivered are %v", events, r.got())
	}
	r.answers(http.StatusNoContent)
	startServe(t, dir)
	testenv.Wait(t, "all events", func() bool { return len(r.got()) > 0 && slices.Max(r.got()) >= events })
	if wrong := inOrder(r.got(), slices.Max(r.got())); wrong != "" {
		t.Error(wrong)
	}
	for _, name := range []string{"by-command", "lines"} {
		testenv.Wait(t, name, func() bool {
			text, _ := os.ReadFile(filepath.Join(dir, name))
			return bytes.Count(text, []byte("\n")) >= events
		})
	}
}

// A file that has its size is renamed once, with all that was in it, and the next events are in a new one.
func TestEventsOutRotate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	t.Cleanup(func() { testenv.RemoveSoon(t, dir) })
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/busy.yaml"), eventful)
	writeText(t, filepath.Join(dir, ".loops/config.yaml"), "events: [{file: lines, rotate: 1M}]\n")
	old := strings.Repeat("an event of before\n", 1<<20/19+1)
	lines := filepath.Join(dir, "lines")
	writeText(t, lines, old)
	env := cleanEnv(binary(t), dir)
	for range 2 { // the second one finds a small file
		testenv.Loops(t, dir, env, "run", "busy", "--quiet")
		if readText(t, lines+".1") != old {
			t.Error("what was in the file is not in the one with .1")
		}
	}
	seqs := seqsOf(t, []byte(readText(t, lines)))
	half := len(seqs) / 2
	if wrong := inOrder(seqs[:half], half) + inOrder(seqs[half:], half); wrong != "" || half < 10 {
		t.Errorf("%d events: %s", len(seqs), wrong)
	}
	if _, err := os.Stat(lines + ".1.1"); err == nil {
		t.Error("it was renamed twice")
	}
}

// An outlet with labels gets the events of those runs alone that have all of them.
func TestEventsOutLabels(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.write(".loops/busy.yaml", eventful)
	f.write(".loops/config.yaml",
		"events:\n- {file: every}\n- {file: gpu, labels: [gpu]}\n- {file: both, labels: [gpu, big]}\n"+
			"- {file: none, labels: [small]}\n")
	ids := map[string]string{
		"none": f.submit("busy", "--no-lock"),
		"gpu":  f.submit("busy", "--no-lock", "--label", "gpu"),
		"both": f.submit("busy", "--no-lock", "--label", "gpu", "--label", "big"),
	}
	f.worker("--label", "gpu", "--label", "big", "--slots", "3")
	ended := func(name, id string) bool {
		text, _ := os.ReadFile(filepath.Join(f.dir, name))
		return strings.Contains(string(text), fmt.Sprintf(`"type": "loops.loop_complete", "subject": %q`, id))
	}
	for file, runs := range map[string][]string{
		"every": {"none", "gpu", "both"}, "gpu": {"gpu", "both"},
		"both": {"both"},
	} {
		for _, run := range runs {
			f.until(file+" has the end of "+run, func() bool { return ended(file, ids[run]) })
		}
		text, err := os.ReadFile(filepath.Join(f.dir, file))
		must(t, err)
		seqs := map[string][]int{}
		for line := range bytes.Lines(text) {
			for run, id := range ids {
				if bytes.Contains(line, []byte(`"subject": "`+id+`"`)) {
					seqs[run] = append(seqs[run], cloudSeq(t, line))
				}
			}
		}
		for run, got := range seqs {
			if wrong := inOrder(got, slices.Max(got)); wrong != "" || !slices.Contains(runs, run) {
				t.Errorf("%s has events of %s: %s", file, run, wrong)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(f.dir, "none")); err == nil {
		t.Error("there are events of a label that no run has")
	}
}
