package cli

import (
	"strings"
	"testing"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
)

func TestOverrides(t *testing.T) {
	file := &fsm.Loop{MaxSteps: 50, MaxIterations: 4, Backoff: time.Second, LLM: fsm.LLM{Enabled: true}}
	for _, c := range []struct {
		name             string
		flags            project.Overrides
		recorded         *value.Map
		StepText, passes int
		backoff          time.Duration
		keep             string
	}{
		{"none", project.Overrides{}, nil, 50, 4, time.Second, "null"},
		{"steps", project.Overrides{MaxSteps: 3}, nil, 3, 4, time.Second, `{"max_steps": 3}`},
		{
			"all",
			project.Overrides{MaxSteps: 3, MaxIterations: 2, Delay: 0.25, DelaySet: true},
			nil, 3, 2,
			250 * time.Millisecond, `{"max_steps": 3, "max_iterations": 2, "delay": 0.25}`,
		},
		{"no delay", project.Overrides{DelaySet: true}, nil, 50, 4, 0, `{"delay": 0.0}`},
		{
			"recorded",
			project.Overrides{},
			value.NewMap("max_steps", int64(9), "delay", 2.0), 9, 4, 2 * time.Second,
			`{"max_steps": 9, "delay": 2.0}`,
		},
		{
			"recorded as whole number",
			project.Overrides{},
			value.NewMap("delay", int64(2)), 50, 4, 2 * time.Second,
			`{"delay": 2.0}`,
		},
		{
			"flags win",
			project.Overrides{MaxSteps: 11, DelaySet: true},
			value.NewMap("max_steps", int64(9), "delay", 2.0), 11, 4, 0, `{"max_steps": 11, "delay": 0.0}`,
		},
		{"durability", project.Overrides{Durability: "grouped"}, nil, 50, 4, time.Second, `{"durability": "grouped"}`},
		{
			"recorded durability",
			project.Overrides{},
			value.NewMap("durability", "none"), 50, 4, time.Second,
			`{"durability": "none"}`,
		},
		{
			"another durability",
			project.Overrides{Durability: "strict"},
			value.NewMap("durability", "none"), 50, 4,
			time.Second, `{"durability": "strict"}`,
		},
		{
			"agents",
			project.Overrides{Agents: project.Agents{Host: "codex", Permissions: "host"}},
			value.NewMap("host", "claude", "model", "m"), 50, 4, time.Second,
			`{"host": "codex", "model": "m", "permissions": "host"}`,
		},
		{
			"no judge",
			project.Overrides{Agents: project.Agents{NoLLM: true}},
			nil, 50, 4, time.Second,
			`{"no_llm": true}`,
		},
		{
			"recorded no judge",
			project.Overrides{},
			value.NewMap("no_llm", true), 50, 4, time.Second,
			`{"no_llm": true}`,
		},
		{
			"damaged record",
			project.Overrides{},
			value.NewMap("max_steps", "nine", "delay", int64(-3), "max_iterations", nil, "durability", 3.0), 50, 4,
			time.Second, "null",
		},
	} {
		l, keep := c.flags.Over(c.recorded).Apply(file)
		if l.MaxSteps != c.StepText || l.MaxIterations != c.passes || l.Backoff != c.backoff {
			t.Errorf("%s: steps %d, passes %d, backoff %v", c.name, l.MaxSteps, l.MaxIterations, l.Backoff)
		}
		if judged := !strings.Contains(c.keep, "no_llm"); l.LLM.Enabled != judged {
			t.Errorf("%s: judges are enabled: %v", c.name, l.LLM.Enabled)
		}
		got := "null"
		if keep != nil {
			got = string(value.AppendJSON(nil, keep))
		}
		if got != c.keep {
			t.Errorf("%s: recorded %s, want %s", c.name, got, c.keep)
		}
	}
	if !file.LLM.Enabled || file.MaxSteps != 50 || file.Backoff != time.Second {
		t.Error("the definition itself was changed")
	}
}
