package main_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/internal/testenv"
)

// TestWorkersDrained: a worker that is drained, by the command and by the page, hands its run over, and is gone
// within two seconds.
func TestWorkersDrained(t *testing.T) {
	t.Parallel()
	f := newThree(t)
	f.env = []string{"LOOPS_IDENTITY=anna"}
	web := startServe(t, f.dir, "--store", f.store)
	if _, page := web.ask("GET", "/workers", "", ""); !strings.Contains(page, "No workers.") {
		t.Errorf("without workers the page says\n%s", page)
	}
	id := f.submit("three")
	one := f.worker()
	f.until("the first worker has the run", func() bool { return len(f.lines("steps")) == 2 })
	if out, err := f.command("workers", "drain", "nobody").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), `there is no worker "nobody"`) {
		t.Errorf("a worker that is not there: %s", out)
	}
	first := f.loops("workers", "--json", "--jq", ".[].worker_id")
	if out, err := f.command("workers", "drain", first[:len(first)-1]+"?").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "; did you mean "+first+"?") {
		t.Errorf("a mistyped worker: %s", out)
	}
	two := f.worker()
	ended := func(w *workerProcess) {
		t.Helper()
		select {
		case <-w.done:
		case <-time.After(testenv.Patience):
			t.Fatal("a worker that was asked to end does not")
		}
		if code := w.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("a worker that was asked to end exits with %d", code)
		}
	}
	if got, want := f.loops("workers", "drain", first), "Worker "+first+" is asked to end."; got != want {
		t.Errorf("drain says %q, want %q", got, want)
	}
	ended(one)
	f.until("the second worker has the run", func() bool { return len(f.lines("steps")) == 3 })

	three := f.worker()
	second := ""
	f.until("the second worker has said so", func() bool {
		second = f.loops("workers", "--json", "--jq", `.[] | select(.runs != []) | .worker_id`)
		return second != ""
	})
	if _, page := web.ask("GET", "/workers", "", ""); !strings.Contains(page, `name="worker" value="`+second+`"`) ||
		!strings.Contains(page, "workers drain "+second) {
		t.Errorf("the page of workers cannot drain %s:\n%s", second, page)
	}
	project := filepath.Base(f.dir)
	_, list := web.ask("GET", "/api/v1/projects/"+project+"/workers", "", "")
	web.checkAnswer("workers", list)
	if status, page := web.ask("POST", "/p/"+project+"/workers/drain", "application/x-www-form-urlencoded",
		"worker="+second); status != http.StatusOK || !strings.Contains(page, "<h1>Workers</h1>") {
		t.Errorf("the page answers %d\n%s", status, page)
	}
	ended(two)
	f.until("the third worker has the run", func() bool { return len(f.lines("steps")) == 4 })
	if status, text := web.ask("POST", "/api/v1/projects/"+project+"/workers/drain", "application/json",
		`{"worker": "`+second+`"}`); status != http.StatusNotFound {
		t.Errorf("a worker that has ended is drained again: %d %s", status, text)
	}
	third := f.loops("workers", "--json", "--jq", ".[].worker_id")
	var answer struct {
		Worker string `json:"worker_id"`
	}
	_, text := web.ask("POST", "/api/v1/projects/"+project+"/workers/drain", "application/json",
		`{"worker": "`+third+`"}`)
	web.checkAnswer("drained", text)
	if must(t, json.Unmarshal([]byte(text), &answer)); answer.Worker != third {
		t.Errorf("the API answers %s", text)
	}
	ended(three)
	if log := workerLog(f); !strings.Contains(log, "anna asked this worker to end; others have its runs.") ||
		strings.Count(log, "asked this worker to end") != 3 {
		t.Errorf("the workers said\n%s", log)
	}
	f.write("go", "")
	f.worker()
	f.until("the run is over", func() bool { return f.status(id) == "completed" })
	f.wholeHistory(id, "a b c")
}

// TestDrainedRunIsNotItsUsers: a run whose worker was drained waits for another worker, in every view, and one
// that no worker may take says so.
func TestDrainedRunIsNotItsUsers(t *testing.T) {
	t.Parallel()
	f := newThree(t)
	web := startServe(t, f.dir, "--store", f.store)
	id := f.submit("three")
	one := f.worker()
	f.until("the worker has the run", func() bool { return len(f.lines("steps")) == 2 })
	f.loops("workers", "drain", f.loops("workers", "--json", "--jq", ".[].worker_id"))
	select {
	case <-one.done:
	case <-time.After(testenv.Patience):
		t.Fatal("a worker that was asked to end does not")
	}
	const waits = "it waits for a worker of queue default, and none is heard of"
	run := "/runs/" + id
	_, page := web.ask("GET", "/p/"+filepath.Base(f.dir)+run, "", "")
	_, list := web.ask("GET", "/", "", "")
	_, object := web.ask("GET", "/api/v1/projects/"+filepath.Base(f.dir)+run, "", "")
	for view, text := range map[string]string{
		"status": f.loops("status", id), "status --json": f.loops("status", id, "--json"), "runs": f.loops("runs"),
		"history": f.loops("history", "three"),
		"explain": f.loops("explain", id), "the page": page, "the first page": list, "the API": object,
	} {
		if !strings.Contains(text, waits) {
			t.Errorf("%s lacks %q:\n%s", view, waits, text)
		}
	}
	labelled := f.submit("three", "--label", "gpu")
	for _, view := range [][]string{
		{"status", labelled, "--json"},
		{"runs", "--json"},
		{"history", "three", "--json"},
		{"explain", labelled, "--json"},
	} {
		text := strings.Join(strings.Fields(f.loops(view...)), " ")
		if want := `"placement": { "queue": "default", "labels": [ "gpu" ], "open": true, "heard": false, "carried": false, "text": "it waits`; !strings.Contains(
			text, want) {
			t.Errorf("%v lacks %s:\n%s", view, want, text)
		}
	}
	f.write("go", "")
	f.worker()
	f.until("the run is over", func() bool { return f.status(id) == "completed" })
	if text := f.loops("status", labelled); !strings.Contains(text,
		"it waits for a worker of queue default with gpu, and none is heard of") {
		t.Errorf("a run that no worker may take:\n%s", text)
	}
}

// TestServeOverPostgres: pages show and steer runs of a PostgreSQL store, also those that workers carry.
func TestServeOverPostgres(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.write(".loops/asks.yaml", askLoop)
	f.write(".loops/hold.yaml", "name: hold\ndescription: Works until it is stopped.\ninitial: work\nstates:\n"+
		"  work: {action: 'sleep 300', next: done}\n  done: {terminal: true}\n")
	web := startServe(t, f.dir, "--store", f.store)
	f.worker()
	submitted := f.submit("asks")
	web.until(submitted, `"waiting"`)
	if _, page := web.ask("GET", "/p/"+filepath.Base(f.dir)+"/runs/"+submitted, "", ""); !strings.Contains(page,
		`name="choice" value="good"`) {
		t.Fatalf("the page does not ask the question:\n%s", page)
	}
	web.post("/runs/"+submitted+"/answer", `{"choice": "good"}`)
	web.until(submitted, `"completed"`)

	started := web.post("/runs", `{"loop": "hold"}`)["instance_id"].(string)
	web.until(started, `"alive": true`)
	web.post("/runs/"+started+"/stop", `{}`)
	web.until(started, `"user_stopped"`)
	_, home := web.ask("GET", "/", "", "")
	for _, id := range []string{submitted, started} {
		if !strings.Contains(home, "/runs/"+id+`"`) {
			t.Errorf("the first page lacks run %s", id)
		}
	}
	if _, events := web.ask("GET", "/api/v1/projects/"+filepath.Base(f.dir)+"/runs/"+submitted+"/events", "",
		""); !strings.Contains(events, `"loop_complete"`) {
		t.Errorf("its events are %s", events)
	}
}
