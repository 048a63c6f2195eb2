package terminal

import (
	"bytes"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
)

// TestCostSheet: everything that was asked counts, also what a stop ended before it answered.
func TestCostSheet(t *testing.T) {
	t.Parallel()
	used := func(more ...any) *value.Map {
		m := value.NewMap("duration_ms", int64(1000), "input_tokens", int64(10), "output_tokens", int64(1),
			"cost_usd", 0.25)
		for i := 0; i < len(more); i += 2 {
			m.Set(more[i].(string), more[i+1])
		}
		return m
	}
	with := func(kind string, m *value.Map) fsm.Event {
		e := fsm.Event{Kind: kind, Time: time.Unix(0, 0)}
		for _, k := range m.Keys() {
			v, _ := m.Get(k)
			e.Fields = append(e.Fields, fsm.Field{Key: k, Value: v})
		}
		return e
	}
	var s inspect.CostSheet
	for _, e := range []fsm.Event{
		with("state_enter", value.NewMap("state", "a")),
		with("action_killed", used("is_prompt", true, "coverage", "partial")),
		with("state_enter", value.NewMap("state", "a", "resumed", true)),
		with("action_complete", used("is_prompt", true)),
		with("note", value.NewMap("message", "the judge was ended before it answered", "judges", []any{used()})),
		with("evaluate", value.NewMap("verdict", "yes", "judges", []any{used(), used("cost_usd", nil, "model", "m")})),
		with("state_enter", value.NewMap("state", "b")),
		with("action_complete", value.NewMap("is_prompt", false, "duration_ms", int64(500))),
	} {
		s.Add(e)
	}
	var b bytes.Buffer
	if err := WriteCosts(&b, &s, "STATE"); err != nil {
		t.Fatal(err)
	}
	const want = `
  STATE  VISITS  PROMPTS  JUDGES  IN  OUT  CACHED      COST   TIME  SHARE
  a           1        2       3  50    5       0  >$1.0000   5.0s   100%
  b           1        0       0   0    0       0         -  500ms     0%
  total       2        2       3  50    5       0  >$1.0000   5.5s   100%
`
	if got := "\n" + b.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
