package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"loops/internal/testenv"
)

// TestPageOfARunAtItsLimit: the button that resumes a run that came to its limit raises that limit.
func TestPageOfARunAtItsLimit(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/turns.yaml"),
		"name: turns\ndescription: Turns.\nscope: [x]\ninitial: a\nmax_steps: 3\nstates:\n"+
			"  a: {action: 'exit $((LOOPS_STEP < 5))', on_yes: done, on_no: a}\n  done: {terminal: true}\n")
	s := startServe(t, dir)
	run := s.post("/runs", `{"loop": "turns"}`)["instance_id"].(string)
	s.until(run, `"capped"`)
	page := "/p/shop/runs/" + run
	if _, text := s.ask("GET", page, "", ""); !strings.Contains(text, `name="limits" value="steps=3"`) ||
		!strings.Contains(text, "resume -b --extend steps=3 "+run) {
		t.Errorf("the page does not offer a higher limit:\n%s", text)
	}
	if status, text := s.ask("POST", page+"/resume", "application/x-www-form-urlencoded",
		"limits=steps%3D3"); status != http.StatusOK {
		t.Errorf("resume: %d\n%s", status, text)
	}
	s.until(run, `"completed"`)
}

// TestPageOfAStepThatChangedFiles: the page of a step shows what it changed in files, and the command that
// takes it back; a slider goes through the files as they were kept.
func TestPageOfAStepThatChangedFiles(t *testing.T) {
	t.Parallel()
	testenv.Command(t, "git")
	dir := serveDir(t)
	must(t, exec.Command("git", "init", "-q", dir).Run())
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/files.yaml"),
		"name: files\ndescription: Files.\ninitial: a\nsnapshots: git\nstates:\n"+
			"  a: {action: 'echo \"<b>\" >made', next: b}\n  b: {action: 'true', next: done}\n"+
			"  done: {terminal: true}\n")
	s := startServe(t, dir)
	run := s.post("/runs", `{"loop": "files"}`)["instance_id"].(string)
	s.until(run, `"completed"`)
	page := "/p/shop/runs/" + run
	if _, text := s.ask("GET", page+"?step=1", "",
		""); !strings.Contains(text, "Files <small>1 file changed</small>") ||
		!strings.Contains(text, "diff --git a/made b/made") || !strings.Contains(text, "&lt;b&gt;</pre>") ||
		!strings.Contains(text, "undo --to=1 "+run) {
		t.Errorf("the page does not show what step 1 changed:\n%s", text)
	}
	if _, text := s.ask("GET", page+"?step=2", "", ""); strings.Contains(text, `id="files"`) {
		t.Errorf("the page shows changes of step 2, which made none:\n%s", text)
	}
	if _, text := s.ask("GET", page+"?tab=files&at=9", "", ""); !strings.Contains(text, "3 of 3") ||
		!strings.Contains(text, "2 after") || !strings.Contains(text, "undo --to=2:after "+run) {
		t.Errorf("the page does not show the last snapshot:\n%s", text)
	}
	if _, text := s.ask("GET", page+"?tab=files&at=1", "", ""); !strings.Contains(text, "as they were first kept") {
		t.Errorf("the page does not show the first snapshot:\n%s", text)
	}
	writeText(t, filepath.Join(dir, ".loops/plain.yaml"),
		"name: plain\ndescription: Plain.\ninitial: a\nstates:\n  a: {action: 'true', next: done}\n"+
			"  done: {terminal: true}\n")
	other := s.post("/runs", `{"loop": "plain"}`)["instance_id"].(string)
	s.until(other, `"completed"`)
	if status, text := s.ask("GET", "/p/shop/runs/"+other+"?tab=files", "", ""); status != http.StatusOK ||
		!strings.Contains(text, "no files of run "+other+" were kept") {
		t.Errorf("the page of a run without snapshots: %d\n%s", status, text)
	}

	b := s.page(t, startChromium(t), page+"?tab=files")
	b.sees(
		`document.querySelector("#files h2").textContent.includes("3 of 3") && document.querySelector("#files .none").textContent.includes("No file differs")`)
	b.do(chromedp.Focus(`[data-slide]`, chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowLeft))
	b.sees(
		`document.querySelector("#files h2").textContent.includes("2 of 3") && document.querySelector("#files pre").textContent.includes("+<b>")`)
	b.sees(`location.search.includes("at=2") && document.activeElement.matches("[data-slide]")`)
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.sees(`document.querySelector("#files h2").textContent.includes("3 of 3")`)
}
