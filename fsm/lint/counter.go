package lint

import (
	"regexp"

	"loops/fsm"
)

var (
	writesFile = regexp.MustCompile(`(?m)\b(echo|printf)\b[^\n]*>`)
	addsOne    = regexp.MustCompile(`\+\s*1\s*\)\)|\+\+|\+=\s*1\b`)
)

// counter warns of a counter in a file that is past its limit at the first visit.
func (c *checker) counter(s *fsm.State) {
	ev := s.Evaluate
	if ev == nil || ev.Type != "output_numeric" || s.Next != "" || !isShell(s) {
		return
	}
	var target float64
	switch t := ev.Target.(type) {
	case int64:
		target = float64(t)
	case float64:
		target = t
	default:
		return
	}
	if !(ev.Operator == "lt" && 1 >= target || ev.Operator == "le" && 1 > target) {
		return
	}
	if !addsOne.MatchString(s.Action) || !writesFile.MatchString(s.Action) {
		return
	}
	c.warnf("counter-target", value("states", s.Name, "evaluate", "target"), "the counter is 1 at the first visit, and 1 is not %s %v, so not even one retry happens; write target: %v",
		map[string]string{"lt": "below", "le": "at most"}[ev.Operator], ev.Target, fsm.Str(addOne(ev.Target)))
}

func addOne(v any) any {
	if n, ok := v.(int64); ok {
		return n + 1
	}
	return v.(float64) + 1
}
