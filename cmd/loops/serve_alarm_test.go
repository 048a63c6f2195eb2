package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
)

// TestAlarms: a run that is silent, one whose process dies and a question without an answer raise one alarm,
// with two servers, and one all-clear when they are over. The run that died is resumed as often as the settings
// say.
func TestAlarms(t *testing.T) {
	t.Parallel()
	var pings atomic.Int64
	watchman := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { pings.Add(1) }))
	t.Cleanup(watchman.Close)
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/config.yaml"), `notify:
- command: 'printf "%s|%s|%s\n" "$LOOPS_NOTIFY_EVENT" "$LOOPS_NOTIFY_STATUS" "$LOOPS_NOTIFY_TEXT" >> told'
  on: [alarm, all_clear]
alarm: {stuck: 2s, waiting: 2s, restart: 1, ping: "`+watchman.URL+`"}
`)
	writeText(t, filepath.Join(dir, ".loops/asks.yaml"),
		strings.Replace(askLoop, "name: asks\n", "name: asks\nscope: [asks]\n", 1))
	writeText(t, filepath.Join(dir, ".loops/dies.yaml"), `name: dies
scope: [dies]
description: its runner is killed, twice
initial: a
states:
  a: {action: "echo x >> tries; echo $PPID > pid; while test ! -e go; do echo beat; sleep 0.2; done", next: done}
  done: {terminal: true}
`)
	writeText(t, filepath.Join(dir, ".loops/silent.yaml"), `name: silent
scope: [silent]
description: says nothing
initial: a
states:
  a: {action: "while test ! -e go; do sleep 0.1; done", next: done}
  done: {terminal: true}
`)
	s := startServe(t, dir)
	startServe(t, dir) // looks after the same runs
	told := func() []string {
		b, _ := os.ReadFile(filepath.Join(dir, "told"))
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
	until := func(what string, n int, prefix string) {
		t.Helper()
		if testenv.Within(testenv.Patience, func() bool {
			return len(slices.DeleteFunc(told(), func(line string) bool {
				return !strings.HasPrefix(line, prefix)
			})) >= n
		}) {
			return
		}
		_, open := s.ask("GET", "/api/v1/alarms", "", "")
		t.Fatalf("%s is not told; told: %q, open: %s, said: %s", what, told(), open, s.said)
	}
	kill := func(tries int) {
		t.Helper()
		var p int
		if !testenv.Within(testenv.Patience, func() bool {
			b, _ := os.ReadFile(filepath.Join(dir, "tries"))
			pid, _ := os.ReadFile(filepath.Join(dir, "pid"))
			_, err := fmt.Sscan(string(pid), &p)
			return err == nil && strings.HasSuffix(string(pid), "\n") && strings.Count(string(b), "x") == tries
		}) {
			t.Fatalf("the run does not come to try %d: %s", tries, s.said)
		}
		must(t, syscall.Kill(p, syscall.SIGKILL))
		must(t, os.Remove(filepath.Join(dir, "pid")))
	}
	for _, loop := range []string{"asks", "dies", "silent"} {
		s.post("/runs", `{"loop": "`+loop+`"}`)
	}
	kill(1)
	until("that the process died", 1, "alarm|dead|the process of run dies-")
	until("that the run is silent", 1, "alarm|stuck|run silent-")
	until("that the question has no answer", 1, "alarm|waiting|run asks-")
	until("that the run was resumed", 1, "all_clear|dead|over: the process of run dies-")
	type alarm struct {
		Kind, Loop string
		ID         string `json:"instance_id"`
	}
	var open []alarm
	_, text := s.ask("GET", "/api/v1/alarms", "", "")
	s.checkAnswer("alarms", text)
	must(t, json.Unmarshal([]byte(text), &open))
	// on a busy machine the run that died makes no progress either
	open = slices.DeleteFunc(open, func(a alarm) bool { return a.Loop == "dies" })
	if len(open) != 2 || open[0].Kind == open[1].Kind {
		t.Errorf("alarms that are not over: %s", text)
	}
	if _, page := s.ask("GET", "/", "", ""); !strings.Contains(page, `<strong>stuck</strong>`) {
		t.Errorf("the page has no alarm: %.2000s", page)
	}
	for _, a := range open { // each on the page of its run, and no other
		if _, page := s.ask("GET", "/p/shop/runs/"+a.ID, "", ""); strings.Count(page, `<ul class="alarms"`) != 1 ||
			strings.Count(page, "<li><strong>") != 1 {
			t.Errorf("the page of run %s has no alarm: %.3000s", a.ID, page)
		}
	}
	kill(2) // now it stays dead
	until("that it died again", 2, "alarm|dead|")
	writeText(t, filepath.Join(dir, "go"), "")
	s.post("/runs/asks/answer", `{"choice": "good"}`)
	until("that the run is silent no more", 1, "all_clear|stuck|over: run silent-")
	until("that the question has its answer", 1, "all_clear|waiting|over: run asks-")
	if b, _ := os.ReadFile(filepath.Join(dir, "tries")); strings.Count(string(b), "x") != 2 {
		t.Errorf("the run that died was resumed more often than once: %q", b)
	}
	if _, text := s.ask("GET", "/api/v1/alarms", "", ""); strings.Count(text, `"kind"`) != 1 ||
		!strings.Contains(text, `"dead"`) {
		t.Errorf("alarms at the end: %s", text)
	}
	// on a busy machine the run that died makes no progress either
	got := slices.DeleteFunc(told(), func(text string) bool {
		return strings.Contains(text, "|stuck|") && strings.Contains(text, "run dies-")
	})
	slices.Sort(got)
	if len(got) != 7 { // dead twice and over once, stuck and waiting once and over once
		t.Errorf("told: %q", got)
	}
	if pings.Load() == 0 {
		t.Error("the service that watches the server was not asked")
	}
}

// TestAlarmOfQuota: runs that wait for the quota of one agent raise one alarm, which is over when none waits.
func TestAlarmOfQuota(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops/tmp"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/config.yaml"), `notify:
- command: 'printf "%s|%s|%s\n" "$LOOPS_NOTIFY_EVENT" "$LOOPS_NOTIFY_STATUS" "$LOOPS_NOTIFY_TEXT" >> told'
  on: [alarm, all_clear]
hosts:
  mine: {program: ./ask, args: ["{prompt}"], format: text}
`)
	writeText(t, filepath.Join(dir, "ask"), "#!/bin/sh\necho asked\n")
	must(t, os.Chmod(filepath.Join(dir, "ask"), 0o755))
	persistence.ProjectCircuit(filepath.Join(dir, ".loops")).Report("mine",
		fsm.QuotaWindow{Name: "five_hour", Used: 0.9, Resets: time.Now().Add(time.Hour), At: time.Now()})
	for _, name := range []string{"one", "two"} {
		writeText(t, filepath.Join(dir, ".loops/"+name+".yaml"),
			"name: "+name+"\nscope: ["+name+"]\ndescription: waits\ninitial: a\nquota: {reserve: 30%}\n"+
				"llm: {host: mine}\nstates:\n"+
				"  a: {action: hi, action_type: prompt, next: done}\n  done: {terminal: true}\n")
	}
	s := startServe(t, dir)
	told := func(prefix string) (n int) {
		b, _ := os.ReadFile(filepath.Join(dir, "told"))
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, prefix) {
				n++
			}
		}
		return n
	}
	var ids []string
	for _, name := range []string{"one", "two"} {
		id := strings.TrimSpace(loopsIn(t, dir, os.Environ(), "run", "-qb", name))
		s.until(id, `"quota"`)
		ids = append(ids, id)
	}
	if !testenv.Within(testenv.Patience, func() bool { return told("alarm|quota|run ") > 0 }) {
		t.Fatalf("there is no alarm: %s", s.said)
	}
	for _, id := range ids {
		loopsIn(t, dir, os.Environ(), "retry-now", id)
		s.until(id, `"completed"`)
	}
	if !testenv.Within(testenv.Patience, func() bool { return told("all_clear|quota|") == 1 }) {
		t.Fatalf("the alarm is not over: %s", s.said)
	}
	if n := told("alarm|quota|"); n != 1 {
		t.Errorf("%d alarms were sent, want one", n)
	}
}

// TestAlarmOfSpending: a run that waits because runs spent enough is an alarm, until the limit is raised.
func TestAlarmOfSpending(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	config := "hosts: {mine: {program: ./ask, args: [], format: jsonl, text: text, cost: cost}}\n"
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	write(".loops/config.yaml", config+"spend: {cost_per_hour: 0.5}\n", 0o644)
	write(".loops/ask.yaml", "name: ask\ndescription: asks\ninitial: a\nllm: {host: mine}\nstates:\n"+
		"  a: {action_type: prompt, action: one, next: done}\n  done: {terminal: true}\n", 0o644)
	write("ask", "#!/bin/bash\ncat >/dev/null\necho '{\"text\": \"did it\", \"cost\": 0.5}'\n", 0o755)
	s := startServe(t, dir)
	env := append(os.Environ(), "HOME="+dir)
	loopsIn(t, dir, env, "run", "ask", "-q")
	id := strings.TrimSpace(loopsIn(t, dir, env, "run", "-qb", "ask"))
	until := func(what string, done func(text string) bool) {
		t.Helper()
		text := ""
		if !testenv.Within(testenv.Patience, func() bool {
			_, text = s.ask("GET", "/api/v1/alarms", "", "")
			return done(text)
		}) {
			t.Fatalf("%s: %s", what, text)
		}
	}
	until("the run waits", func(text string) bool {
		return strings.Contains(text, `"kind": "spend"`) &&
			strings.Contains(text, "run "+id+" waits in state a: this project spent $0.5000 in the last hour, and "+
				"may spend $0.5000")
	})
	write(".loops/config.yaml", config+"spend: {cost_per_hour: 2}\n", 0o644)
	s.until(id, `"completed"`)
	until("it is over", func(text string) bool { return !strings.Contains(text, "spend") })
}
