package telemetry

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"loops/fsm"
	"loops/internal/inspect"
)

// A Meter has the values of metrics. The zero Meter has none. It may be used by several goroutines at once.
type Meter struct {
	mu  sync.Mutex
	all map[string]map[string]*series // guarded by mu; by metric and labels
}

// A series is one metric with one set of labels.
type series struct {
	attrs   []Attr  // its labels
	value   float64 // of a histogram the sum
	count   uint64
	buckets []uint64 // of a histogram, a number for each of bounds
}

// at returns a series, which is made if there is none. The caller holds mu.
func (m *Meter) at(name string, labels []string) *series {
	if m.all == nil {
		m.all = map[string]map[string]*series{}
	}
	if m.all[name] == nil {
		m.all[name] = map[string]*series{}
	}
	var b strings.Builder
	for i := 0; i+1 < len(labels); i += 2 {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(labels[i] + `="` + labelText.Replace(labels[i+1]) + `"`)
	}
	s := m.all[name][b.String()]
	if s == nil {
		s = &series{}
		for i := 0; i+1 < len(labels); i += 2 {
			s.attrs = append(s.attrs, Attr{labels[i], labels[i+1]})
		}
		m.all[name][b.String()] = s
	}
	return s
}

// labelText escapes the value of a label.
var labelText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Add adds to a counter. labels are names, each with its value.
func (m *Meter) Add(name string, n float64, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at(name, labels).value += n
}

// Observe adds a value to a histogram.
func (m *Meter) Observe(name string, v float64, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.at(name, labels)
	if s.buckets == nil {
		s.buckets = make([]uint64, len(bounds))
	}
	s.value, s.count = s.value+v, s.count+1
	for i, most := range bounds {
		if v <= most {
			s.buckets[i]++
		}
	}
}

// Set sets a gauge for one project to these values, by the value of its one label ("" = it has none), and removes those
// that are not among them.
func (m *Meter) Set(name, project, label string, values map[string]float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	prefix := `project="` + labelText.Replace(project) + `"`
	maps.DeleteFunc(m.all[name], func(labels string, _ *series) bool {
		return labels == prefix || strings.HasPrefix(labels, prefix+",")
	})
	for of, v := range values {
		labels := []string{"project", project}
		if of != "" {
			labels = append(labels, label, of)
		}
		m.at(name, labels).value = v
	}
}

// empty reports whether there is no value.
func (m *Meter) empty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.all) == 0
}

// Write writes all metrics of some meters in the text format of Prometheus.
func Write(w io.Writer, meters ...*Meter) error {
	var b bytes.Buffer
	for _, metric := range Metrics {
		b.WriteString("# HELP " + metric.Name + " " + metric.Help + "\n# TYPE " + metric.Name + " " +
			string(metric.Kind) + "\n")
		for _, m := range meters {
			m.write(&b, metric)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// write writes the series of one metric, sorted.
func (m *Meter) write(b *bytes.Buffer, metric Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	line := func(name, labels string, v float64) {
		b.WriteString(name + "{" + labels + "} " + number(v) + "\n")
	}
	for _, labels := range slices.Sorted(maps.Keys(m.all[metric.Name])) {
		s := m.all[metric.Name][labels]
		if metric.Kind != Histogram {
			line(metric.Name, labels, s.value)
			continue
		}
		for i, most := range bounds {
			line(metric.Name+"_bucket", labels+`,le="`+number(most)+`"`, float64(s.buckets[i]))
		}
		line(metric.Name+"_bucket", labels+`,le="+Inf"`, float64(s.count))
		line(metric.Name+"_sum", labels, s.value)
		line(metric.Name+"_count", labels, float64(s.count))
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// A tally counts the events of one run.
type tally struct {
	meter         *Meter
	project, loop string
	sheet         inspect.CostSheet
	begun, ended  bool
	count         bool // what is added counts; false = it was counted before
}

func newTally(m *Meter, project, loop string, prices func(string, fsm.Usage) (float64, bool)) *tally {
	t := &tally{meter: m, project: project, loop: loop}
	t.sheet.Prices, t.sheet.Each = prices, t.used
	return t
}

// add adds to a counter of the loop.
func (t *tally) add(name string, n float64, labels ...string) {
	if t.count && n != 0 {
		t.meter.Add(name, n, append([]string{"project", t.project, "loop", t.loop}, labels...)...)
	}
}

// used counts a prompt or a judge.
func (t *tally) used(u inspect.Use) {
	t.add(Tokens, float64(u.Input), "model", u.Model, "type", "input")
	t.add(Tokens, float64(u.Output), "model", u.Model, "type", "output")
	t.add(Tokens, float64(u.CacheRead), "model", u.Model, "type", "cache_read")
	t.add(Tokens, float64(u.CacheWrite), "model", u.Model, "type", "cache_write")
	t.add(CostUSD, u.CostUSD, "model", u.Model)
}

// retryWhy are the events that an action is tried again, and what the label says.
var retryWhy = map[string]string{
	fsm.EventActionRetry: "retry", fsm.EventAPIErrorRetry: "api_error", fsm.EventInfraRetry: "infra",
	fsm.EventFailover: "failover",
}

// event takes the next event of the run.
func (t *tally) event(e fsm.Event) {
	t.sheet.Add(e)
	t.counted(e)
}

// counted counts what an event says beside costs.
func (t *tally) counted(e fsm.Event) {
	switch e.Kind {
	case fsm.EventLoopStart, fsm.EventLoopResume, fsm.EventLoopComplete:
		if e.Depth == 0 {
			t.segment(e)
		}
	case fsm.EventStateEnter:
		if again, _ := e.Get("resumed").(bool); !again {
			t.add(Steps, 1)
		}
	case fsm.EventActionComplete:
		kind := "action"
		if prompt, _ := e.Get("is_prompt").(bool); prompt {
			kind = "prompt"
		}
		t.took(kind, e)
	case fsm.EventItemEnd:
		if e.Get("exit_code") != nil { // an item with states has actions of its own
			t.took("item", e)
		}
	case fsm.EventNote:
		if why := inspect.Text(e.Get("wait")); why != "" && why != fsm.WaitBackoff {
			t.add(Waits, 1, "why", waitWhy(e, why))
		}
	default:
		if why := retryWhy[e.Kind]; why != "" {
			t.add(Retries, 1, "why", why)
		}
	}
}

// waitWhy returns what a wait is for: a question has an address.
func waitWhy(e fsm.Event, why string) string {
	if e.Get("address") != nil && e.Get("choices") != nil {
		return "ask"
	}
	return why
}

// segment takes the beginning or the end of a part of the run that one process carried.
func (t *tally) segment(e fsm.Event) {
	switch e.Kind {
	case fsm.EventLoopStart:
		t.add(RunsStarted, 1)
	case fsm.EventLoopResume:
		t.add(RunsResumed, 1)
		if t.begun && !t.ended {
			t.add(LeasesLost, 1)
		}
	case fsm.EventLoopComplete:
		t.add(RunsEnded, 1, "outcome", outcomeOf(e))
	}
	t.begun, t.ended = true, e.Kind == fsm.EventLoopComplete
}

// outcomeOf returns how a run ended, in the words of notifications.
func outcomeOf(e fsm.Event) string {
	failure, _ := e.Get("failure_terminal").(bool)
	return inspect.EndKind(fsm.Outcome{
		TerminatedBy: inspect.Text(e.Get("terminated_by")), Failure: failure,
		Merge: inspect.Text(e.Get("merge")),
	})
}

// took adds the time of an action.
func (t *tally) took(kind string, e fsm.Event) {
	if ms, ok := inspect.Number(e.Get("duration_ms")); ok && t.count {
		t.meter.Observe(ActionSeconds, ms/1000, "project", t.project, "loop", t.loop, "kind", kind)
	}
}
