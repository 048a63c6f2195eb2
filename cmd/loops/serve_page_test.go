package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageOfARunAtItsLimit: the button that resumes a run that came to its limit raises that limit.
func TestPageOfARunAtItsLimit(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/turns.yaml"), "name: turns\ndescription: Turns.\nscope: [x]\ninitial: a\nmax_steps: 3\nstates:\n  a: {action: 'exit $((LOOPS_STEP < 5))', on_yes: done, on_no: a}\n  done: {terminal: true}\n")
	s := startServe(t, dir)
	run := s.post("/runs", `{"loop": "turns"}`)["instance_id"].(string)
	s.until(run, `"capped"`)
	page := "/p/shop/runs/" + run
	if _, text := s.ask("GET", page, "", ""); !strings.Contains(text, `name="limits" value="steps=3"`) || !strings.Contains(text, "resume -b --extend steps=3 "+run) {
		t.Errorf("the page does not offer a higher limit:\n%s", text)
	}
	if status, text := s.ask("POST", page+"/resume", "application/x-www-form-urlencoded", "limits=steps%3D3"); status != http.StatusOK {
		t.Errorf("resume: %d\n%s", status, text)
	}
	s.until(run, `"completed"`)
}
