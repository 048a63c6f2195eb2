package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"loops/internal/testenv"

	"loops/internal/api"
)

// quillHost declares an agent, and promptLoop asks it once, which costs half a dollar.
const (
	quillHost = `hosts:
  quill:
    program: bash
    args:
      - -c
      - |
        cat >/dev/null
        echo '{"text": "Once", "model": "quill-1", "usd": 0.5, "used": {"in": 2000, "out": 100}}'
    format: jsonl
    text: text
    model: model
    cost: usd
    usage: {input: used.in, output: used.out}
`
	promptLoop = "name: prompts\ndescription: Asks an agent\ninitial: tell\nstates:\n" +
		"  tell: {action: Tell me, action_type: prompt, host: quill, next: done}\n  done: {terminal: true}\n"
)

// checkAnswer holds an answer of the API to its type, strictly: a key that the type lacks is a mistake.
func (s *webServer) checkAnswer(name, text string) {
	s.t.Helper()
	i := slices.IndexFunc(api.Answers, func(o api.Output) bool { return o.Command == name })
	schema, err := api.Answers[i].Schema()
	must(s.t, err)
	resolved, err := schema.Resolve(nil)
	must(s.t, err)
	var o any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		s.t.Errorf("%s is no JSON: %v\n%.500s", name, err, text)
		return
	}
	if err := resolved.Validate(o); err != nil {
		s.t.Errorf("an answer is not of the type %s: %v\n%.2000s", name, err, text)
	}
}

// TestServeAPIAnswersAsItSays asks for all that programs can ask for, of runs in files and in SQLite, and holds
// each answer to the document of the API.
func TestServeAPIAnswersAsItSays(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"", "sqlite:runs.db"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			dir := serveDir(t)
			must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
			writeText(t, filepath.Join(dir, ".loops/count.yaml"), countLoop)
			writeText(t, filepath.Join(dir, ".loops/asks.yaml"), askLoop)
			writeText(t, filepath.Join(dir, ".loops/nightly.yaml"),
				strings.Replace(countLoop, "name: count\n", "name: nightly\nschedule: {cron: \"0 3 1 1 *\"}\n", 1))
			writeText(t, filepath.Join(dir, ".loops/prompts.yaml"), promptLoop)
			config := quillHost
			if store != "" {
				config += "store: " + store + "\n"
			}
			writeText(t, filepath.Join(dir, ".loops/config.yaml"), config)
			s := startServe(t, dir, "--edit")
			asked := map[string]bool{}
			ask := func(method, path, body, name string) string {
				t.Helper()
				kind := ""
				if method == http.MethodPost {
					kind = "application/json"
				}
				var status int
				var text string
				testenv.Within(testenv.Patience, func() bool {
					status, text = s.ask(method, path, kind, body)
					return status != http.StatusConflict || name != "begun"
				})
				if status != http.StatusOK && name != "error" {
					t.Errorf("%s %s: %d %.500s", method, path, status, text)
				}
				if name != "" {
					s.checkAnswer(name, text)
				}
				asked[name] = true
				return text
			}
			const all = "/api/v1/projects/shop"
			// the process of the run before may hold its files for a moment after its end is on record
			start := func(body string) string {
				t.Helper()
				var last string
				testenv.Within(testenv.Patience, func() bool {
					var status int
					status, last = s.ask("POST", all+"/runs", "application/json", body)
					return status != http.StatusConflict
				})
				s.checkAnswer("begun", last)
				var begun struct {
					ID string `json:"instance_id"`
				}
				must(t, json.Unmarshal([]byte(last), &begun))
				return begun.ID
			}
			first := start(`{"loop": "count", "field": {"goal": 2}}`)
			s.until(first, `"completed"`)
			second := start(`{"loop": "count", "field": {"goal": 1}}`)
			s.until(second, `"completed"`)
			s.until(start(`{"loop": "prompts"}`), `"completed"`)
			asks := start(`{"loop": "asks"}`)
			s.until(asks, `"waiting"`)
			for by, name := range map[string]string{"": "prompts", "host": "quill", "model": "quill-1"} {
				var costs struct {
					Total struct {
						CostUSD float64 `json:"cost_usd"`
					}
					Names []struct {
						Name    string
						Prompts int
						Input   int `json:"input_tokens"`
						Days    []struct{ Day string }
					}
				}
				must(t, json.Unmarshal([]byte(ask("GET", "/api/v1/costs?by="+by, "", "costs")), &costs))
				if n := costs.Names; len(n) != 1 || n[0].Name != name || n[0].Prompts != 1 || n[0].Input != 2000 ||
					len(n[0].Days) != 1 || n[0].Days[0].Day != time.Now().Format(time.DateOnly) ||
					costs.Total.CostUSD != 0.5 {
					t.Errorf("costs by %q are %+v", by, costs)
				}
			}
			ask("GET", "/api/v1/costs?by=moon", "", "error")
			if _, page := s.ask("GET", "/cost?by=model", "", ""); !strings.Contains(page, "quill-1") ||
				!strings.Contains(page, `aria-label="Cost by day`) || !strings.Contains(page, "100%") {
				t.Errorf("the page of costs is %.3000s", page)
			}
			if text := ask("GET", all+"/doctor", "", "findings"); !strings.Contains(text, `"check": "bash"`) ||
				!strings.Contains(text, "quill") {
				t.Errorf("doctor finds %s", text)
			}
			if _, page := s.ask("GET", "/doctor", "", ""); !strings.Contains(page, "quill") ||
				!strings.Contains(page, `class="status ok"`) {
				t.Errorf("the page of doctor is %.3000s", page)
			}
			ask("GET", all+"/words", "", "words")
			var file struct{ Text, SHA256 string }
			must(t, json.Unmarshal([]byte(ask("GET", all+"/loops/nightly/text", "", "text")), &file))
			write := func(text, hash string) string {
				given := map[string]string{"text": text, "sha256": hash}
				if hash == "" {
					delete(given, "sha256")
				}
				b, err := json.Marshal(given)
				must(t, err)
				return string(b)
			}
			broken := strings.Replace(file.Text, "initial: ", "initial: no", 1)
			if text := ask("POST", all+"/loops/nightly/check", write(broken, ""), "problems"); !strings.Contains(text,
				`"severity": "error"`) {
				t.Errorf("a broken text has the problems %s", text)
			}
			if status, text := s.ask("POST", all+"/loops/nightly/text", "application/json",
				write(broken, file.SHA256)); status != http.StatusUnprocessableEntity ||
				!strings.Contains(text, `"problems"`) {
				t.Errorf("a broken text is answered with %d %.500s", status, text)
			}
			better := file.Text + "# a comment\n"
			ask("POST", all+"/loops/nightly/text", write(better, file.SHA256), "saved")
			if now := readText(t, filepath.Join(dir, ".loops/nightly.yaml")); now != better {
				t.Errorf("the file is %q", now)
			}
			if status, text := s.ask("POST", all+"/loops/nightly/text", "application/json",
				write(file.Text, file.SHA256)); status != http.StatusConflict {
				t.Errorf("a text for a file that was changed is answered with %d %.500s", status, text)
			}
			testenv.Wait(t, "the lines of the audit, which are written after the answer", func() bool {
				said := s.said.String()
				return strings.Contains(said, `action="edit" project="shop" loop="nightly" result="done"`) &&
					strings.Contains(said, `loop="nightly" result="refused"`)
			})
			ask("GET", all+"/loops/..%2f..%2fx/text", "", "error")
			ask("POST", all+"/loops", `{"loop": "made", "pattern": "sequence"}`, "made")
			if made := ask("GET", all+"/loops/made/text", "", "text"); !strings.Contains(made, `name: made\n`) {
				t.Errorf("the loop that was made is %s", made)
			}
			for body, want := range map[string]string{
				`{"loop": "made", "pattern": "sequence"}`: "there is a loop made: .loops/made.yaml; " +
					"nothing was written",
				`{"loop": "../out", "pattern": "sequence"}`: "cannot be the name of a loop: no part may begin with .",
				`{"loop": "another", "pattern": "seqence"}`: "did you mean \\\"sequence\\\"?",
			} {
				if text := ask("POST", all+"/loops", body, "error"); !strings.Contains(text, want) {
					t.Errorf("%s is answered with %s, want %s", body, text, want)
				}
			}
			if _, page := s.ask("GET", "/loops", "", ""); !strings.Contains(page, `/p/shop/new">New loop`) {
				t.Errorf("the page of loops does not lead to a new one:\n%s", page)
			}
			if _, page := s.ask("POST", "/p/shop/new", "application/x-www-form-urlencoded",
				"loop=made&pattern=sequence"); !strings.Contains(page, "there is a loop made") ||
				!strings.Contains(page, `value="made"`) {
				t.Errorf("a name that is taken is not shown again:\n%s", page)
			}
			if _, page := s.ask("POST", "/p/shop/new", "application/x-www-form-urlencoded",
				"loop=fresh&pattern=agent"); !strings.Contains(page, `<h1>Edit <span class="mono">fresh</span>`) {
				t.Errorf("a new loop is not edited:\n%s", page)
			}
			ask("GET", "/api/v1/projects", "", "projects")
			ask("GET", "/api/v1/runs", "", "runs")
			ask("GET", "/api/v1/runs?waits=1&project=shop", "", "runs")
			ask("GET", all+"/loops", "", "loops")
			ask("GET", all+"/loops/count", "", "definition")
			if text := ask("GET", all+"/questions", "", "questions"); !strings.Contains(text, "Is it good?") {
				t.Errorf("the question is not there: %s", text)
			}
			ask("GET", all+"/queue", "", "queue")
			ask("GET", "/api/v1/alarms", "", "alarms")
			ask("GET", all+"/workers", "", "workers")
			ask("POST", all+"/schedules/pause", `{"loop": "nightly"}`, "scheduled")
			if text := ask("GET", all+"/schedules", "", "schedules"); !strings.Contains(text, `"nightly"`) ||
				!strings.Contains(text, `"paused_by": "ada"`) {
				t.Errorf("the schedule is not paused: %s", text)
			}
			if _, page := s.ask("GET", "/schedule", "", ""); !strings.Contains(page, "paused by ada") ||
				!strings.Contains(page, "/p/shop/schedule/unpause") {
				t.Errorf("the page does not show it: %.3000s", page)
			}
			ask("POST", all+"/schedules/unpause", `{"loop": "nightly"}`, "scheduled")
			ask("POST", all+"/schedules/pause", `{"loop": "count"}`, "error")
			for page, text := range map[string]string{"/queue": "The queue is empty.", "/workers": "No workers."} {
				if status, got := s.ask("GET", page, "", ""); status != http.StatusOK || !strings.Contains(got, text) {
					t.Errorf("%s: %d %.2000s", page, status, got)
				}
			}
			for _, run := range []string{first, asks} {
				ask("GET", all+"/runs/"+run, "", "status")
				ask("GET", all+"/runs/"+run+"/explain", "", "explanation")
				ask("GET", all+"/runs/"+run+"/receipt", "", "receipt")
				ask("GET", all+"/runs/"+run+"/events?limit=3", "", "events")
				ask("GET", all+"/runs/"+run+"/cost", "", "cost")
			}
			ask("GET", all+"/runs/"+first+"/diff?with="+second, "", "comparison")
			ask("GET", all+"/runs/"+first+"/diff?with="+first, "", "error")
			ask("GET", all+"/runs/"+first+"/diff", "", "error")
			for path, want := range map[string]string{
				"/loops/count/graph": "<svg", "/loops/count/graph?format=dot": "digraph",
				"/runs/" + first + "/graph": "<svg", "/runs/" + first + "/graph?format=mermaid": "check",
				"/runs/" + first + "/report": "<html",
			} {
				if text := ask("GET", all+path, "", ""); !strings.Contains(text, want) {
					t.Errorf("%s is without %s: %.300s", path, want, text)
				}
			}
			packed := filepath.Join(t.TempDir(), "run.tar.zst")
			writeText(t, packed, ask("GET", all+"/runs/"+first+"/bundle", "", ""))
			other := serveDir(t)
			must(t, os.MkdirAll(filepath.Join(other, ".loops"), 0o755))
			if out, err := exec.Command(binary(t), "-C", other, "import", packed).CombinedOutput(); err != nil ||
				!strings.Contains(string(out), first) {
				t.Errorf("the bundle cannot be imported: %v %s", err, out)
			}
			if status, text := s.ask("GET", all+"/runs/"+asks+"/bundle", "", ""); status != http.StatusConflict {
				t.Errorf("the bundle of a running run: %d %.300s", status, text)
			}
			if _, page := s.ask("GET", "/p/shop/loop?loop=count&view=effective", "", ""); !strings.Contains(page,
				"# count.yaml:") {
				t.Errorf("the effective definition has no origins: %.3000s", page)
			}
			memory := filepath.Join(s.dir, ".loops/memory/count.jsonl")
			must(t, os.MkdirAll(filepath.Dir(memory), 0o755))
			writeText(t, memory,
				`{"id":"r/1","run":"r","state":"a","at":"2026-11-30T10:00:00Z","fact":"<b>it counts</b>","failed":true}`+
					"\n")
			if _, page := s.ask("GET", "/p/shop/loop?loop=count", "", ""); !strings.Contains(page,
				"failed attempt</b> &lt;b&gt;it counts") || !strings.Contains(page, "seen by 0 runs") {
				t.Errorf("the memory is not on the page: %.3000s", page)
			}
			writeText(t, memory,
				`{"id":"r/1","run":"r","state":"a","at":"2026-11-30T10:00:00Z","fact":"<b>it counts</b>","failed":true}`+
					"\n"+
					`{"id":"`+first+`/1","run":"`+first+
					`","state":"a","at":"2026-11-30T10:00:00Z","fact":"it was left"}`+
					"\n"+
					`{"run":"`+first+
					`","at":"2026-11-30T10:00:00Z","saw":["r/1","r/0"],"ended":"terminal","good":true}`+
					"\n")
			if _, page := s.ask("GET", "/p/shop/runs/"+first+"?tab=context", "", ""); !strings.Contains(page,
				`began with</b> <b class="note">failed attempt</b> &lt;b&gt;it counts`) ||
				!strings.Contains(page, "left</b> it was left") || !strings.Contains(page, "r/0, forgotten since") {
				t.Errorf("what the run began with and left is not on its page: %.6000s", page)
			}
			ask("GET", all+"/loops/..%2f..%2fx/graph", "", "error")
			ask("GET", all+"/loops/none", "", "error")
			ask("POST", all+"/runs/"+asks+"/extend", `{"limits": "steps=5"}`, "extended")
			ask("POST", all+"/runs/"+asks+"/pause", `{}`, "paused")
			ask("POST", all+"/runs/"+asks+"/unpause", `{}`, "unpaused")
			ask("POST", all+"/runs/"+asks+"/signal", `{"event": "tick", "data": "{\"n\": 1}"}`, "sent")
			ask("POST", all+"/runs/"+asks+"/answer", `{"choice": "good"}`, "answered")
			s.until(asks, `"completed"`)
			var forked struct {
				ID string `json:"instance_id"`
			}
			must(t, json.Unmarshal([]byte(ask("POST", all+"/runs/"+asks+"/fork", `{"at": "1"}`, "begun")), &forked))
			third := forked.ID
			s.until(third, `"waiting"`)
			ask("POST", all+"/runs/"+third+"/stop", `{}`, "stopped")
			if text := ask("GET", all+"/runs/"+third, "", ""); !strings.Contains(text,
				`"reason": "stopped by ada in state`) {
				t.Errorf("a run that a page stopped: %s", text)
			}
			ask("POST", all+"/runs/"+third+"/resume", `{}`, "begun")
			s.until(third, `"waiting"`)
			ask("POST", all+"/runs/"+third+"/stop", `{}`, "stopped")
			ask("POST", all+"/runs/"+third+"/remove", `{"confirm": "`+third+`"}`, "removed")
			for _, o := range api.Answers {
				// no run waits for a time here, and TestWorkersDrained and TestUnblock look at the others
				if !asked[o.Command] && !slices.Contains([]string{"woken", "drained", "unblocked"}, o.Command) {
					t.Errorf("no answer of the type %s was looked at", o.Command)
				}
			}
			if status, text := s.ask("GET", "/api/v1/openapi.json", "", ""); status != http.StatusOK ||
				!strings.Contains(text, `"openapi": "3.1.0"`) {
				t.Errorf("the document: %d %.200s", status, text)
			}
		})
	}
}

// TestServeRunsPageByPage goes through all runs of two projects, with and without a filter, and comes by each
// once, newest first.
func TestServeRunsPageByPage(t *testing.T) {
	t.Parallel()
	var dirs []string
	for i := range 2 {
		dir := serveDir(t)
		must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
		writeText(t, filepath.Join(dir, ".loops/count.yaml"), countLoop)
		cmd := exec.Command(binary(t), "-C", dir, "run", "count", "-q")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		archive := filepath.Join(dir, ".loops/.history")
		names, err := os.ReadDir(archive)
		must(t, err)
		name := names[len(names)-1].Name()
		began, err := time.Parse("2006-01-02T150405", name[:17])
		must(t, err)
		for n := range 70 + 60*i { // those of one project are between those of the other
			older := began.Add(-time.Duration(2*n+i+1)*time.Second).Format("2006-01-02T150405") + name[17:]
			must(t, os.CopyFS(filepath.Join(archive, older), os.DirFS(filepath.Join(archive, name))))
		}
		dirs = append(dirs, dir)
	}
	s := startServe(t, dirs[0], "--dir", dirs[1])
	for _, filter := range []string{"", "&loop=count", "&status=completed", "&q=COUNT"} {
		seen := map[string]bool{}
		last, skip, pages := "", "", 0
		for ; pages < 10; pages++ {
			_, text := s.ask("GET", "/api/v1/runs?skip="+skip+filter, "", "")
			s.checkAnswer("runs", text)
			var page struct {
				Runs []struct {
					Project string
					RunID   string `json:"run_id"`
				}
				More bool
				Next string
			}
			must(t, json.Unmarshal([]byte(text), &page))
			for _, r := range page.Runs {
				if seen[r.Project+r.RunID] || last != "" && r.RunID > last {
					t.Errorf("%s: %s of %s comes behind %s", filter, r.RunID, r.Project, last)
				}
				seen[r.Project+r.RunID], last = true, r.RunID
			}
			if skip = page.Next; page.More != (skip != "") {
				t.Errorf("%s: more is %v, next %q", filter, page.More, skip)
			}
			if skip == "" {
				break
			}
		}
		if len(seen) != 202 || pages != 4 {
			t.Errorf("%s: %d runs on %d pages", filter, len(seen), pages+1)
		}
	}
	if _, text := s.ask("GET", "/api/v1/runs?status=failed", "", ""); !strings.Contains(text, `"runs": []`) {
		t.Errorf("no run failed: %.300s", text)
	}
}

// TestWhoPausedAndExtended: what a page did to a run has the name of its user, wherever the run is looked at.
func TestWhoPausedAndExtended(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/slow.yaml"), `name: slow
description: waits for a file
initial: a
states:
  a: {action: "touch began; until test -e go; do sleep 0.05; done", next: b}
  b: {action: echo on, next: done}
  done: {terminal: true}
`)
	s := startServe(t, dir)
	id, _ := s.post("/runs", `{"loop": "slow"}`)["instance_id"].(string)
	waitForFile(t, filepath.Join(dir, "began"))
	s.post("/runs/"+id+"/extend", `{"limits": "steps=5"}`)
	s.post("/runs/"+id+"/pause", `{}`)
	writeText(t, filepath.Join(dir, "go"), "")
	s.until(id, `"paused"`)
	d := folder{t, dir}
	for command, want := range map[string]string{
		"status": "before state b, by ada", "runs": "before state b, by ada", "watch --once": "before state b, by ada",
		"explain slow":   "Paused by ada.",
		"explain slow 1": "The limit max_steps of the run was raised from 50 to 55 by ada",
	} {
		if text := d.output(strings.Fields(command)...); !strings.Contains(text, want) {
			t.Errorf("loops %s does not say %q: %s", command, want, text)
		}
	}
	if _, page := s.ask("GET", "/p/shop/runs/"+id, "", ""); !strings.Contains(page, "before state b, by ada.") {
		t.Errorf("the page of the run: %.3000s", page)
	}
	s.post("/runs/"+id+"/unpause", `{}`)
	s.until(id, `"completed"`)
	// a browser that reads a page again by itself learns when
	for again, want := range map[string]bool{"": false, "1": true} {
		r, err := http.NewRequest("GET", s.base+"/p/shop/runs/"+id, nil)
		must(t, err)
		r.Header.Set("X-Loops-Again", again)
		a, err := s.client.Do(r)
		must(t, err)
		must(t, a.Body.Close())
		if rest, err := strconv.Atoi(a.Header.Get("X-Loops-Rest")); (err == nil) != want || rest > 10_000 {
			t.Errorf("again %q: it is to wait %q", again, a.Header.Get("X-Loops-Rest"))
		}
	}
}
