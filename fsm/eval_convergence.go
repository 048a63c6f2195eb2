package fsm

import (
	"math"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// judgeConvergence asks whether a number has reached its target, or at least moves the right way.
func judgeConvergence(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	target, err := numericTarget(cfg.Target, ev.Scope)
	if err != nil {
		if _, tmpl := cfg.Target.(string); tmpl {
			return errorVerdict("error", "Cannot resolve target: "+err.Error()), nil
		}
		return Verdict{}, err
	}
	current, ok := value.ParseFloat(value.TrimSpace(ev.Output))
	if !ok {
		return errorVerdict("error", "Cannot parse output as number: "+value.Truncate(ev.Output, 100)), nil
	}
	tolerance, err := numericTarget(cfg.Tolerance, ev.Scope)
	if err != nil {
		tolerance = 0
	}
	if math.Abs(current-target) <= tolerance {
		return verdict("target", "current", current, "target", target, "delta", int64(0)), nil
	}
	previous, known := 0.0, false
	if cfg.HasPrevious {
		if text, err := expr.Expand(cfg.Previous, ev.Scope); err == nil {
			previous, known = value.ParseFloat(text)
		}
	}
	if !known {
		return verdict("progress", "current", current, "previous", nil, "target", target, "delta", nil), nil
	}
	delta := current - previous
	name := "stall"
	if cfg.Direction == "minimize" && delta < 0 || cfg.Direction != "minimize" && delta > 0 {
		name = "progress"
	}
	return verdict(name, "current", current, "previous", previous, "target", target, "delta", delta,
		"direction", cfg.Direction), nil
}
