package main_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loops/engine/notify"
	"loops/internal/testenv"
)

const linkedLoop = `name: linked
description: asks two people at once
initial: a
scope: [x]
states:
  a:
    parallel:
      prod:
        ask: {question: "Deploy to production?", quorum: 2, who: [ada, bob], fields: {reason: text, hosts: number}}
    on_yes: done
    on_no: done
  done: {terminal: true}
`

// linksTo has the notifications of a project of a server name links, and returns the file that those of a
// target are written to.
func (s *webServer) linksTo(names ...string) func(name string) string {
	s.t.Helper()
	text := "answer_links:\n  url: " + s.base + "\nnotify:\n"
	for _, name := range names {
		text += fmt.Sprintf("  - name: %s\n    command: echo \"$LOOPS_NOTIFY_LINKS\" >%s.new; mv %s.new %s.links\n"+
			"    on: [waiting]\n", name, name, name, name)
	}
	writeText(s.t, filepath.Join(s.dir, ".loops/config.yaml"), text)
	return func(name string) string { return filepath.Join(s.dir, name+".links") }
}

// links waits for the links that a target was sent, and returns their paths by choice.
func (s *webServer) links(file string) map[string]string {
	s.t.Helper()
	if !testenv.Within(testenv.Patience, func() bool { _, err := os.Stat(file); return err == nil }) {
		s.t.Fatalf("no links came to %s", file)
	}
	all := map[string]string{}
	for line := range strings.Lines(readText(s.t, file)) {
		choice, address, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[choice] = strings.TrimPrefix(address, s.base)
	}
	return all
}

// readLink reads the path of a link without its signature.
func readLink(t *testing.T, path string) (l notify.SignedLink) {
	t.Helper()
	body, _, _ := strings.Cut(strings.TrimPrefix(path, notify.AnswerPath), ".")
	text, err := base64.RawURLEncoding.DecodeString(body)
	must(t, err)
	must(t, json.Unmarshal(text, &l))
	return l
}

// A link answered the question of another project that shared the key and had a run with the same id.
func TestALinkAnswersInItsProject(t *testing.T) {
	t.Parallel()
	other, dir := filepath.Join(filepath.Dir(serveDir(t)), "other"), serveDir(t)
	for _, d := range []string{other, dir} {
		must(t, os.MkdirAll(filepath.Join(d, ".loops"), 0o755))
		writeText(t, filepath.Join(d, ".loops/linked.yaml"), linkedLoop)
	}
	key := filepath.Join(t.TempDir(), "key")
	writeText(t, key, "a key of both\n")
	s := startServe(t, other, "-C", dir)
	// the server's own does that for the other
	t.Cleanup(func() { _ = exec.Command(binary(t), "-C", dir, "stop", "--all").Run() })
	s.dir = dir
	file := s.linksTo("ada")
	for _, d := range []string{other, dir} {
		writeText(t, filepath.Join(d, ".loops/config.yaml"),
			strings.Replace(readText(t, filepath.Join(dir, ".loops/config.yaml")), "notify:",
				"  key_file: "+key+"\nnotify:", 1))
	}
	run := s.post("/runs", `{"loop": "linked"}`)["instance_id"].(string)
	link := s.links(file("ada"))["approve"]
	files, err := filepath.Glob(filepath.Join(dir, ".loops/.running", run+"*"))
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(other, ".loops/.running"), 0o700))
	for _, f := range files {
		writeText(t, filepath.Join(other, ".loops/.running", filepath.Base(f)), readText(t, f))
	}
	asks := func(d string) string {
		_, text := s.ask("GET", "/api/v1/projects/"+filepath.Base(d)+"/questions?run="+run, "", "")
		return text
	}
	if text := asks(other); !strings.Contains(text, "Deploy to production?") {
		t.Fatalf("the run of the other project asks nothing: %s", text)
	}
	if status, text := s.ask("POST", link, "application/x-www-form-urlencoded", ""); status != http.StatusOK ||
		!strings.Contains(text, "This link was used at ") {
		t.Errorf("the link answers nothing: %d %s", status, text)
	}
	if text := asks(dir); !strings.Contains(text, "ada (by a link)") {
		t.Errorf("the question is without its answer: %s", text)
	}
	if text := asks(other); strings.Contains(text, "ada (by a link)") {
		t.Errorf("the question of the other project was answered: %s", text)
	}

	// The other one is a copy, which answers no link of the original where a server has it alone.
	alone := startServe(t, other)
	if status, text := alone.ask("POST", link, "application/x-www-form-urlencoded", ""); status != http.StatusNotFound {
		t.Errorf("a copy takes the link: %d %s", status, text)
	}
	if text := asks(other); strings.Contains(text, "ada (by a link)") {
		t.Errorf("the question of the copy was answered: %s", text)
	}
}

// TestLinksAnswerAQuestion: who has a link of a notification answers without signing in, by a second tap, once,
// and for that question alone.
func TestLinksAnswerAQuestion(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/linked.yaml"), linkedLoop)
	s := startServe(t, dir)
	file := s.linksTo("ada", "bob", "eve")
	signed := func(page notify.SignedLink) string { // of a link that nobody was sent
		key := strings.TrimSpace(readText(t, filepath.Join(dir, ".loops/.ledger/.answer-links.key")))
		return page.Address("", key)
	}
	run := s.post("/runs", `{"loop": "linked"}`)["instance_id"].(string)
	ada, bob := s.links(file("ada")), s.links(file("bob"))
	ask := func(method, path, body string, header ...string) (int, string) { // as one who has not signed in
		t.Helper()
		r, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
		must(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return s.do(&http.Client{}, r)
	}
	want := func(what string, status int, has ...string) func(int, string) {
		t.Helper()
		return func(got int, text string) {
			t.Helper()
			for _, h := range has {
				if got != status || !strings.Contains(text, h) {
					t.Errorf("%s: %d, want %d with %q:\n%s", what, got, status, h, text)
				}
			}
		}
	}
	want("the first tap", 200, "Deploy to production?", "Answer: approve", "no answer yet")(
		ask("GET", ada["approve"], ""))
	want("a preview", 200, "no answer yet")(ask("GET", ada["approve"], ""))
	want("a signature of another link", 404, "answers nothing here")(
		ask("POST", ada["approve"][:strings.Index(ada["approve"], ".")]+
			ada["reject"][strings.Index(ada["reject"], "."):], ""))
	if eve := s.links(file("eve")); len(eve) != 1 || eve[""] != "" {
		t.Errorf("who is not asked is sent links: %q", eve)
	}
	link := readLink(t, ada["approve"])
	link.By = "eve"
	for _, method := range []string{"GET", "POST"} {
		status, text := ask(method, signed(link), "")
		want("who is not asked", 200, "question is for ada and bob, and this link is for eve")(status, text)
		if strings.Contains(text, "<button class=\"go\"") {
			t.Errorf("%s: who is not asked sees a button that answers:\n%s", method, text)
		}
	}
	link = readLink(t, ada["approve"])
	link.Began = "2026-01-01T00:00:00.000000+00:00"
	want("a run with the same id", 404, "answers nothing here")(ask("POST", signed(link), ""))
	want("another site", 403, "")(ask("POST", ada["approve"], "", "Sec-Fetch-Site", "cross-site"))
	want("another site in an old browser", 403, "")(ask("POST", ada["approve"], "", "Origin", "null"))
	want("a field that is wrong", 200, "must be of type number", `value="green &amp; &#34;blue&#34;"`,
		`value="many"`)(ask("POST", ada["approve"], "field.reason=green+%26+%22blue%22&field.hosts=many", "Origin",
		s.base))
	want("the second tap", 200, "This link was used at ", "approve by ada (by a link) (2 equal answers")(
		ask("POST", ada["approve"], "field.reason=green&field.hosts=3", "Origin", s.base))
	want("the same link again", 200, "this link was used at ", "still open")(ask("POST", ada["approve"], ""))
	want("another person", 200, "This link was used at ",
		"The question was answered: approve by ada (by a link), bob (by a link) at ",
		"reason=green")(ask("POST", bob["approve"], ""))
	want("what was answered", 200, "The question was answered: approve by ada")(ask("GET", bob["reject"], ""))
	want("too late", 200, "was answered first", "The question was answered: approve by ada")(
		ask("POST", bob["reject"], ""))
	s.until(run, `"completed"`)
	want("a run that ended", 200, "The question was answered: approve by ada")(ask("GET", ada["reject"], ""))
	if info, err := os.Stat(filepath.Join(dir, ".loops/.ledger/.answer-links.key")); err != nil ||
		info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	s.post("/runs/"+run+"/remove", `{"confirm": "`+run+`"}`)
	want("a run that was removed", 404, "answers nothing here")(ask("GET", ada["approve"], ""))
}
