package cli

import (
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

func TestOverrides(t *testing.T) {
	file := &fsm.Loop{MaxSteps: 50, MaxIterations: 4, Backoff: time.Second, LLM: fsm.LLM{Enabled: true}}
	for _, c := range []struct {
		name          string
		flags         overrides
		recorded      *value.Map
		steps, passes int
		backoff       time.Duration
		keep          string
	}{
		{"none", overrides{}, nil, 50, 4, time.Second, "null"},
		{"steps", overrides{maxSteps: 3}, nil, 3, 4, time.Second, `{"max_steps": 3}`},
		{"all", overrides{maxSteps: 3, maxIterations: 2, delay: 0.25, delaySet: true}, nil, 3, 2, 250 * time.Millisecond, `{"max_steps": 3, "max_iterations": 2, "delay": 0.25}`},
		{"no delay", overrides{delaySet: true}, nil, 50, 4, 0, `{"delay": 0.0}`},
		{"recorded", overrides{}, value.NewMap("max_steps", int64(9), "delay", 2.0), 9, 4, 2 * time.Second, `{"max_steps": 9, "delay": 2.0}`},
		{"recorded as whole number", overrides{}, value.NewMap("delay", int64(2)), 50, 4, 2 * time.Second, `{"delay": 2.0}`},
		{"flags win", overrides{maxSteps: 11, delaySet: true}, value.NewMap("max_steps", int64(9), "delay", 2.0), 11, 4, 0, `{"max_steps": 11, "delay": 0.0}`},
		{"durability", overrides{durability: "grouped"}, nil, 50, 4, time.Second, `{"durability": "grouped"}`},
		{"recorded durability", overrides{}, value.NewMap("durability", "none"), 50, 4, time.Second, `{"durability": "none"}`},
		{"another durability", overrides{durability: "strict"}, value.NewMap("durability", "none"), 50, 4, time.Second, `{"durability": "strict"}`},
		{"agents", overrides{agents: agentFlags{host: "codex", permissions: "host"}}, value.NewMap("host", "claude", "model", "m"), 50, 4, time.Second, `{"host": "codex", "model": "m", "permissions": "host"}`},
		{"no judge", overrides{agents: agentFlags{noLLM: true}}, nil, 50, 4, time.Second, `{"no_llm": true}`},
		{"recorded no judge", overrides{}, value.NewMap("no_llm", true), 50, 4, time.Second, `{"no_llm": true}`},
		{"damaged record", overrides{}, value.NewMap("max_steps", "nine", "delay", int64(-3), "max_iterations", nil, "durability", 3.0), 50, 4, time.Second, "null"},
	} {
		l, keep := c.flags.over(c.recorded).apply(file)
		if l.MaxSteps != c.steps || l.MaxIterations != c.passes || l.Backoff != c.backoff {
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
