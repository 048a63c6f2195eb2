package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// suspendingProject is a project whose agent needs a login, and a loop that asks it.
func suspendingProject(t *testing.T, dir string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/config.yaml"),
		"hosts:\n  mine: {program: ./ask, args: [\"{prompt}\"], format: jsonl, text: {path: text, when: {type: say}}, "+
			"error: error, status: code, done: {when: {type: end}}}\n")
	writeText(t, filepath.Join(dir, ".loops/asks.yaml"),
		"name: asks\ndescription: Asks an agent.\nscope: [x]\ninitial: a\nllm: {host: mine}\nstates:\n"+
			"  a: {action: hi, action_type: prompt, next: done}\n  done: {terminal: true}\n")
	writeText(t, filepath.Join(dir, "ask"),
		"#!/bin/sh\n[ -e login ] || { echo '{\"type\": \"end\", \"error\": \"401 log in\", \"code\": "+
			"401}'; exit 1; }\n"+
			"echo '{\"type\": \"say\", \"text\": \"ready\"}'; echo '{\"type\": \"end\"}'\n")
	must(t, os.Chmod(filepath.Join(dir, "ask"), 0o755))
}

// TestUnblock: a suspended run continues after the button on its page, and after the tool of an agent.
func TestUnblock(t *testing.T) {
	t.Parallel()
	t.Run("page", func(t *testing.T) {
		t.Parallel()
		dir := serveDir(t)
		suspendingProject(t, dir)
		s := startServe(t, dir)
		run, _ := s.post("/runs", `{"loop": "asks"}`)["instance_id"].(string)
		s.until(run, `"suspended_by": "mine"`)
		const all = "/api/v1/projects/shop/runs/"
		_, page := s.ask("GET", "/p/shop/runs/"+run, "", "")
		for _, want := range []string{"Done: unblock", "/p/shop/runs/" + run + "/unblock", "unblock mine"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		writeText(t, filepath.Join(dir, "login"), "")
		var status int
		var text string
		testenv.Within(testenv.Patience, func() bool { // the process that was suspended may hold its files for a moment
			status, text = s.ask("POST", all+run+"/unblock", "application/json", "{}")
			return status == http.StatusOK
		})
		if status != http.StatusOK || !strings.Contains(text, run) {
			t.Fatalf("%d %s", status, text)
		}
		s.checkAnswer("unblocked", text)
		s.until(run, `"status": "completed"`)
		if status, text := s.ask("POST", all+run+"/unblock", "application/json", "{}"); status !=
			http.StatusConflict || !strings.Contains(text, "is not suspended") {
			t.Errorf("a run that completed: %d %s", status, text)
		}
		if _, page := s.ask("GET", "/p/shop/runs/"+run, "", ""); strings.Contains(page, "Done: unblock") {
			t.Error("the page of a run that completed has the button")
		}
	})
	t.Run("tool", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		t.Cleanup(func() { testenv.RemoveSoon(t, dir) })
		suspendingProject(t, dir)
		a := agentIn(t, dir, cleanEnv(binary(t), dir))
		a.ask("run", map[string]any{"name": "asks", "wait_seconds": 60})
		if said := a.fail("unblock", map[string]any{"suspended_by": "other"}); !strings.Contains(said,
			"runs are suspended by mine") {
			t.Error(said)
		}
		writeText(t, filepath.Join(dir, "login"), "")
		done := a.ask("unblock", map[string]any{"suspended_by": "mine"})
		if runs, _ := done["runs"].([]any); len(runs) != 1 {
			t.Errorf("%v", done)
		}
		testenv.Wait(t, "the run completes", func() bool {
			return a.ask("status", map[string]any{"run": "asks"})["status"] == "completed"
		})
	})
}

// TestStopSuspended: a suspended run is stopped by the button on its page, by the API, by the tool of an agent
// and by the key of watch; unblock does not continue it then.
func TestStopSuspended(t *testing.T) {
	t.Parallel()
	t.Run("page", func(t *testing.T) {
		t.Parallel()
		dir := serveDir(t)
		suspendingProject(t, dir)
		s := startServe(t, dir)
		const all = "/api/v1/projects/shop/runs/"
		var runs []string
		for range 2 {
			run, _ := s.post("/runs", `{"loop": "asks"}`)["instance_id"].(string)
			s.until(run, `"suspended_by": "mine"`)
			runs = append(runs, run)
		}
		_, page := s.ask("GET", "/p/shop/runs/"+runs[0], "", "")
		if !strings.Contains(page, "/p/shop/runs/"+runs[0]+"/stop") {
			t.Error("the page of a suspended run has no button that stops it")
		}
		if status, text := s.ask("POST", "/p/shop/runs/"+runs[0]+"/stop", "application/x-www-form-urlencoded",
			""); status >= http.StatusBadRequest {
			t.Errorf("the button: %d %s", status, text)
		}
		if status, text := s.ask("POST", all+runs[1]+"/stop", "application/json", "{}"); status != http.StatusOK ||
			!strings.Contains(text, `"status": "user_stopped"`) {
			t.Errorf("the API: %d %s", status, text)
		}
		for _, run := range runs {
			s.until(run, `"outcome": "stopped"`)
		}
		if status, text := s.ask("POST", all+runs[1]+"/stop", "application/json", "{}"); status !=
			http.StatusNotFound || !strings.Contains(text, "nothing to stop") {
			t.Errorf("a run that is stopped: %d %s", status, text)
		}
		if status, text := s.ask("POST", all+runs[1]+"/unblock", "application/json", "{}"); status !=
			http.StatusConflict || !strings.Contains(text, "is not suspended") {
			t.Errorf("unblock of a run that is stopped: %d %s", status, text)
		}
	})
	t.Run("tool", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		t.Cleanup(func() { testenv.RemoveSoon(t, dir) })
		suspendingProject(t, dir)
		a := agentIn(t, dir, cleanEnv(binary(t), dir))
		a.ask("run", map[string]any{"name": "asks", "wait_seconds": 60})
		done := a.ask("stop", map[string]any{"run": "asks"})
		if stopped, _ := done["stopped"].([]any); len(stopped) != 1 {
			t.Errorf("%v", done)
		}
		if is := a.ask("status", map[string]any{"run": "asks"}); is["outcome"] != "stopped" || is["resumable"] != true {
			t.Errorf("it is %v", is["outcome"])
		}
		writeText(t, filepath.Join(dir, "login"), "")
		if done := a.ask("unblock", map[string]any{"suspended_by": "mine"}); done["runs"] != nil &&
			len(done["runs"].([]any)) > 0 {
			t.Errorf("unblock continues %v", done["runs"])
		}
	})
	t.Run("watch", func(t *testing.T) {
		t.Parallel()
		dir, env := watchProject(t, "dir", ticking)
		suspendingProject(t, dir)
		cmd := exec.CommandContext(t.Context(), binary(t), "run", "asks", "--quiet")
		cmd.Dir, cmd.Env = dir, env
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), "Loop suspended") {
			t.Fatalf("%s", out)
		}
		w := startWatch(t, dir, env, 24, 80)
		w.until("the run is seen", func() bool { return strings.Contains(strings.Join(w.lines(), "\n"), "~ asks-") })
		w.press("/asks\r")
		w.see("▸~ asks-")
		w.press("s")
		w.see("Nothing but resume continues it then.")
		w.press("y")
		w.see("▸! asks-")
		w.press("q")
		w.end(0)
	})
}
