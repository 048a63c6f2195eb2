package main_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loops/internal/testenv"
)

const webhookSecret = "a secret that both know"

const webhookSettings = `webhooks:
  deploy:
    secret_env: DEPLOY_SECRET
    events: [push]
    run: greet
    context: {who: .sender.login, n: .n}
  release:
    secret_env: DEPLOY_SECRET
    form: loops
    signal: released
    to: waits
    data: "{version: .version}"
  step:
    secret_env: DEPLOY_SECRET
    form: loops
    signal: released
    to: steps
  approve:
    secret_env: DEPLOY_SECRET
    form: loops
    answer: .choice
    to: asks
  any:
    secret_env: DEPLOY_SECRET
    run: greet
  keyless:
    secret_env: NOBODY_SET_THIS
    run: greet
`

const greetLoop = `name: greet
description: greets
context: {who: nobody, n: 0}
initial: a
states:
  a: {action: "echo hello ${context.who:shell}, ${context.n} >> greeted; echo ${context.n} > $LOOPS_RUN_ID.n", next: done}
  done: {terminal: true}
`

const releaseLoop = `name: waits
scope: [waits]
description: waits for a release
initial: a
states:
  a: {wait: {event: released}, timeout: 120, next: b, on_timeout: b}
  b: {action: "echo ${event.data.version}", capture: v, next: done}
  done: {terminal: true}
`

// signed returns the headers of a message in one of the forms.
func signed(form, secret, event, delivery, body string, at time.Time) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	sum := func(text string) string {
		m := hmac.New(sha256.New, []byte(secret))
		m.Write([]byte(text))
		return hex.EncodeToString(m.Sum(nil))
	}
	if form == "github" {
		h.Set("X-Hub-Signature-256", "sha256="+sum(body))
		h.Set("X-GitHub-Event", event)
		h.Set("X-GitHub-Delivery", delivery)
		return h
	}
	t := strconv.FormatInt(at.Unix(), 10)
	h.Set("X-Loops-Signature", "t="+t+",v1="+sum(t+"."+body))
	h.Set("X-Loops-Delivery", delivery)
	return h
}

func (s *webServer) hook(name string, h http.Header, body string) (int, map[string]any) {
	r, err := http.NewRequest(http.MethodPost, s.base+"/hooks/"+name, strings.NewReader(body))
	must(s.t, err)
	r.Header = h
	status, text := s.do(&http.Client{Timeout: testenv.Patience}, r) // it has no cookie
	var answer map[string]any
	_ = json.Unmarshal([]byte(text), &answer)
	return status, answer
}

func webhookDir(t *testing.T) string {
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/config.yaml"), webhookSettings)
	for name, text := range map[string]string{
		"greet": greetLoop, "waits": releaseLoop,
		"asks": strings.Replace(askLoop, "name: asks\n", "name: asks\nscope: [asks]\n", 1),
	} {
		writeText(t, filepath.Join(dir, ".loops", name+".yaml"), text)
	}
	return dir
}

func greeted(dir string) []string {
	b, _ := os.ReadFile(filepath.Join(dir, "greeted"))
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// TestWebhooks: who knows the secret starts runs, sends events and answers questions, each once, and no one
// else does anything.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	dir := webhookDir(t)
	s := startServe(t, dir)
	now := time.Now()
	hostile := `$(touch hacked)'; touch hacked; "` + "`touch hacked`"
	push := func(who string, n int) string {
		b, err := json.Marshal(map[string]any{"sender": map[string]any{"login": who}, "n": n})
		must(t, err)
		return string(b)
	}
	plain := signed("github", webhookSecret, "push", "x", push("ada", 0), now)
	plain.Set("Content-Type", "text/plain")
	twice := signed("github", webhookSecret, "push", "x", push("ada", 0), now)
	twice.Add("X-Hub-Signature-256", twice.Get("X-Hub-Signature-256"))
	big := `{"n": "` + strings.Repeat("x", 1<<20) + `"}`
	for _, c := range []struct {
		what, name string
		header     http.Header
		body       string
		status     int
		says       string
	}{
		{
			"no such webhook", "nothing", signed("github", webhookSecret, "push", "1", "{}", now), "{}", 404,
			"there is no webhook of this name",
		},
		{
			"no signature", "deploy",
			http.Header{"Content-Type": {"application/json"}},
			push("ada", 0), 401,
			"there is no signature",
		},
		{
			"another secret", "deploy", signed("github", "another", "push", "1", push("ada", 0), now), push("ada", 0),
			401, "not made with the secret",
		},
		{
			"another body", "deploy", signed("github", webhookSecret, "push", "1", push("ada", 0), now), push("ada", 9),
			401, "not made with the secret",
		},
		{"signed twice", "deploy", twice, push("ada", 0), 401, "there is no signature"},
		{
			"no secret is set", "keyless", signed("github", "", "push", "1", push("ada", 0), now), push("ada", 0), 503,
			"the secret of this webhook is missing on the server; what it prints says why",
		},
		{
			"another form", "release", signed("github", webhookSecret, "push", "1", "{}", now), "{}", 401,
			"no signature of the form loops",
		},
		{
			"an old one", "release", signed("loops", webhookSecret, "", "1", "{}", now.Add(-6*time.Minute)), "{}", 401,
			"more than five minutes",
		},
		{"a form", "deploy", plain, push("ada", 0), 415, "expected JSON"},
		{"too much", "deploy", signed("github", webhookSecret, "push", "1", big, now), big, 413, ""},
		{"no JSON", "deploy", signed("github", webhookSecret, "push", "1", "{", now), "{", 422, "the body is no JSON"},
		{
			"a payload that is none", "deploy", signed("github", webhookSecret, "push", "1", `{"sender": 1}`, now),
			`{"sender": 1}`, 422, "webhooks.deploy.context.who",
		},
		{"a ping", "deploy", signed("github", webhookSecret, "ping", "1", "{}", now), "{}", 200, "not about the event"},
		{
			"nobody waits", "approve", signed("loops", webhookSecret, "", "1", `{"choice": "good"}`, now),
			`{"choice": "good"}`, 404, "nothing to answer",
		},
	} {
		status, answer := s.hook(c.name, c.header, c.body)
		if text := fmt.Sprint(answer["error"], answer["ignored"]); status != c.status ||
			!strings.Contains(text, c.says) {
			t.Errorf("%s: %d %s, want %d %s", c.what, status, text, c.status, c.says)
		}
	}
	_, bare := s.hook("deploy", signed("github", webhookSecret, "push", "id-0", "{}", now), "{}")
	s.until(bare["run"].(string), `"completed"`)
	if got := greeted(dir); len(got) != 1 || got[0] != "hello nobody, 0" {
		t.Errorf("a body without the keys that are mapped: greeted %q, not what the loop says", got)
	}
	must(t, os.Remove(filepath.Join(dir, "greeted")))
	status, first := s.hook("deploy", signed("github", webhookSecret, "push", "id-1", push(hostile, 7), now),
		push(hostile, 7))
	run, _ := first["run"].(string)
	if status != http.StatusAccepted || run == "" {
		t.Fatalf("a push: %d %v", status, first)
	}
	s.until(run, `"completed"`)
	if got := greeted(dir); len(got) != 1 || got[0] != "hello "+hostile+", 7" {
		t.Errorf("greeted: %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "hacked")); err == nil {
		t.Error("a payload was run")
	}
	for what, again := range map[string][2]string{
		"the same":    {"id-1", push(hostile, 7)},
		"the same id": {"id-1", push("eve", 8)}, "the same body": {"id-2", push(hostile, 7)},
	} {
		if status, answer := s.hook("deploy", signed("github", webhookSecret, "push", again[0], again[1], now),
			again[1]); status != http.StatusOK || answer["copy"] != true || answer["run"] != run {
			t.Errorf("%s again: %d %v", what, status, answer)
		}
	}
	for name, of := range map[string][3]string{
		"waits": {"release", `{"version": "1.2"}`, `"1.2"`},
		"asks":  {"approve", `{"choice": "good"}`, `"completed"`},
	} {
		s.post("/runs", `{"loop": "`+name+`"}`)
		s.until(name, `"waiting"`)
		header := signed("loops", webhookSecret, "", "d-"+name, of[1], now)
		if status, answer := s.hook(of[0], header, of[1]); status != http.StatusAccepted {
			t.Errorf("%s: %d %v", name, status, answer)
		}
		if status, answer := s.hook(of[0], header, of[1]); status != http.StatusOK || answer["copy"] != true {
			t.Errorf("%s again: %d %v", name, status, answer)
		}
		s.until(name, `"completed"`)
	}
	out, err := exec.Command(binary(t), "-C", dir, "status", "waits", "--json", "--jq", ".captured.v.output").
		CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "1.2" {
		t.Errorf("what came with the event: %s %v", out, err)
	}
	if !strings.Contains(s.said.String(), `action="webhook" name="deploy" event="`) {
		t.Errorf("no line for an audit: %s", s.said)
	}
	if want := "loops: webhook deploy: POST " + s.base +
		"/hooks/deploy runs greet\n"; !strings.Contains(s.said.String(), want) {
		t.Errorf("the address is not printed, want %q: %s", want, s.said)
	}
	if want := "/hooks/keyless runs greet; messages are refused: the " +
		"environment variable "; !strings.Contains(s.said.String(), want) {
		t.Errorf("a missing secret is not told, want %q: %s", want, s.said)
	}
}

// TestWebhookOfAKilledServer: what was taken begins once, although the server is killed as soon as it has taken
// it, and two servers get each message.
func TestWebhookOfAKilledServer(t *testing.T) {
	t.Parallel()
	dir := webhookDir(t)
	var runs []string
	for n := range 4 {
		one, two := startServe(t, dir), startServe(t, dir)
		body := fmt.Sprintf(`{"sender": {"login": "ada"}, "n": %d}`, n)
		header := signed("github", webhookSecret, "push", fmt.Sprint("id-", n), body, time.Now())
		var all sync.WaitGroup
		var mu sync.Mutex
		got := map[string]bool{}
		for _, s := range []*webServer{one, two} {
			all.Go(func() {
				status, answer := s.hook("deploy", header.Clone(), body)
				if err := s.cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if run, _ := answer["run"].(string); run != "" &&
					(status == http.StatusAccepted || status == http.StatusOK) {
					got[run] = true
				}
			})
		}
		all.Wait()
		if len(got) != 1 {
			t.Fatalf("a message was taken as %v", got)
		}
		for run := range got {
			runs = append(runs, run)
		}
	}
	s := startServe(t, dir)
	for _, run := range runs {
		s.until(run, `"completed"`)
	}
	if got := greeted(dir); len(got) != len(runs) {
		t.Errorf("%d messages, greeted: %q", len(runs), got)
	}
}

// TestWebhookWithoutItsMark: the server died after it had recorded an event, or an answer, and before it had noted
// the delivery. The sender's next try is done without another event, and an answer that is on record is no conflict.
func TestWebhookWithoutItsMark(t *testing.T) {
	t.Parallel()
	dir := webhookDir(t)
	writeText(t, filepath.Join(dir, ".loops/steps.yaml"), `name: steps
description: waits for the same event twice
scope: [steps]
initial: a
states:
  a: {wait: {event: released}, next: b}
  b: {wait: {event: released}, next: done}
  done: {terminal: true}
`)
	s := startServe(t, dir)
	now := time.Now()
	send := func(hook, delivery string, n int) int {
		body := `{"choice": "good"}`
		status, _ := s.hook(hook,
			signed("loops", webhookSecret, "", delivery, body, now.Add(time.Duration(n)*time.Second)), body)
		return status
	}
	s.post("/runs", `{"loop": "steps"}`)
	s.until("steps", `"waiting"`)
	s.post("/runs", `{"loop": "asks"}`)
	s.until("asks", `"waiting"`)
	if event, answer := send("step", "one", 0), send("approve", "good", 0); event != http.StatusAccepted ||
		answer != http.StatusAccepted {
		t.Fatalf("the first try: %d and %d", event, answer)
	}
	s.until("steps", `"current_state": "b"`)
	s.until("asks", `"completed"`)
	must(t, os.RemoveAll(filepath.Join(dir, ".loops/.ledger")))
	if event, answer := send("step", "one", 1), send("approve", "good", 1); event/100 != 2 || answer/100 != 2 {
		t.Errorf("the next try: %d and %d", event, answer)
	}
	out, err := exec.Command(binary(t), "-C", dir, "status", "steps").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "State:     b") {
		t.Errorf("the event was recorded twice: %v\n%s", err, out)
	}
	if status := send("step", "two", 2); status != http.StatusAccepted {
		t.Errorf("another delivery: %d", status)
	}
	s.until("steps", `"completed"`)
}

// TestWebhookCopies: what is signed makes a message a copy, and its id, but not an id that is much like it.
// What others can change in it does not make a second message of it.
func TestWebhookCopies(t *testing.T) {
	t.Parallel()
	dir := webhookDir(t)
	s := startServe(t, dir)
	send := func(event, delivery, body string) (int, string) {
		status, answer := s.hook("any", signed("github", webhookSecret, event, delivery, body, time.Now()), body)
		run, _ := answer["run"].(string)
		return status, run
	}
	status, first := send("push", "one", `{"n": 1}`)
	if again, run := send("release", "two", `{"n": 1}`); status != http.StatusAccepted || again != http.StatusOK ||
		run != first {
		t.Errorf("a message that was sent again as another event: %d %s, the first was %d %s", again, run, status,
			first)
	}
	long := "https://ci.example.org/project/pipelines/deliveries/2026/11/25/"
	_, second := send("push", long+"1", `{"n": 2}`)
	status, third := send("push", long+"2", `{"n": 3}`)
	if status != http.StatusAccepted || third == second {
		t.Errorf("an id that is like another one: %d %s, the other was %s", status, third, second)
	}
	s.until(first, `"completed"`)
	s.until(second, `"completed"`)
	s.until(third, `"completed"`)
	for n := range 2 { // each of two runs is approved, in the same words
		s.post("/runs", `{"loop": "asks"}`)
		s.until("asks", `"waiting"`)
		at := time.Now().Add(time.Duration(n) * time.Second)
		if status, answer := s.hook("approve",
			signed("loops", webhookSecret, "", fmt.Sprint("ok-", n), `{"choice": "good"}`, at),
			`{"choice": "good"}`); status != http.StatusAccepted {
			t.Errorf("approval %d: %d %v", n, status, answer)
		}
		s.until("asks", `"completed"`)
	}
	writeText(t, filepath.Join(dir, ".loops/config.yaml"), webhookSettings+"queue: {timeout: a secret}\n")
	if status, answer := s.hook("any", http.Header{"Content-Type": {"application/json"}}, "{}"); status !=
		http.StatusServiceUnavailable || strings.Contains(fmt.Sprint(answer), "a secret") {
		t.Errorf("settings with a mistake: %d %v", status, answer)
	}
}

// TestWebhooksOfTwoServers: messages that come to two servers at once get runs of their own, each with the
// payload of its message, in the queue where others have locked what they work on; an event that both get is
// sent once.
func TestWebhooksOfTwoServers(t *testing.T) {
	t.Parallel()
	dir := webhookDir(t)
	writeText(t, filepath.Join(dir, ".loops/long.yaml"), `name: long
description: has locked the project
initial: a
states:
  a: {action: "while test ! -e go; do sleep 0.1; done", next: done}
  done: {terminal: true}
`)
	servers := []*webServer{startServe(t, dir), startServe(t, dir)}
	s := servers[0]
	s.post("/runs", `{"loop": "long"}`)
	s.until("long", `"running"`)
	const messages = 4
	var all sync.WaitGroup
	var runs [messages]string
	for n := range messages {
		all.Go(func() {
			body := fmt.Sprintf(`{"sender": {"login": "ada"}, "n": %d}`, n)
			status, answer := servers[n%2].hook("deploy",
				signed("github", webhookSecret, "push", fmt.Sprint("id-", n), body, time.Now()), body)
			if runs[n], _ = answer["run"].(string); status != http.StatusAccepted {
				t.Errorf("message %d: %d %v", n, status, answer)
			}
		})
	}
	all.Wait()
	waiting := func() int {
		out, err := exec.Command(binary(t), "-C", dir, "queue", "list", "--json").Output()
		must(t, err)
		return strings.Count(string(out), `"greet"`)
	}
	if !testenv.Within(testenv.Patience, func() bool { return waiting() >= messages }) {
		t.Fatalf("%d runs wait in the queue, want %d; %s %s", waiting(), messages, s.said, servers[1].said)
	}
	writeText(t, filepath.Join(dir, "go"), "")
	for n, run := range runs {
		s.until(run, `"completed"`)
		out, err := os.ReadFile(filepath.Join(dir, run+".n"))
		if strings.TrimSpace(string(out)) != strconv.Itoa(n) {
			t.Errorf("run %s, which was the answer to message %d, has the payload of %s %v", run, n, out, err)
		}
	}
	s.post("/runs", `{"loop": "waits"}`)
	s.until("waits", `"waiting"`)
	header := signed("loops", webhookSecret, "", "event", `{"version": "1.2"}`, time.Now())
	var told atomic.Int64
	for _, to := range servers {
		all.Go(func() {
			if status, _ := to.hook("release", header.Clone(), `{"version": "1.2"}`); status == http.StatusAccepted {
				told.Add(1)
			}
		})
	}
	all.Wait()
	if told.Load() != 1 {
		t.Errorf("an event was sent %d times", told.Load())
	}
}
