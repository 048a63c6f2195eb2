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

// metricsAt waits until a worker says where its metrics are, and returns that address.
func (w *workerProcess) metricsAt() (address string) {
	w.f.t.Helper()
	w.f.until("the worker says where its metrics are", func() bool {
		text, _ := os.ReadFile(w.log)
		_, rest, found := strings.Cut(string(text), "Metrics are at ")
		address, _, _ = strings.Cut(rest, ".\n")
		return found
	})
	return address
}

// scrape asks for metrics with a token; "" = without one.
func scrape(t *testing.T, address, token string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, http.NoBody)
	must(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return (&webServer{t: t}).do(&http.Client{Timeout: testenv.Patience}, r)
}

// TestWorkerMetrics: each of two workers counts what it carried: one that is killed and one that continues its
// run count together what is on record.
func TestWorkerMetrics(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	f := newFleet(t, workerLease)
	f.env = append(f.env, "METRICS_TOKEN=sesame", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url,
		"OTEL_METRIC_EXPORT_INTERVAL=50")
	f.write(".loops/held.yaml", `name: held
description: is held once
initial: a
states:
  a: {action: 'echo held >> held.txt; until [ -e one ]; do sleep 0.02; done', next: b}
  b: {action: 'until [ -e two ]; do sleep 0.02; done', next: c}
  c: {action: "true", next: done}
  done: {terminal: true}
`)
	one := f.worker("--metrics", "127.0.0.1:0")
	at := one.metricsAt()
	if status, text := scrape(t, at, "sesame"); status != http.StatusNotFound ||
		!strings.Contains(text, "serve.metrics") {
		t.Errorf("metrics are not off: %d %s", status, text)
	}
	f.write(".loops/config.yaml", "serve: {metrics: true, metrics_token: {env: METRICS_TOKEN}}\n")
	if status, text := scrape(t, at, ""); status != http.StatusUnauthorized || strings.Contains(text, "# TYPE") {
		t.Errorf("without a token: %d %s", status, text)
	}
	f.write(".loops/by-hand.yaml", state("by-hand", "    action: echo here"))
	f.loops("run", "-q", "by-hand") // it is no run of the worker
	id := f.submit("held", "--no-lock")
	f.until("the run is held", func() bool { return len(f.lines("held.txt")) > 0 })
	f.submit("held", "--no-lock") // it waits for a slot
	project := filepath.Base(f.dir)
	has := func(address string, lines ...string) func() bool {
		return func() bool {
			_, text := scrape(t, address, "sesame")
			for _, line := range lines {
				if !strings.Contains(text, line+"\n") {
					return false
				}
			}
			return true
		}
	}
	series := func(name, labels string, n int) string {
		return fmt.Sprintf("%s{project=%q%s} %d", name, project, labels, n)
	}
	f.until("the metrics of the first worker are right", has(at,
		series("loops_runs_started_total", `,loop="held"`, 1), series("loops_steps_total", `,loop="held"`, 1),
		series("loops_queue_length", `,queue="default"`, 1),
		series("loops_runs_live", `,status="running"`, 1)))
	if _, text := scrape(t, at, "sesame"); strings.Contains(text, "by-hand") {
		t.Errorf("a run of another process is counted:\n%s", text)
	}
	if text := f.loops("stats", "--prometheus"); !strings.Contains(text,
		series("loops_queue_length", `,queue="default"`, 1)) ||
		!strings.Contains(text, series("loops_queue_length", "", 0)) {
		t.Errorf("stats does not count the queues:\n%s", text)
	}
	two := f.worker("--metrics", "127.0.0.1:0")
	f.until("the second worker has the second run", func() bool { return len(f.lines("held.txt")) > 1 })
	f.write("one", "") // both runs take a step while both workers look
	f.until("the first worker counts the step", has(at, series("loops_steps_total", `,loop="held"`, 2)))
	one.kill()
	f.write("two", "")
	f.until("the runs have ended", func() bool { return f.status(id) == "completed" })
	f.until("the metrics of the second worker are right", has(two.metricsAt(),
		series("loops_runs_ended_total", `,loop="held",outcome="completed"`, 2),
		series("loops_runs_started_total", `,loop="held"`, 1),
		series("loops_runs_resumed_total", `,loop="held"`, 1), series("loops_steps_total", `,loop="held"`, 1+3),
		series("loops_queue_length", `,queue="default"`, 0)))
	f.until("a worker has sent its own", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for key := range c.points {
			if strings.HasSuffix(key, fmt.Sprintf(` loops_queue_length{project=%q,queue="default"}`, project)) {
				return true
			}
		}
		return false
	})
	f.until("the process of the run has sent those of the run", func() bool {
		return c.point(id+fmt.Sprintf(` loops_runs_ended_total{project=%q,loop="held",outcome="completed"}`,
			project)) == "1"
	})
}
