package main_test

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

const needyLoop = `name: needy
description: Needs two inputs
required_inputs: [one, two, input]
schedule: {cron: "@every 1s"}
initial: a
states:
  a: {action: "true", next: done}
  done: {terminal: true}
`

const faultyLoop = `name: faulty
description: Has mistakes
initial: nowhere
states:
  a: {acton: "true", next: gone}
`

// A run that could not begin was explained by a text whose line ends were the two characters \n: on pages, in
// the API, on standard error of serve, in schedule list; and the reason stood behind the warnings.
func TestRefusalsOfSeveralLines_35_1_10(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	for name, text := range map[string]string{
		"needy": needyLoop, "faulty": faultyLoop,
		"faulty2": strings.Replace(faultyLoop, "faulty", "faulty2", 1),
	} {
		writeText(t, filepath.Join(dir, ".loops", name+".yaml"), text)
	}
	s := startServe(t, dir)
	for body, want := range map[string]string{
		`{"loop": "faulty"}`: ".loops/faulty.yaml has 4 errors; nothing was started\n\n" +
			".loops/faulty.yaml:3:10: error: ",
		`{"loop": "needy"}`: ".loops/needy.yaml:3:1: the input \"one\" is required and not set; give it with " +
			"--context one=VALUE\n.loops/needy.yaml:3:1: the input \"two\" is ",
	} {
		status, text := s.ask("POST", "/api/v1/projects/shop/runs", "application/json", body)
		var refused struct{ Error string }
		if err := json.Unmarshal([]byte(text), &refused); err != nil || status != http.StatusConflict ||
			!strings.HasPrefix(refused.Error, want) || strings.Contains(refused.Error, `\n`) {
			t.Errorf("POST %s: %d %q, want %q", body, status, refused.Error, want)
		}
	}
	const inOneLine = `starting: .loops/needy.yaml:3:1: the input "one" is required and not set; give it with --context one=VALUE; .loops/needy.yaml:3:1: the input "two" is`
	if !testenv.Within(testenv.Patience, func() bool {
		return strings.Contains(s.command("", "schedule", "list"), inOneLine)
	}) {
		t.Errorf("schedule list prints\n%s", s.command("", "schedule", "list"))
	}
	_, page := s.ask("GET", "/schedule", "", "")
	if !strings.Contains(strings.ReplaceAll(page, "&#34;", `"`), inOneLine) || strings.Contains(page, `\n`) ||
		strings.Count(page, "so whether it has a schedule is not known</p>") != 2 {
		t.Errorf("the page of schedules is\n%s", page)
	}
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	_ = s.cmd.Wait()
	for _, want := range []string{"loops: shop: .loops/faulty.yaml has mistakes, so whether it has a schedule " +
		"is not known\n", "loops: shop: .loops/faulty2.yaml has mistakes"} {
		if said := s.said.String(); !strings.Contains(said, want) || strings.Contains(said, `\n`) {
			t.Errorf("standard error of serve lacks %q:\n%s", want, said)
		}
	}
}

// The form that starts a loop said "May be empty." of a required input, and what was typed was lost when the
// start was refused.
func TestFormKeepsWhatWasTyped_35_2_3(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/needy.yaml"), strings.Replace(needyLoop, "schedule:", "#", 1))
	writeText(t, filepath.Join(dir, ".loops/count.yaml"), countLoop)
	s := startServe(t, dir)
	_, form := s.ask("GET", "/p/shop/start?loop=needy", "", "")
	for _, want := range []string{
		`<input name="field.one" value="" placeholder="" required>`,
		`<input name="field.two" value="" placeholder="" required>`, `<input name="input" value="" required>`,
	} {
		if !strings.Contains(form, want) || strings.Contains(form, "May be empty") {
			t.Errorf("the form lacks %s, or says that an input may be empty:\n%s", want, form)
		}
	}
	if _, other := s.ask("GET", "/p/shop/start?loop=count", "", ""); !strings.Contains(other, "May be empty") {
		t.Errorf("the form of a loop that needs no input does not say so:\n%s", other)
	}
	const kind = "application/x-www-form-urlencoded"
	status, form := s.ask("POST", "/p/shop/start", kind, "loop=needy&field.one=a+long+text&input=and+more")
	for _, want := range []string{
		`role="alert">.loops/needy.yaml:3:1: the input &#34;two&#34; is required`,
		`name="field.one" value="a long text"`, `name="input" value="and more"`,
	} {
		if status != http.StatusConflict || !strings.Contains(form, want) {
			t.Errorf("the form that was refused answers %d and lacks %s:\n%s", status, want, form)
		}
	}
	status, page := s.ask("POST", "/p/shop/runs/needy-1/answer", kind, "choice=yes&field.why=because+of+this")
	if status != http.StatusNotFound || !strings.Contains(page, "<dt>why</dt><dd><pre>because of this</pre></dd>") {
		t.Errorf("an answer that was refused answers %d:\n%s", status, page)
	}
}

// An agent that named /etc/passwd as a loop was shown its first characters.
func TestNamesOutsideTheProject_35_2_21(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	outside := filepath.Join(t.TempDir(), "passwd")
	writeText(t, outside, "root:x:0:0\n- secret\n")
	link, err := filepath.Rel(a.dir, outside)
	must(t, err)
	for _, name := range []string{outside, link} {
		for tool, arguments := range map[string]map[string]any{
			"run": {"name": name}, "simulate": {"name": name},
			"validate": {"names": []string{name}},
		} {
			if text := a.fail(tool, arguments); !strings.Contains(text, "in this project; only the command line") ||
				strings.Contains(text, "root") {
				t.Errorf("%s of %s: %s", tool, name, text)
			}
		}
	}
	for _, name := range []string{"quick", filepath.Join(a.dir, ".loops/quick.yaml")} {
		a.ask("validate", map[string]any{"names": []string{name}})
	}
}

// 128 idle connections of one client kept everybody at its address out.
func TestIdleConnections_35_2_10(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveDir(t))
	for range 300 {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
		must(t, err)
		defer c.Close() //nolint:errcheck // nothing was written
	}
	s.client.CloseIdleConnections()
	if status, text := s.ask("GET", "/healthz", "", ""); status != http.StatusOK {
		t.Errorf("beside idle connections the server answers %d %s", status, text)
	}
}

// No page said in which zone its times are.
func TestPageNamesItsZone_35_2_4(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/count.yaml"), countLoop)
	s := startServe(t, dir)
	run, _ := s.post("/runs", `{"loop": "count", "field": {"goal": 0}}`)["instance_id"].(string)
	for _, path := range []string{"/", "/p/shop/runs/" + run} {
		_, page := s.ask("GET", path, "", "")
		if !strings.Contains(page, "are those of the server: "+time.Now().Format("MST")) ||
			!strings.Contains(page, `id="zone"`) || !strings.Contains(page, `<time datetime="20`) {
			t.Errorf("%s does not name its zone, or has no time:\n%s", path, page)
		}
	}
}
