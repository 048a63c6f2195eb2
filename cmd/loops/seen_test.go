package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"loops/internal/testenv"
)

// TestSeen: a run that a client of MCP starts, whose process is killed once, and whose question is answered, is
// one task, one trace with every step, one row in the metrics, and one record.
func TestSeen(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	dir := t.TempDir()
	t.Cleanup(func() { testenv.RemoveSoon(t, dir) })
	must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
	states := `states:
  both: {parallel: {left: {action: 'echo "$TRACEPARENT" >> parents'}, right: {loop: inner}}, next: work}
  work: {action: 'echo "$TRACEPARENT" >> parents; test -f again || { echo $$ > pid.$LOOPS_RUN_ID; exec sleep 60; }', next: approve}
`
	loop := strings.NewReplacer("name: ship", "name: traced", "initial: approve", "initial: both", "states:\n",
		states).Replace(asking)
	writeText(t, filepath.Join(dir, ".loops", "traced.yaml"), loop)
	writeText(t, filepath.Join(dir, ".loops", "inner.yaml"), innerLoop)
	env := append(cleanEnv(binary(t), dir), "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url)
	a := newTasker(t, dir, env, true)
	id := a.create("run", map[string]any{"name": "traced"})
	a.waitFor(id, "working")
	pid := a.started(id)
	owner := int(a.loops("status", id, "--json").(map[string]any)["pid"].(float64))
	must(t, syscall.Kill(owner, syscall.SIGKILL))
	waitGone(t, owner)
	writeText(t, filepath.Join(dir, "again"), "")
	a.same("the task of resume", a.create("resume", map[string]any{"run": id}), id)
	waitGone(t, pid)
	asks := a.waitFor(id, "input_required")
	owner = int(a.loops("status", id, "--json").(map[string]any)["pid"].(float64))
	a.accept(asks, map[string]any{"choice": "approve"})

	object, _ := a.waitFor(id, "completed").Result.StructuredContent.(map[string]any)
	a.same("the run of the task", object["instance_id"], id)
	waitGone(t, owner) // it has sent its spans

	runs := a.loops("runs", "--json").([]any)
	if len(runs) != 1 || runs[0].(map[string]any)["instance_id"] != id ||
		runs[0].(map[string]any)["outcome"] != "completed" {
		t.Errorf("the task is not one record: %v", runs)
	}

	var entered, steps []string
	for line := range strings.Lines(loopsIn(t, dir, env, "events", id, "--json")) {
		var e struct {
			Event, State string
			Resumed      bool
		}
		must(t, json.Unmarshal([]byte(line), &e))
		if e.Event == "state_enter" && !e.Resumed {
			entered = append(entered, e.State)
		}
	}
	all := c.whole()
	for _, s := range all {
		if s.attr("loops.step") != "" {
			steps = append(steps, s.Name)
		}
	}
	slices.Sort(entered)
	slices.Sort(steps)
	a.same("the steps of the trace", steps, entered)
	c.mu.Lock()
	if len(c.spans) != len(all) {
		t.Errorf("%d spans were sent, and the trace has %d", len(c.spans), len(all))
	}
	c.mu.Unlock()
	if n := count(all, "traced"); n != 2 {
		t.Errorf("the trace has %d parts; one process was killed, and one resumed the run", n)
	}
	parents(t, dir, all)

	text := loopsIn(t, dir, env, "stats", "--prometheus")
	label := fmt.Sprintf(`{project=%q,loop="traced"`, filepath.Base(dir))
	for _, row := range []string{
		"loops_runs_started_total" + label + "} 1", "loops_runs_ended_total" + label + `,outcome="completed"} 1`,
		"loops_runs_resumed_total" + label + "} 1", "loops_leases_lost_total" + label + "} 1",
		fmt.Sprintf("loops_steps_total%s} %d", label, len(entered)),
	} {
		name, _, _ := strings.Cut(row, "{")
		if !strings.Contains(text, row+"\n") || strings.Count(text, "\n"+name+"{") != 1 {
			t.Errorf("the metrics do not have the one row %s:\n%s", row, text)
		}
	}
	c.counted(id, "traced", text)
}
