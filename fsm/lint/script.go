package lint

import (
	"strings"

	"loops/fsm"
	"loops/fsm/pyregexp"
	"loops/fsm/value"
	"loops/internal/humanize"
)

var (
	writesFile = pyregexp.Lazy(`(?m)\b(echo|printf)\b[^\n]*>`)
	addsOne    = pyregexp.Lazy(`\+\s*1\s*\)\)|\+\+|\+=\s*1\b`)
	swallows   = pyregexp.Lazy(`\bexcept\s*\(?\s*(json\.)?(JSONDecodeError|ValueError|Exception)\b`)
	succeeds   = pyregexp.Lazy(`\b(sys\.)?exit\(0\)`)
)

// scriptRules look for habits in shell actions that hide what went wrong.
func (c *checker) scriptRules(s *fsm.State) {
	if !isShell(s) {
		return
	}
	c.counter(s)
	c.handmade(s)
	const tmp = ".loops/tmp/"
	for hits, from := 0, 0; hits < maxHits; hits++ {
		n := strings.Index(s.Action[from:], tmp)
		if n < 0 {
			break
		}
		at := from + n
		from = at + len(tmp)
		name := s.Action[from:]
		if end := strings.IndexAny(name, " \t\n\r\"';|&)<>`"); end >= 0 {
			name = name[:end]
		}
		if name != "" {
			c.warnf("shared-tmp", spot{at, []string{"states", s.Name, "action"}},
				"two runs of this loop would both use %s; write ${context.run_dir}/%s, which each run has for itself",
				humanize.Clip(tmp+name), humanize.Clip(name))
		}
	}
	if s.On["error"] == "" && (strings.Contains(s.Action, "json.load(") || strings.Contains(s.Action, "json.loads(")) {
		if at := swallows().FindStringIndex(s.Action); at != nil && succeeds().MatchString(s.Action) {
			c.warnf("swallowed-parse-error", spot{at[0], []string{"states", s.Name, "action"}},
				"JSON that cannot be read ends here with exit code 0, which looks like success, and the state has "+
					"no on_error; exit with 1, or add on_error")
		}
	}
}

// counter warns of a counter in a file that is past its limit at the first visit.
func (c *checker) counter(s *fsm.State) {
	ev := s.Evaluate
	if ev == nil || ev.Type != "output_numeric" || s.Next != "" {
		return
	}
	var target float64
	var more any
	switch t := ev.Target.(type) {
	case int64:
		target, more = float64(t), t+1
	case float64:
		target, more = t, t+1
	default:
		return
	}
	limit := ""
	switch {
	case ev.Operator == "lt" && 1 >= target:
		limit = "below"
	case ev.Operator == "le" && 1 > target:
		limit = "at most"
	default:
		return
	}
	if !addsOne().MatchString(s.Action) || !writesFile().MatchString(s.Action) {
		return
	}
	c.warnf("counter-target", valueAt("states", s.Name, "evaluate", "target"),
		"the counter is 1 at the first visit, and 1 is not %s %s, so not even one retry happens; write target: %s",
		limit, value.Text(ev.Target), value.Text(more))
}
