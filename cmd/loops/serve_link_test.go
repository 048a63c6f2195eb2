package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
        ask: {question: "Deploy to production?", quorum: 2, who: [ada, bob], fields: {reason: text}}
    on_yes: done
    on_no: done
  done: {terminal: true}
`

// linksTo has the notifications of a project of a server name links, and returns the file that those of a target are written to.
func (s *webServer) linksTo(names ...string) func(name string) string {
	s.t.Helper()
	text := "answer_links:\n  url: " + s.base + "\nnotify:\n"
	for _, name := range names {
		text += fmt.Sprintf("  - name: %s\n    command: echo \"$LOOPS_NOTIFY_LINKS\" >%s.new; mv %s.new %s.links\n    on: [waiting]\n", name, name, name, name)
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

// TestLinksAnswerAQuestion: who has a link of a notification answers without signing in, by a second tap, once, and for that question alone.
func TestLinksAnswerAQuestion(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/linked.yaml"), linkedLoop)
	s := startServe(t, dir)
	file := s.linksTo("ada", "bob", "eve")
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
	want("the first tap", 200, "Deploy to production?", "Answer: approve", "no answer yet")(ask("GET", ada["approve"], ""))
	want("a preview", 200, "no answer yet")(ask("GET", ada["approve"], ""))
	want("a signature of another link", 404, "answers nothing here")(ask("POST", ada["approve"][:strings.Index(ada["approve"], ".")]+ada["reject"][strings.Index(ada["reject"], "."):], ""))
	want("who is not asked", 200, "is for ada and bob, and you are eve", "Answer: approve", "no answer yet")(ask("POST", s.links(file("eve"))["approve"], ""))
	want("another site", 403, "")(ask("POST", ada["approve"], "", "Sec-Fetch-Site", "cross-site"))
	want("the second tap", 200, "This link was used at ", "approve by ada (by a link) (2 equal answers")(ask("POST", ada["approve"], "field.reason=green"))
	want("the same link again", 200, "this link was used at ", "still open")(ask("POST", ada["approve"], ""))
	want("another person", 200, "This link was used at ", "The question was answered: approve by ada (by a link), bob (by a link) at ", "reason=green")(ask("POST", bob["approve"], ""))
	want("what was answered", 200, "The question was answered: approve by ada")(ask("GET", bob["reject"], ""))
	want("too late", 200, "was answered first", "The question was answered: approve by ada")(ask("POST", bob["reject"], ""))
	s.until(run, `"completed"`)
	want("a run that ended", 200, "The question was answered: approve by ada")(ask("GET", ada["reject"], ""))
	if info, err := os.Stat(filepath.Join(dir, ".loops/.ledger/.answer-links.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	s.post("/runs/"+run+"/remove", `{"confirm": "`+run+`"}`)
	want("a run that was removed", 404, "answers nothing here")(ask("GET", ada["approve"], ""))
}
