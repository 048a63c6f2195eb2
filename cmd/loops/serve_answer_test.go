package main_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const twoQuestionsLoop = `name: two
description: asks two things at once
initial: a
states:
  a:
    parallel:
      prod: {ask: {question: "Deploy to production?"}}
      mail: {ask: {question: "Send the mail?"}}
    join: settled
    on_yes: done
    on_partial: done
    on_no: done
  done: {terminal: true}
`

// TestTwoUsersOfOnePageAnswerOneQuestion: the second, whose page still shows the question that the first
// answered, does not answer the next question of the run.
func TestTwoUsersOfOnePageAnswerOneQuestion(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/two.yaml"), twoQuestionsLoop)
	s := startServe(t, dir)
	run := s.post("/runs", `{"loop": "two"}`)["instance_id"].(string)
	s.until(run, `"waiting"`)
	page := "/p/" + filepath.Base(dir) + "/runs/" + run
	_, shown := s.ask("GET", page, "", "")
	hidden := regexp.MustCompile(`name="question" value="([^"]+)"`).FindStringSubmatch(shown)
	if hidden == nil || !strings.Contains(shown, "Deploy to production?") {
		t.Fatalf("the page does not send the question that it shows:\n%s", shown)
	}
	form := "choice=approve&question=" + url.QueryEscape(strings.ReplaceAll(hidden[1], "&#43;", "+"))
	if status, text := s.ask("POST", page+"/answer", "application/x-www-form-urlencoded", form); status !=
		http.StatusOK {
		t.Fatalf("the first answer: %d\n%s", status, text)
	}
	if status, text := s.ask("POST", page+"/answer", "application/x-www-form-urlencoded", form); status ==
		http.StatusOK || !strings.Contains(text, "was answered first") {
		t.Errorf("the second answer: %d\n%s", status, text)
	}
	if _, open := s.ask("GET", "/api/v1/projects/"+filepath.Base(dir)+"/questions?run="+run, "",
		""); !strings.Contains(open, "Send the mail?") {
		t.Errorf("the mail was answered: %s", open)
	}
	status, text := s.ask("POST", "/api/v1/projects/"+filepath.Base(dir)+"/runs/"+run+"/answer", "application/json",
		`{"choice": "reject"}`)
	mail := regexp.MustCompile(`1/mail/1:[12]`).FindString(text)
	if status != http.StatusBadRequest || mail == "" {
		t.Errorf("an answer without an address: %d %s", status, text)
	}
	if _, text := s.ask("GET", page, "", ""); !strings.Contains(text, "approve by ") ||
		!strings.Contains(text, "Deploy to production?") {
		t.Errorf("the page does not say who answered:\n%s", text)
	}
	// a branch without a step that ended, a question
	for address, shows := range map[string]string{"1/mail": "Step 1/mail", "1:2": "Step 1"} {
		if status, text := s.ask("GET", page+"?tab=steps&step="+address, "", ""); status != http.StatusOK ||
			!strings.Contains(text, shows) {
			t.Errorf("the page of step %s: %d\n%s", address, status, text)
		}
	}
	if m := s.post("/runs/"+run+"/answer", `{"choice": "2", "question": "`+mail+`"}`); m["question"] !=
		"Send the mail?" {
		t.Errorf("%v", m)
	}
}
