package fsm

import "math"

// judgeConvergence asks whether a number has reached its target, or at least moves the right way.
func judgeConvergence(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	target, err := numericTarget(cfg.Target, ev.Scope)
	if err != nil {
		if _, template := cfg.Target.(string); template {
			return errorVerdict("error", "Cannot resolve target: "+err.Error()), nil
		}
		return Verdict{}, err
	}
	current, ok := ParseFloat(trimSpace(ev.Output))
	if !ok {
		return errorVerdict("error", "Cannot parse output as number: "+firstRunes(ev.Output, 100)), nil
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
		if text, err := Expand(cfg.Previous, ev.Scope); err == nil {
			previous, known = ParseFloat(text)
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
