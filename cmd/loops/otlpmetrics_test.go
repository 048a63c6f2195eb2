package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// A sentPoint is the value of a series as a collector gets it.
type sentPoint struct {
	Attributes                      []sentAttr
	StartTimeUnixNano, TimeUnixNano string
	AsDouble, Sum                   float64
	Count                           string
	BucketCounts                    []string
	ExplicitBounds                  []float64
}

type sentAttr struct {
	Key   string
	Value struct{ StringValue, IntValue string }
}

type sentPoints struct {
	AggregationTemporality int
	IsMonotonic            bool
	DataPoints             []sentPoint
}

type sentMetrics struct {
	ResourceMetrics []struct {
		Resource     struct{ Attributes []sentAttr }
		ScopeMetrics []struct {
			Metrics []struct {
				Name, Unit            string
				Sum, Gauge, Histogram *sentPoints
			}
		}
	}
}

// takeMetrics takes a request with metrics: what is summed has one beginning, and never falls. The caller holds mu.
func (c *collector) takeMetrics(body []byte) error {
	var sent sentMetrics
	if err := json.Unmarshal(body, &sent); err != nil {
		return err
	}
	for _, rm := range sent.ResourceMetrics {
		instance := ""
		for _, a := range rm.Resource.Attributes {
			if a.Key == "service.instance.id" {
				instance = a.Value.StringValue
			}
		}
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				for _, kind := range []*sentPoints{m.Sum, m.Gauge, m.Histogram} {
					if kind == nil {
						continue
					}
					if kind != m.Gauge && kind.AggregationTemporality != 2 || kind == m.Sum && !kind.IsMonotonic {
						c.t.Errorf("%s is no sum since its beginning: %+v", m.Name, kind)
					}
					for _, p := range kind.DataPoints {
						c.addPoint(instance, m.Name, p, kind == m.Gauge)
					}
				}
			}
		}
	}
	return nil
}

func (c *collector) addPoint(instance, name string, p sentPoint, gauge bool) {
	var labels []string
	for _, a := range p.Attributes {
		labels = append(labels, fmt.Sprintf("%s=%q", a.Key, a.Value.StringValue))
	}
	key := instance + " " + name + "{" + strings.Join(labels, ",") + "}"
	was, again := c.points[key]
	switch {
	case instance == "" || p.TimeUnixNano == "" || (p.StartTimeUnixNano == "") != gauge ||
		p.StartTimeUnixNano > p.TimeUnixNano:
		c.t.Errorf("%s has %+v", key, p)
	case again && !gauge && (p.StartTimeUnixNano != was.StartTimeUnixNano || p.AsDouble < was.AsDouble ||
		p.Sum < was.Sum):
		c.t.Errorf("%s was %+v, and is %+v", key, was, p)
	}
	if p.Count != "" {
		total := 0
		for _, n := range p.BucketCounts {
			one, _ := strconv.Atoi(n)
			total += one
		}
		if strconv.Itoa(total) != p.Count || len(p.BucketCounts) != len(p.ExplicitBounds)+1 {
			c.t.Errorf("%s has buckets that do not fit: %+v", key, p)
		}
	}
	c.points[key] = p
}

// point returns what was sent of a series: its value, or how many values it has.
func (c *collector) point(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, there := c.points[key]
	switch {
	case !there:
		return ""
	case p.Count != "":
		return p.Count
	}
	return strconv.FormatFloat(p.AsDouble, 'f', -1, 64)
}

// counted checks that what was sent of a run is what its record has, as stats --prometheus counts it.
func (c *collector) counted(run, loop, prometheus string) {
	c.t.Helper()
	n := 0
	for line := range strings.Lines(prometheus) {
		series, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "} ")
		name, labels, _ := strings.Cut(series, "{")
		name = strings.TrimSuffix(name, "_count")
		if !strings.Contains(labels, `loop="`+loop+`"`) || strings.HasSuffix(name, "_bucket") ||
			strings.HasSuffix(name, "_sum") {
			continue
		}
		n++
		if got := c.point(run + " " + name + "{" + labels + "}"); got != value {
			c.t.Errorf("%s{%s} is %s on record, and was sent as %q", name, labels, value, got)
		}
	}
	if n < 4 {
		c.t.Errorf("only %d metrics of %s:\n%s", n, loop, prometheus)
	}
}

// TestMetricsSent: the metrics of a run are sent when its process ends, and at an interval before that.
func TestMetricsSent(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	dir := tracedDir(t, "")
	if out, err := traced(t, c.url, dir, "run", "-q", "traced").CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v %s", err, out)
	}
	c.counted(runOf(c.whole()), "traced", loopsIn(t, dir, nil, "stats", "--prometheus"))

	writeText(t, filepath.Join(dir, ".loops/stuck.yaml"),
		"name: stuck\ndescription: waits\ninitial: a\nstates:\n  a: {action: \"true\", next: b}\n"+
			"  b: {action: 'exec sleep 60', next: done}\n  done: {terminal: true}\n")
	cmd := traced(t, c.url, dir, "run", "-q", "stuck")
	cmd.Env = append(cmd.Env, "OTEL_METRIC_EXPORT_INTERVAL=50")
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() })
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	testenv.Wait(t, "the metrics of a run that is running", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for key, p := range c.points {
			if strings.HasSuffix(key, ` loops_steps_total{project="shop",loop="stuck"}`) {
				return p.AsDouble == 2
			}
		}
		return false
	})
}

// TestCollectorOfTracesAlone: a collector that takes no metrics is no problem, and one that takes no traces
// neither when they are off.
func TestCollectorOfTracesAlone(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/metrics" {
			http.NotFound(w, r)
			return
		}
		c.take(w, r)
	}))
	t.Cleanup(server.Close)
	dir := tracedDir(t, "")
	if out, err := traced(t, server.URL, dir, "run", "-q", "small").CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v %s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".loops/logs/traces/*")); len(left) > 0 {
		t.Errorf("all was sent, and there is %q", left)
	}
}

// TestPushedByServe: a server sends what no run knows, and what a killed process did not send of its run.
func TestPushedByServe(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	dir := tracedDir(t, "telemetry: {endpoint: '"+c.url+"'}\n")
	writeText(t, filepath.Join(dir, ".loops/stuck.yaml"),
		"name: stuck\ndescription: waits\ninitial: a\nstates:\n  a: {action: 'echo $$ > begun; exec sleep 60', "+
			"next: done}\n  done: {terminal: true}\n")
	run := exec.Command(binary(t), "-C", dir, "run", "-q", "stuck")
	must(t, run.Start())
	begun := filepath.Join(dir, "begun")
	testenv.Wait(t, begun, func() bool { info, err := os.Stat(begun); return err == nil && info.Size() > 0 })
	must(t, run.Process.Kill())
	_ = run.Wait()
	startServe(t, dir)
	var id string
	testenv.Wait(t, "the trace of a killed run", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.spans {
			if s.Name == "stuck" {
				id = s.attr("loops.run.id")
			}
		}
		return id != ""
	})
	testenv.Wait(t, "its metrics", func() bool {
		return c.point(id+` loops_runs_started_total{project="shop",loop="stuck"}`) == "1"
	})
	testenv.Wait(t, "those of the server", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		queue, store := false, false
		for key := range c.points {
			queue = queue || strings.HasSuffix(key, ` loops_queue_length{project="shop"}`)
			store = store || strings.HasSuffix(key, ` loops_store_seconds{project="shop"}`)
		}
		return queue && store
	})
}
