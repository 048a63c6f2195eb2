package view

import (
	"fmt"
	"strings"

	"loops/internal/inspect"

	"loops/fsm/value"
	"loops/internal/humanize"
)

// ShownPairs is how many steps around each difference diff shows.
const ShownPairs = 2

// OrEmpty returns an object, an empty one for nil.
func OrEmpty(m *value.Map) *value.Map {
	if m == nil {
		return new(value.Map)
	}
	return m
}

// Steady leaves out of captures what is another in every run: how long it took, and where its output is.
func Steady(captured *value.Map) *value.Map {
	out := new(value.Map)
	for _, name := range OrEmpty(captured).Keys() {
		v, _ := captured.Get(name)
		if rec, ok := v.(*value.Map); ok {
			kept := new(value.Map)
			for _, k := range rec.Keys() {
				if k != "duration_ms" && k != "file" {
					field, _ := rec.Get(k)
					kept.Set(k, field)
				}
			}
			v = kept
		}
		out.Set(name, v)
	}
	return out
}

// Came is what a step came to.
func Came(s *inspect.AlignedStep) string {
	var parts []string
	if s.Exited {
		parts = append(parts, fmt.Sprintf("exit code %d", s.Exit))
	}
	if s.Verdict != "" {
		parts = append(parts, humanize.PlainLine(s.Verdict))
	}
	if s.To != "" {
		parts = append(parts, "-> "+humanize.PlainLine(s.To))
	}
	return humanize.Dash(strings.Join(parts, ", "))
}

// Mark is the sign in front of a pair of steps.
func Mark(p inspect.StepPair) string {
	switch {
	case p.B == inspect.NoStep:
		return "<"
	case p.A == inspect.NoStep:
		return ">"
	case p.Same:
		return "="
	}
	return "!"
}
