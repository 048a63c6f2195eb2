package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program sent {"fields": {…}}, and the run began with its defaults; it asked for status=zzz, and got an
// empty list; {"rerun": false} did the action again.
func TestServeRefusesWhatItDoesNotKnow_35_1_8(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/count.yaml"),
		strings.Replace(countLoop, "name: count\n", "name: count\nlabels: [nightly]\n", 1))
	s := startServe(t, dir, "--edit")
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct{ method, path, kind, body, want string }{
		{
			"POST", "/projects/shop/runs", "", `{"loop": "count", "fields": {"goal": 2}}`,
			`there is no key "fields"; did you mean "field"?; expected field, input, loop`,
		},
		{"POST", "/projects/shop/runs", "", `{"input": "x"}`, `loop: it is missing`},
		{
			"POST", "/projects/shop/runs", "", `{"loop": "count", "input": {"goal": 2}}`,
			`input: expected a text, not an object`,
		},
		{"POST", "/projects/shop/runs", "", `{"loop": "count", "field": [1]}`, `field: expected an object, not a list`},
		{"POST", "/projects/shop/runs", "", `{"loop": "count"} {}`, `something follows the object`},
		{
			"POST", "/projects/shop/runs", form, `loop=count&goal=2`,
			`there is no key "goal"; expected field, input, loop`,
		},
		{
			"POST", "/projects/shop/runs?loop=count", "", `{"loop": "count"}`,
			`there is no parameter "loop": none is expected here`,
		},
		{
			"POST", "/projects/shop/runs/count/stop", "", `{"after_items": true}`,
			`there is no key "after_items"; did you mean "after_item"?`,
		},
		{
			"POST", "/projects/shop/runs/count/stop", "", `{"after_item": "yes"}`,
			`after_item: expected true or false, not a text`,
		},
		{
			"POST", "/projects/shop/runs/count/stop", form, `after_item=yes`,
			`after_item: expected true or false, not a text`,
		},
		{
			"POST", "/projects/shop/runs/count/pause", "", `{"until": "noon"}`,
			`there is no key "until": none is expected here`,
		},
		{
			"POST", "/projects/shop/runs/count/resume", "", `{"definition": "recorde"}`,
			`definition: expected recorded, file, not "recorde"; did you mean "recorded"?`,
		},
		{"POST", "/projects/shop/runs/count/fork", "", `{"step": "3"}`, `there is no key "step"`},
		{"POST", "/projects/shop/runs/count/answer", "", `{"choice": "yes", "fields": {}}`, `did you mean "field"?`},
		{
			"POST", "/projects/shop/runs/count/signal", "", `{"event": "go", "data": {"a": 1}}`,
			`data: expected a text, not an object`,
		},
		{"POST", "/projects/shop/schedules/pause", "", `{"name": "count"}`, `there is no key "name"`},
		{"POST", "/projects/shop/workers/drain", "", `{"id": "w"}`, `there is no key "id"`},
		{"POST", "/projects/shop/loops", "", `{"loop": "x", "patern": "agent"}`, `did you mean "pattern"?`},
		{"POST", "/projects/shop/loops/count/check", "", `{"txt": ""}`, `did you mean "text"?`},
		{
			"POST", "/projects/shop/loops/count/text", "", `{"text": "", "sha256": "", "force": true}`,
			`there is no key "force"`,
		},
		{"GET", "/runs?status=zzz", "", "", `status: expected `},
		{"GET", "/runs?status=complete", "", "", `did you mean "completed"?`},
		{"GET", "/runs?stats=completed", "", "", `there is no parameter "stats"; did you mean "status"?`},
		{"GET", "/runs?status=completed&status=failed", "", "", `status: it is given twice`},
		{"GET", "/runs?loop=cuont", "", "", `there is no loop "cuont"; did you mean "count"?`},
		{"GET", "/runs?label=nihgtly", "", "", `there is no label "nihgtly"; did you mean "nightly"?`},
		{"GET", "/runs?project=shap", "", "", `there is no project "shap"; did you mean "shop"?`},
		{"GET", "/runs?since=often", "", "", `often`},
		{"GET", "/runs?skip=-1", "", "", `skip: expected `},
		{"GET", "/runs?waits=yes", "", "", `waits: expected 1, person, not "yes"`},
		{"GET", "/costs?by=moon", "", "", `by: expected loop, host, model, not "moon"`},
		{"GET", "/costs?project=moon", "", "", `there is no project "moon"`},
		{"GET", "/projects/shop/runs/count/events?after=x", "", "", `after: expected a whole number from 0, not "x"`},
		{
			"GET", "/projects/shop/runs/count/events?offset=3", "", "",
			`there is no parameter "offset"; expected after, limit`,
		},
		{"GET", "/projects/shop/loops/count/graph?format=png", "", "", `format: expected svg, mermaid, dot, not "png"`},
		{"GET", "/projects?name=shop", "", "", `there is no parameter "name": none is expected here`},
	} {
		kind := c.kind
		if kind == "" && c.method == http.MethodPost {
			kind = "application/json"
		}
		status, text := s.ask(c.method, "/api/v1"+c.path, kind, c.body)
		var refused struct{ Error string }
		if err := json.Unmarshal([]byte(text), &refused); err != nil || status != http.StatusBadRequest ||
			!strings.Contains(refused.Error, c.want) {
			t.Errorf("%s %s %s: %d %s, want 400 and %s", c.method, c.path, c.body, status, text, c.want)
		}
	}
	for _, path := range []string{
		"/runs?status=completed&loop=count&label=nightly&project=shop&since=1d&waits=1&skip=", "/runs?q=zzz",
		"/costs?by=",
	} {
		if status, text := s.ask("GET", "/api/v1"+path, "", ""); status != http.StatusOK {
			t.Errorf("GET %s: %d %s", path, status, text)
		}
	}
}
