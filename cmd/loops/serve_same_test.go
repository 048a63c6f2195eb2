package main_test

import (
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var sameCommand = regexp.MustCompile(`The same: <code>(.*?)</code>`)

// TestServeShowsCommandsThatWork types the commands that pages show as doing the same: names and values that
// look like flags or like quotes are no exception.
func TestServeShowsCommandsThatWork(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	text := "description: done at once\ninitial: work\ncontext: {note: none}\nstates:\n" +
		"  work: {action: 'echo \"$LOOPS_CONTEXT_NOTE\"', next: done}\n  done: {terminal: true}\n"
	writeText(t, filepath.Join(dir, ".loops/-x.yaml"), "name: -x\n"+text)
	writeText(t, filepath.Join(dir, ".loops/slow.yaml"),
		"name: slow\ndescription: is stopped\ninitial: work\nstates:\n  work: {action: touch began; until test -e "+
			"go; do sleep 0.1; done, next: done}\n  done: {terminal: true}\n")
	s := startServe(t, dir)
	shown := func(path string) (commands []string) {
		t.Helper()
		_, page := s.ask("GET", path, "", "")
		for _, m := range sameCommand.FindAllStringSubmatch(page, -1) {
			commands = append(commands, html.UnescapeString(m[1]))
		}
		if len(commands) == 0 {
			t.Errorf("%s shows no command:\n%s", path, page)
		}
		return commands
	}
	bash := func(line string) string {
		t.Helper()
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir, cmd.Env = dir, append(cleanEnv(binary(t), dir), "PATH="+filepath.Dir(binary(t))+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	for _, line := range shown("/p/shop/start?loop=-x&field.note=it%27s+%22here%22") {
		bash(line)
	}
	id := strings.TrimSpace(bash("loops history --jq '.[0].instance_id' -- -x"))
	s.until(id, `"completed"`)
	if log := bash("loops logs -- " + id); !strings.Contains(log, `it's "here"`) {
		t.Errorf("the run that was started by its command has another value: %s", log)
	}
	run := "/p/shop/runs/" + id
	other := s.post("/runs", `{"loop": "-x"}`)["instance_id"].(string)
	s.until(other, `"completed"`)
	for _, path := range []string{run + "/fork", run + "?step=1", "/p/shop/compare?a=" + id + "&b=" + other} {
		for _, line := range shown(path) {
			if !strings.Contains(line, " rm ") {
				bash(line)
			}
		}
	}
	stopped := s.post("/runs", `{"loop": "slow"}`)["instance_id"].(string)
	waitForFile(t, filepath.Join(dir, "began"))
	s.post("/runs/"+stopped+"/stop", `{}`)
	s.until(stopped, `"stopped"`)
	writeText(t, filepath.Join(dir, "go"), "")
	for _, line := range shown("/p/shop/runs/" + stopped + "/resume") {
		bash(line)
	}
	s.until(stopped, `"completed"`)
	for _, line := range shown("/p/shop/runs/" + id) {
		if strings.Contains(line, " rm ") {
			bash(line)
		}
	}
}

// TestServePagesSayNoNone: a value that is not there is empty on every page, and forms have what the loop
// declares apart from what every run has.
func TestServePagesSayNoNone(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/hint.yaml"),
		"name: hint\ndescription: has a hint\ninitial: a\nparameters: {loud: {type: boolean, default: true}}\n"+
			"context: {hint: ''}\nstates:\n  a: {action: 'true', next: b}\n  b: {next: done}\n"+
			"  done: {terminal: true}\n")
	writeText(t, filepath.Join(dir, ".loops/bare.yaml"),
		"name: bare\ndescription: declares nothing\ninitial: a\nstates:\n  a: {action: 'true', next: done}\n"+
			"  done: {terminal: true}\n")
	s := startServe(t, dir)
	ids := map[string]string{}
	for _, loop := range []string{"hint", "bare"} {
		ids[loop] = s.post("/runs", `{"loop": "`+loop+`"}`)["instance_id"].(string)
		s.until(ids[loop], `"completed"`)
	}
	of := "/p/shop/runs/" + ids["hint"]
	for _, path := range []string{
		"/", "/loops", "/p/shop/loop?loop=hint", "/p/shop/start?loop=hint&dry=1", of,
		of + "?tab=steps", of + "?step=1", of + "?step=2", of + "?tab=events", of + "?tab=context",
		of + "?tab=related",
	} {
		if _, page := s.ask("GET", path, "", ""); strings.Contains(page, "None") || strings.Contains(page, "True") {
			t.Errorf("%s has a value in the words of Python:\n%s", path, page)
		}
	}
	const apart = "<summary>Values that the loop does not declare</summary>"
	for loop, want := range map[string]bool{"hint": true, "bare": false} {
		_, page := s.ask("GET", "/p/shop/runs/"+ids[loop]+"/fork", "", "")
		first, rest, found := strings.Cut(page, apart)
		if !found || strings.Contains(first, `name="field.hint"`) != want || strings.Contains(first, "max_steps") ||
			!strings.Contains(rest, "max_steps") {
			t.Errorf("the form that forks a run of %s:\n%s", loop, page)
		}
	}
}
