package telemetry

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/persistence"
)

// spansOf returns the spans of a run with these events, a second each.
func spansOf(content bool, events ...fsm.Event) (all []Span) {
	t := NewTracer(persistence.Run{ID: "x-20261130T100000", Loop: "x"}, func(s *Span) { all = append(all, *s) })
	t.Content = content
	for i, e := range events {
		e.Seq, e.Time = uint64(i+1), time.Unix(1000+int64(i), 0)
		t.Add(e)
	}
	return all
}

func named(t *testing.T, all []Span, name string) (found []Span) {
	t.Helper()
	for _, s := range all {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if found == nil {
		t.Fatalf("there is no span %s: %+v", name, all)
	}
	return found
}

func attr(s Span, key string) any {
	for _, a := range s.Attrs {
		if a.Key == key {
			return a.Value
		}
	}
	return nil
}

func promptEvents() []fsm.Event {
	enter := []fsm.Field{{Key: "state", Value: "a"}, {Key: "iteration", Value: int64(1)}}
	return []fsm.Event{
		event(fsm.EventLoopStart), event(fsm.EventStateEnter, enter...),
		event(fsm.EventActionStart, fsm.Field{Key: "action", Value: "mend it"},
			fsm.Field{Key: "is_prompt", Value: true}),
		event(fsm.EventLoopResume),
		event(fsm.EventStateEnter, append(enter, fsm.Field{Key: "resumed", Value: true})...),
		event(fsm.EventActionStart, fsm.Field{Key: "action", Value: "mend it"},
			fsm.Field{Key: "is_prompt", Value: true}),
		event(fsm.EventActionComplete, fsm.Field{Key: "exit_code", Value: int64(0)},
			fsm.Field{Key: "is_prompt", Value: true}, fsm.Field{Key: "host", Value: "claude"},
			fsm.Field{Key: "model", Value: "m"}, fsm.Field{Key: "input_tokens", Value: int64(7)},
			fsm.Field{Key: "output_preview", Value: "done"}),
		event(fsm.EventEvaluate, fsm.Field{Key: "verdict", Value: "yes"},
			fsm.Field{
				Key:   "judges",
				Value: []any{value.NewMap("evaluator", "llm", "duration_ms", int64(500), "model", "j")},
			}),
		event(fsm.EventRoute, fsm.Field{Key: "to", Value: "done"}),
		event(fsm.EventLoopComplete, fsm.Field{Key: "terminated_by", Value: "terminal"}),
	}
}

// TestSpansOfKilledRun: each process has a span at the top, the later one with a link to the earlier, and a
// step that was cut short has one span with two attempts.
func TestSpansOfKilledRun(t *testing.T) {
	t.Parallel()
	all := spansOf(true, promptEvents()...)
	roots, steps, prompts := named(t, all, "x"), named(t, all, "a"), named(t, all, "prompt")
	if len(roots) != 2 || roots[0].Failed == "" || roots[1].Failed != "" || len(roots[1].Links) != 1 ||
		roots[1].Links[0].Span != roots[0].ID || roots[0].ID == roots[1].ID {
		t.Errorf("roots: %+v", roots)
	}
	if len(steps) != 1 || steps[0].Parent != roots[0].ID || len(prompts) != 2 || prompts[0].Failed == "" ||
		prompts[1].Failed != "" || prompts[1].Parent != steps[0].ID {
		t.Errorf("steps: %+v, prompts: %+v", steps, prompts)
	}
	last := prompts[1]
	for key, want := range map[string]any{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "m",
		"gen_ai.usage.input_tokens": int64(7),
		"gen_ai.input.messages":     `[{"role":"user","parts":[{"type":"text","content":"mend it"}]}]`,
		"gen_ai.output.messages":    `[{"role":"assistant","parts":[{"type":"text","content":"done"}]}]`,
	} {
		if got := attr(last, key); got != want {
			t.Errorf("%s is %v, not %v", key, got, want)
		}
	}
	if j := named(t, all, "judge")[0]; j.End.Sub(j.Begin) != 500*time.Millisecond ||
		attr(j, "gen_ai.request.model") != "j" {
		t.Errorf("judge: %+v", j)
	}
	if attr(last, "error.type") != nil {
		t.Errorf("a prompt that did not fail has %v", last.Attrs)
	}
	events := promptEvents()
	events[6].Fields[0].Value = int64(1)
	if failed := named(t, spansOf(false, events...), "prompt")[1]; attr(failed, "error.type") != "_OTHER" {
		t.Errorf("a prompt that failed has %v", failed.Attrs)
	}
	for _, s := range spansOf(false, promptEvents()...) {
		for _, a := range s.Attrs {
			if strings.HasSuffix(a.Key, ".messages") {
				t.Errorf("%s is sent without capture_content", a.Key)
			}
		}
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	s := Settings{Service: "loops", Resource: []Attr{{"deployment.environment", "ci"}}}
	var spans [][]byte
	for _, one := range spansOf(false, promptEvents()...) {
		spans = append(spans, appendSpan(nil, &one))
	}
	body := s.body(spans)
	if !json.Valid(body) {
		t.Fatalf("%s", body)
	}
	for _, want := range []string{
		`{"key":"service.name","value":{"stringValue":"loops"}}`,
		`{"key":"gen_ai.usage.input_tokens","value":{"intValue":"7"}}`, `"kind":3`,
		`"startTimeUnixNano":"1000000000000"`, `"status":{"code":2,"message":"its process was gone"}`,
		`{"key":"loops.resumed","value":{"boolValue":false}}`,
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("missing: %s\n%s", want, body)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	of := func(c config.Telemetry, env map[string]string) Settings {
		return SettingsOf(c, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	}
	if s := of(config.Telemetry{}, nil); s.Traces.URL != "" || s.Metrics.URL != "" {
		t.Errorf("it is sent to %+v", s)
	}
	at := config.Telemetry{Endpoint: "http://c:1/", Content: "true"}
	if s := of(at, nil); s.Traces.URL != "http://c:1/v1/traces" || s.Metrics.URL != "http://c:1/v1/metrics" ||
		!s.Content || s.Service != "loops" || s.Traces.Timeout != 10*time.Second || s.Interval != time.Minute {
		t.Errorf("%+v", s)
	}
	for _, off := range []map[string]string{
		{"OTEL_SDK_DISABLED": "true"},
		{"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "c:4318"},
	} {
		if s := of(at, off); s.Traces.URL != "" || s.Metrics.URL != "" {
			t.Errorf("with %v it is sent to %+v", off, s)
		}
	}
	if s := of(at, map[string]string{
		"OTEL_METRICS_EXPORTER":       "none",
		"OTEL_METRIC_EXPORT_INTERVAL": "500",
	}); s.Traces.URL == "" || s.Metrics.URL != "" ||
		s.Interval != 500*time.Millisecond {
		t.Errorf("without metrics: %+v", s)
	}
	s := of(at, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://d:2", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x, a=b",
		"OTEL_EXPORTER_OTLP_TIMEOUT": "250",
		"OTEL_RESOURCE_ATTRIBUTES":   "service.name=y,team=z", "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "c=d",
	})
	if s.Traces.URL != "http://d:2/v1/traces" || len(s.Traces.Headers) != 2 ||
		s.Traces.Headers[0] != [2]string{"authorization", "Bearer x"} || s.Traces.Timeout != 250*time.Millisecond ||
		s.Service != "y" || len(s.Resource) != 1 {
		t.Errorf("%+v", s)
	}
	if s.Metrics.URL != "http://d:2/v1/metrics" || len(s.Metrics.Headers) != 1 ||
		s.Metrics.Headers[0] != [2]string{"c", "d"} {
		t.Errorf("%+v", s.Metrics)
	}
	if s := of(at, map[string]string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://e:3/in",
		"OTEL_SERVICE_NAME":                  "q",
	}); s.Traces.URL != "http://e:3/in" || s.Metrics.URL != "http://c:1/v1/metrics" ||
		s.Service != "q" {
		t.Errorf("%+v", s)
	}
}

// A run in a repository, whose first event names the branch of git, had no spans.
func TestSpansOfARunInARepository(t *testing.T) {
	t.Parallel()
	all := promptEvents()
	all[0].Fields = append(all[0].Fields, fsm.Field{Key: "branch", Value: "main"})
	if roots := named(t, spansOf(false, all...), "x"); len(roots) != 2 {
		t.Errorf("roots: %+v", roots)
	}
}
