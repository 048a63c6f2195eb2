package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/engine/notify"
	"loops/internal/testenv"
)

const eventful = `name: busy
description: has a step for each second letter of the alphabet
initial: a
max_steps: 9
states:
  a: {action: echo a; sleep 0.03, next: b}
  b: {action: echo b; sleep 0.03, next: c}
  c: {action: echo c; sleep 0.03, next: done}
  done: {terminal: true}
`

// A receiver of events. Its handler answers what answer says to the numbers of the events of a request, in a
// body that is signed.
type receiver struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	answer func(seqs []int) int // status; 0 = the connection breaks; guarded by mu
	seqs   []int                // that were acknowledged, or sent before the connection broke; guarded by mu
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, answer: func([]int) int { return http.StatusNoContent }}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	var batch []json.RawMessage
	if err != nil || json.Unmarshal(body, &batch) != nil ||
		q.Header.Get("Content-Type") != "application/cloudevents-batch+json" {
		r.t.Errorf("no batch of CloudEvents: %v %q %s", err, q.Header, body)
		return
	}
	var at int64
	_, _ = fmt.Sscanf(q.Header.Get("X-Loops-Signature"), "t=%d,", &at)
	if want := notify.Sign("sesame", time.Unix(at, 0), body); q.Header.Get("X-Loops-Signature") != want {
		r.t.Errorf("signed %s, not %s", q.Header.Get("X-Loops-Signature"), want)
	}
	var seqs []int
	for _, e := range batch {
		seqs = append(seqs, cloudSeq(r.t, e))
	}
	r.mu.Lock()
	answer := r.answer
	r.mu.Unlock()
	status := answer(seqs)
	if status < 300 {
		r.mu.Lock()
		r.seqs = append(r.seqs, seqs...)
		r.mu.Unlock()
	}
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
}

// cloudSeq checks a CloudEvent, and returns the number of its event.
func cloudSeq(t *testing.T, text []byte) int {
	var e struct {
		Version string `json:"specversion"`
		ID      string `json:"id"`
		Source  string `json:"source"`
		Type    string `json:"type"`
		Subject string `json:"subject"`
		Loop    string `json:"loop"`
		Data    struct {
			Event string `json:"event"`
			Seq   int    `json:"seq"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &e); err != nil || e.Version != "1.0" ||
		e.ID != fmt.Sprintf("%s/%d", e.Subject, e.Data.Seq) ||
		e.Type != "loops."+e.Data.Event || !strings.HasPrefix(e.Source, "file://") || e.Loop != "busy" {
		t.Errorf("no CloudEvent of ours: %v: %s", err, text)
	}
	return e.Data.Seq
}

// answers has all requests answered by a status from now on.
func (r *receiver) answers(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = func([]int) int { return status }
}

func (r *receiver) got() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seqs)
}

// eventsProject is a project whose events go to a receiver, a command, a socket and a file.
func eventsProject(t *testing.T, r *receiver) (dir string, env []string, socket func() []byte) {
	dir = t.TempDir()
	t.Cleanup(func() { testenv.RemoveSoon(t, dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	var mu sync.Mutex
	var lines []byte
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			text, err := io.ReadAll(c)
			if err == nil { // what a killed sender began is not acknowledged
				mu.Lock()
				lines = append(lines, text[:bytes.LastIndexByte(text, '\n')+1]...)
				mu.Unlock()
			}
			_ = c.Close()
		}
	}()
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/busy.yaml"), eventful)
	writeText(t, filepath.Join(dir, ".loops/config.yaml"), fmt.Sprintf(`events:
- webhook: %s/events
  secret_env: KEY
- command: cat >> by-command
- socket: s
- file: lines
- file: routes
  kinds: [route]
- file: none
  loops: ["other-*"]
`, r.URL))
	return dir, append(cleanEnv(binary(t), dir), "KEY=sesame"), func() []byte {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(lines)
	}
}

// seqsOf returns the numbers of events in lines.
func seqsOf(t *testing.T, text []byte) (seqs []int) {
	for line := range bytes.Lines(text) {
		seqs = append(seqs, cloudSeq(t, line))
	}
	return seqs
}

// inOrder returns why numbers are not 1, 2, 3 … last in the order in which each came first.
func inOrder(seqs []int, last int) string {
	next := 1
	for _, s := range seqs {
		if s > next {
			return fmt.Sprintf("%d comes before %d in %v", s, next, seqs)
		}
		if s == next {
			next++
		}
	}
	if next != last+1 {
		return fmt.Sprintf("%d of %d are there: %v", next-1, last, seqs)
	}
	return ""
}

// A process that is killed while an event is on its way has it sent again after resume or sweep, and those after it: no
// outlet misses one, and their order is kept.
func TestEventsOut(t *testing.T) {
	t.Parallel()
	for i := range testenv.Some(4, 200) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			testEventsOut(t, 1+i*5%14, i%2 == 0, i%4 < 2)
		})
	}
}

// testEventsOut kills the process when the event of this number arrives, which counts as received or not.
func testEventsOut(t *testing.T, at int, received, sweeps bool) {
	r := newReceiver(t)
	dir, env, socket := eventsProject(t, r)
	run := exec.Command(binary(t), "-C", dir, "run", "busy", "--quiet")
	run.Env = env
	started := make(chan struct{})
	kill := sync.OnceValue(func() bool {
		<-started
		return run.Process.Kill() == nil
	})
	r.answer = func(seqs []int) int {
		switch {
		case seqs[len(seqs)-1] < at:
			return http.StatusNoContent
		case r.t.Failed() || !kill():
			return http.StatusInternalServerError
		case received:
			return 0
		}
		return http.StatusServiceUnavailable
	}
	must(t, run.Start())
	close(started)
	_ = run.Wait()
	if run.ProcessState.ExitCode() != -1 {
		t.Fatalf("the run ended before it was killed: %v", run.ProcessState)
	}
	r.answers(http.StatusNoContent)
	if sweeps {
		testenv.Loops(t, dir, env, "sweep")
		count := len(slices.Compact(slices.Sorted(slices.Values(r.got()))))
		if count < at {
			t.Errorf("sweep left events: %v", r.got())
		}
	}
	// its end was on record before the kill
	if strings.Contains(loopsIn(t, dir, env, "status", "busy", "--json"), `"status": "completed"`) {
		testenv.Loops(t, dir, env, "sweep")
	} else {
		testenv.Loops(t, dir, env, "resume", "busy", "--quiet")
	}
	seqs := r.got()
	most := slices.Max(seqs)
	files := map[string][]int{"webhook": seqs, "socket": seqsOf(t, socket())}
	for _, name := range []string{"by-command", "lines"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		files[name] = seqsOf(t, text)
	}
	for name, seqs := range files {
		if wrong := inOrder(seqs, most); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "lines"))
	must(t, err)
	if !strings.Contains(string(text), `"type": "loops.loop_complete"`) {
		t.Errorf("the end of the run is missing:\n%s", text)
	}
	text, err = os.ReadFile(filepath.Join(dir, "routes"))
	must(t, err)
	if n := strings.Count(string(text), `"type": "loops.route"`); n != bytes.Count(text, []byte("\n")) || n < 3 {
		t.Errorf("only routes were asked for:\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("events of a loop that was not asked for")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".loops/.ledger/.outbox/*")); len(left) > 0 {
		t.Errorf("all was delivered, and there is %q", left)
	}
}

// A receiver that refuses neither slows nor fails a run. Its events wait for sweep, and go with the run.
func TestEventsOutRefused(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	dir, env, _ := eventsProject(t, r)
	r.answers(http.StatusServiceUnavailable)
	said := testenv.Loops(t, dir, env, "run", "busy", "--quiet")
	if !strings.Contains(said, "events are still to be delivered") || !strings.Contains(said, "503") {
		t.Errorf("run says %q", said)
	}
	cmd := exec.Command(binary(t), "-C", dir, "sweep")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "503") {
		t.Errorf("sweep says %v %s", err, out)
	}
	const waits = "events of 1 run that ended are still to be delivered"
	if said := testenv.Loops(t, dir, env, "doctor"); !strings.Contains(said, waits) {
		t.Errorf("doctor says %s", said)
	}
	r.answers(http.StatusNoContent)
	testenv.Loops(t, dir, env, "sweep")
	if said := testenv.Loops(t, dir, env, "doctor"); strings.Contains(said, waits) {
		t.Errorf("doctor says %s", said)
	}
	if wrong := inOrder(r.got(), slices.Max(append(r.got(), 0))); wrong != "" || len(r.got()) == 0 {
		t.Errorf("sweep delivered %s %v", wrong, r.got())
	}
	r.answers(http.StatusServiceUnavailable)
	testenv.Loops(t, dir, env, "run", "busy", "--quiet")
	left, _ := filepath.Glob(filepath.Join(dir, ".loops/.ledger/.outbox/*"))
	if len(left) != 1 {
		t.Fatalf("outboxes: %q", left)
	}
	testenv.Loops(t, dir, env, "rm", strings.TrimSuffix(filepath.Base(left[0]), ".json"))
	if left, _ := filepath.Glob(filepath.Join(dir, ".loops/.ledger/.outbox/*")); len(left) > 0 {
		t.Errorf("the run was removed, and there is %q", left)
	}
}
