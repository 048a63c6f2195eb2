package telemetry

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"loops/fsm"
)

// tallied returns the metrics of a run with these events.
func tallied(t *testing.T, events ...fsm.Event) string {
	t.Helper()
	m := &Meter{}
	one := newTally(m, "shop", `a"b`, nil)
	one.count = true
	for i, e := range events {
		e.Seq, e.Time = uint64(i+1), time.Unix(1000+int64(i), 0)
		one.event(e)
	}
	var b bytes.Buffer
	if err := Write(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func event(kind string, fields ...fsm.Field) fsm.Event { return fsm.Event{Kind: kind, Fields: fields} }

func TestTally(t *testing.T) {
	t.Parallel()
	prompt := []fsm.Field{
		{Key: "is_prompt", Value: true},
		{Key: "duration_ms", Value: int64(1500)},
		{Key: "exit_code", Value: int64(0)},
		{Key: "model", Value: "m"},
		{Key: "input_tokens", Value: int64(10)},
		{Key: "output_tokens", Value: int64(4)},
		{Key: "cost_usd", Value: 0.25},
	}
	got := tallied(t, event(fsm.EventLoopStart),
		event(fsm.EventStateEnter, fsm.Field{Key: "state", Value: "a"}, fsm.Field{Key: "iteration", Value: int64(1)}),
		event(fsm.EventActionStart, fsm.Field{Key: "is_prompt", Value: true}),
		event(fsm.EventActionComplete, prompt...),
		event(fsm.EventAPIErrorRetry),
		event(fsm.EventNote, fsm.Field{Key: "wait", Value: "rate_limit"}),
		event(fsm.EventLoopResume),
		event(fsm.EventStateEnter, fsm.Field{Key: "state", Value: "a"}, fsm.Field{Key: "iteration", Value: int64(1)},
			fsm.Field{Key: "resumed", Value: true}),
		event(fsm.EventItemEnd, fsm.Field{Key: "exit_code", Value: int64(0)},
			fsm.Field{Key: "duration_ms", Value: int64(20)}),
		event(fsm.EventLoopComplete, fsm.Field{Key: "terminated_by", Value: "terminal"}),
		event(fsm.EventLoopResume),
	)
	const at = `{project="shop",loop="a\"b"`
	for _, want := range []string{
		RunsStarted + at + "} 1", RunsEnded + at + `,outcome="completed"} 1`, RunsResumed + at + "} 2",
		LeasesLost + at + "} 1", Steps + at + "} 1",
		ActionSeconds + `_bucket` + at + `,kind="prompt",le="1"} 0`, ActionSeconds + `_bucket` + at +
			`,kind="prompt",le="5"} 1`,
		ActionSeconds + `_sum` + at + `,kind="prompt"} 1.5`, ActionSeconds + `_count` + at + `,kind="item"} 1`,
		Retries + at + `,why="api_error"} 1`, Waits + at + `,why="rate_limit"} 1`,
		Tokens + at + `,model="m",type="input"} 10`, Tokens + at + `,model="m",type="output"} 4`,
		CostUSD + at + `,model="m"} 0.25`,
		"# TYPE " + ActionSeconds + " histogram", "# TYPE " + RunsLive + " gauge",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("missing: %s\n%s", want, got)
		}
	}
}

// TestSet: a gauge of one project does not touch that of another, and values that are over go.
func TestSet(t *testing.T) {
	t.Parallel()
	m := &Meter{}
	m.Set(RunsLive, "a", "status", map[string]float64{"running": 2, "paused": 1})
	m.Set(RunsLive, "b", "status", map[string]float64{"running": 3})
	m.Set(RunsLive, "a", "status", map[string]float64{"running": 1})
	var b bytes.Buffer
	if err := Write(&b, m); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Contains(got, `status="paused"`) ||
		!strings.Contains(got, `{project="a",status="running"} 1`) ||
		!strings.Contains(got, `{project="b",status="running"} 3`) {
		t.Error(got)
	}
}
