package main_test

import (
	"cmp"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

// A sentSpan is a span as a collector gets it.
type sentSpan struct {
	TraceID, SpanID, ParentSpanID, Name string
	StartTimeUnixNano, EndTimeUnixNano  string
	Links                               []struct{ TraceID, SpanID string }
	Attributes                          []sentAttr
}

func (s sentSpan) attr(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return cmp.Or(a.Value.StringValue, a.Value.IntValue)
		}
	}
	return ""
}

// A collector takes traces and metrics, and checks that a span has one id, and an id one span.
type collector struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	spans map[string]sentSpan // guarded by mu; by trace and id
	steps map[string]string   // guarded by mu; ids by trace, kind and address

	points map[string]sentPoint // guarded by mu; by instance, metric and labels
}

func newCollector(t *testing.T) *collector {
	c := &collector{t: t, spans: map[string]sentSpan{}, steps: map[string]string{}, points: map[string]sentPoint{}}
	server := httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	var sent struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []sentSpan }
		}
	}
	body, _ := io.ReadAll(r.Body) // a process that is killed sends a part
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path == "/v1/metrics" {
		if err := c.takeMetrics(body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		return
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if r.URL.Path != "/v1/traces" {
		c.t.Errorf("traces are sent to %s", r.URL.Path)
	}
	for _, rs := range sent.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				c.add(s)
			}
		}
	}
}

// add takes a span. The caller holds mu.
func (c *collector) add(s sentSpan) {
	id := s.TraceID + "/" + s.SpanID
	if was, again := c.spans[id]; again &&
		(was.Name != s.Name || was.ParentSpanID != s.ParentSpanID || was.StartTimeUnixNano != s.StartTimeUnixNano ||
			was.EndTimeUnixNano > s.EndTimeUnixNano) {
		c.t.Errorf("the id of a span is that of another one: %+v and %+v", was, s)
	}
	c.spans[id] = s
	// nothing else begins at the same moment with the same name below the same span, but branches and items
	what := strings.Join([]string{
		s.TraceID, s.ParentSpanID, s.Name, s.StartTimeUnixNano, s.attr("loops.task"),
		s.attr("loops.step"),
	}, "|")
	if other, again := c.steps[what]; again && other != s.SpanID {
		c.t.Errorf("one span has the ids %s and %s: %s", other, s.SpanID, what)
	}
	c.steps[what] = s.SpanID
}

// whole returns the spans of the one trace of the loop traced, by their ids, and checks that each has the one it is in.
func (c *collector) whole() map[string]sentSpan {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	all, trace := map[string]sentSpan{}, ""
	for _, s := range c.spans {
		if s.Name != "traced" {
			continue
		}
		if trace = cmp.Or(trace, s.TraceID); s.TraceID != trace {
			c.t.Errorf("there are two traces: %s and %s", trace, s.TraceID)
		}
	}
	for _, s := range c.spans {
		if s.TraceID == trace {
			all[s.SpanID] = s
		}
	}
	for _, s := range all {
		if above, there := all[s.ParentSpanID]; s.ParentSpanID != "" && !there {
			c.t.Errorf("%s (%s %s) is in a span that was not sent", s.Name, s.attr("loops.step"), s.attr("loops.task"))
		} else if s.ParentSpanID != "" && above.StartTimeUnixNano > s.StartTimeUnixNano {
			c.t.Errorf("%s begins before %s", s.Name, above.Name)
		}
	}
	return all
}

func count(all map[string]sentSpan, name string) (n int) {
	for _, s := range all {
		if s.Name == name {
			n++
		}
	}
	return n
}

// runOf returns the id of the run of a trace.
func runOf(all map[string]sentSpan) (run string) {
	for _, s := range all {
		run = cmp.Or(run, s.attr("loops.run.id"))
	}
	return run
}

const tracedLoop = `name: traced
description: has a span of each kind
initial: a
scope: [traced]
states:
  a:
    action: 'echo "$TRACEPARENT" >> parents; test -f once || { touch once; exit 1; }'
    retry: {times: 2, backoff: 1ms}
    next: both
  both:
    parallel:
      left: {action: 'echo "$TRACEPARENT" >> parents; sleep 0.02'}
      right: {loop: inner}
    next: list
  list:
    for_each: [one, two, three]
    parallel: 2
    action: 'echo "$TRACEPARENT" >> parents; sleep 0.02'
    next: each
  each:
    for_each: [one, two]
    loop: inner
    next: rest
  rest:
    wait: {for: 20ms}
    next: sub
  sub:
    loop: inner
    next: done
  done: {terminal: true}
`

const innerLoop = `name: inner
description: is run inside
initial: x
states:
  x: {action: 'echo "$TRACEPARENT" >> parents; sleep 0.01', next: y}
  y:
    parallel:
      up: {action: 'echo "$TRACEPARENT" >> parents'}
      down: {action: sleep 0.01}
    next: done
  done: {terminal: true}
`

// tracedDir returns a project with a loop that has each kind of span.
func tracedDir(t *testing.T, more string) string {
	t.Helper()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/traced.yaml"), tracedLoop)
	writeText(t, filepath.Join(dir, ".loops/inner.yaml"), innerLoop)
	writeText(t, filepath.Join(dir, ".loops/small.yaml"),
		"name: small\nscope: [small]\ndescription: does little\ninitial: a\nstates:\n"+
			"  a: {action: \"true\", next: done}\n  done: {terminal: true}\n")
	writeText(t, filepath.Join(dir, ".loops/config.yaml"), more)
	return dir
}

// traced returns a command whose traces go to a collector.
func traced(t *testing.T, url, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+url,
		"TRACEPARENT=00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-01")
	return cmd
}

// parents checks that what actions had as TRACEPARENT are spans that were sent.
func parents(t *testing.T, dir string, all map[string]sentSpan) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "parents"))
	must(t, err)
	for line := range strings.FieldsSeq(string(b)) {
		parts := strings.Split(line, "-")
		if len(parts) != 4 || all[parts[2]].TraceID != parts[1] {
			t.Errorf("an action has the TRACEPARENT %s, which is no span of the trace", line)
		}
	}
}

// TestTrace: a run is one trace, with a span for each step, task, attempt and wait, each in the one it belongs to.
func TestTrace(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	dir := tracedDir(t, "")
	if out, err := traced(t, c.url, dir, "run", "-q", "traced").CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v %s", err, out)
	}
	all := c.whole()
	for name, n := range map[string]int{
		"traced": 1, "a": 1, "both": 1, "list": 1, "each": 1, "rest": 1, "sub": 1, "x": 4, "y": 4, "left": 2,
		"right": 1, "#1": 2, "#2": 2, "#3": 1,
		"wait retry": 1, "wait wait": 1, "action": 2 + 1 + 4 + 8,
	} {
		if got := count(all, name); got != n {
			t.Errorf("%d spans are called %s, not %d", got, name, n)
		}
	}
	parents(t, dir, all)
}

// TestTraceOfKilledRun: whenever the process of a run is killed, the run continues in its trace, with nothing
// missing and nothing under two ids.
func TestTraceOfKilledRun(t *testing.T) {
	t.Parallel()
	seed := uint64(1)
	if *testenv.Torture {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for n, kills := 0, testenv.Some(6, 200); n < kills; {
		c := newCollector(t)
		dir := tracedDir(t, []string{"", "store: sqlite:.loops/runs.db\n"}[n%2])
		args, killed := []string{"run", "-q", "traced"}, 0
		for {
			cmd := traced(t, c.url, dir, args...)
			var said strings.Builder
			cmd.Stderr = &said
			must(t, cmd.Start())
			timer := time.AfterFunc(time.Duration(random.IntN(700))*time.Millisecond, func() {
				_ = cmd.Process.Signal(syscall.SIGKILL)
			})
			if killed >= 3 {
				timer.Stop()
			}
			err := cmd.Wait()
			timer.Stop()
			if err == nil {
				break
			}
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
				switch text := said.String(); {
				case strings.Contains(text, "no recorded run"), strings.Contains(text, "nothing was recorded"):
					args = []string{"run", "-q", "traced"}
					continue
				case strings.Contains(text, "is completed"): // it was killed while it sent: another one does
					args = []string{"run", "-q", "small"}
					continue
				}
				t.Fatalf("%v %s", err, said.String())
			}
			killed++
			n++
			if args[2] == "traced" {
				args = []string{"resume", "-q", "traced"}
			}
		}
		all := c.whole()
		for _, name := range []string{"a", "both", "list", "each", "rest", "sub", "wait wait"} {
			if got := count(all, name); got != 1 && !(name == "wait wait" && got > 1) {
				t.Errorf("after %d kills %d spans are called %s", killed, got, name)
			}
		}
		for name, want := range map[string]int{"x": 4, "y": 4, "#1": 2, "#2": 2, "#3": 1} {
			if got := count(all, name); got != want {
				t.Errorf("after %d kills %d spans are called %s, not %d", killed, got, name, want)
			}
		}
		parents(t, dir, all)
		c.counted(runOf(all), "traced", loopsIn(t, dir, nil, "stats", "--prometheus"))
		if t.Failed() {
			out, _ := exec.Command(binary(t), "-C", dir, "events", "traced", "--json").CombinedOutput()
			t.Fatalf("%s", out)
		}
	}
}

// TestTraceWithoutCollector: a collector that is away, refuses, or never answers neither fails a run nor holds it for
// long, and the run says so.
func TestTraceWithoutCollector(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	for name, answer := range map[string]http.HandlerFunc{
		"away": nil, "refuses": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusForbidden)
		},
		"hangs": func(http.ResponseWriter, *http.Request) { <-hang },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			if answer == nil {
				server.Close()
			} else {
				t.Cleanup(server.Close)
			}
			if name == "hangs" {
				t.Cleanup(func() { close(hang) })
			}
			dir := tracedDir(t, "")
			out, err := traced(t, server.URL, dir, "run", "-q", "traced").CombinedOutput()
			if err != nil || !strings.Contains(string(out), "spans were not sent to "+server.URL) ||
				!strings.Contains(string(out), "metrics were not sent to "+server.URL) {
				t.Errorf("%v %s", err, out)
			}
		})
	}
}
