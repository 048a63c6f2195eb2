package cli

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
)

// A costSheet adds up what prompts and judges used, state by state, from the events of runs. A state of a sub-loop is
// named behind the states it ran inside: "fix > review". The zero costSheet is empty.
type costSheet struct {
	prices prices // for what was recorded without a cost; nil: such costs stay unknown
	lines  map[string]*costLine
	order  []string // of lines: as they came
	total  costLine
	visits inspect.Reader // of add

	resumed bool // the first event was not that of the run, but of a resume
}

// A costLine is what one state used, or all.
type costLine struct {
	Visits, Prompts, Judges              int
	Input, Output, CacheRead, CacheWrite int64
	CostUSD                              float64
	Unknown                              int // prompts and judges whose cost is not known
	Time                                 time.Duration
}

// add takes the next event of a run.
func (s *costSheet) add(e fsm.Event) { s.addTo(s.visits.Add(e), e) }

// addTo takes the next event of a run, and the visit it belongs to; nil = none.
func (s *costSheet) addTo(v *inspect.Visit, e fsm.Event) {
	switch e.Kind {
	case "loop_resume":
		s.resumed = s.resumed || v == nil
	case "state_enter":
		if again, _ := e.Get("resumed").(bool); !again && v.Resumed == 0 { // a resumed visit was counted
			s.count(v, func(l *costLine) { l.Visits++ })
		}
	case "action_complete", "action_killed": // the latter of a prompt that a stop ended
		took := time.Duration(whole(e.Get("duration_ms"))) * time.Millisecond
		if prompt, _ := e.Get("is_prompt").(bool); !prompt {
			s.count(v, func(l *costLine) { l.Time += took })
			return
		}
		s.used(v, e.Get, func(l *costLine) { l.Prompts++; l.Time += took })
	default:
		judges, _ := e.Get("judges").([]any)
		for _, j := range judges {
			if m, ok := j.(*value.Map); ok {
				get := func(key string) any { v, _ := m.Get(key); return v }
				took := time.Duration(whole(get("duration_ms"))) * time.Millisecond
				s.used(v, get, func(l *costLine) { l.Judges++; l.Time += took })
			}
		}
	}
}

// used counts one prompt or judge.
func (s *costSheet) used(v *inspect.Visit, get func(string) any, more func(*costLine)) {
	u := fsm.Usage{
		Input: whole(get("input_tokens")), Output: whole(get("output_tokens")),
		CacheRead: whole(get("cache_read_tokens")), CacheWrite: whole(get("cache_creation_tokens")),
	}
	usd, known := dollars(get("cost_usd"))
	failure := fsm.Failure(text(get("failure")))
	switch {
	case known:
	case u.Total() > 0 && s.prices != nil:
		usd, known = s.prices(text(get("model")), u)
	case u.Total() == 0: // nothing was used, if somebody says so
		known = text(get("coverage")) == fsm.CoverageComplete || failure == fsm.FailMissing || failure == fsm.FailAuth
	}
	s.count(v, func(l *costLine) {
		if failure != fsm.FailMissing { // that one was never sent
			more(l)
		}
		l.Input += u.Input
		l.Output += u.Output
		l.CacheRead += u.CacheRead
		l.CacheWrite += u.CacheWrite
		l.CostUSD += usd
		if !known {
			l.Unknown++
		}
	})
}

// count changes the line of the state of a visit, and the total.
func (s *costSheet) count(v *inspect.Visit, change func(*costLine)) {
	name := ""
	if v != nil {
		name = v.Path()
	}
	change(s.line(name))
	change(&s.total)
}

// line returns the line of that name.
func (s *costSheet) line(name string) *costLine {
	if s.lines == nil {
		s.lines = map[string]*costLine{}
	}
	l := s.lines[name]
	if l == nil {
		l = &costLine{}
		s.lines[name] = l
		s.order = append(s.order, name)
	}
	return l
}

// asked says whether anything was asked of an agent.
func (s *costSheet) asked() bool { return s.total.Prompts+s.total.Judges > 0 }

func dollars(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

func whole(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return 0
}

// write writes the sheet as a table. Cached tokens are what was read from a cache and what was written to one.
func (s *costSheet) write(out io.Writer, head string) error {
	wide := len(head)
	for _, name := range s.order {
		wide = max(wide, widthOf(clean(name)))
	}
	pad := func(name string) string { return name + strings.Repeat(" ", max(0, wide-widthOf(name))) }
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	if s.resumed {
		sayLine(out, "Since the resume (loops cost RUN has all of it):")
	}
	sayRow(w, pad(head), "VISITS", "PROMPTS", "JUDGES", "IN", "OUT", "CACHED", "COST", "TIME", "SHARE", "")
	row := func(name string, l *costLine) {
		share := "-"
		if s.total.CostUSD > 0 {
			share = fmt.Sprintf("%.0f%%", 100*l.CostUSD/s.total.CostUSD)
		}
		sayRow(w,
			pad(clean(name)), strconv.Itoa(l.Visits), strconv.Itoa(l.Prompts), strconv.Itoa(l.Judges), tokens(l.Input), tokens(l.Output),
			tokens(l.CacheRead+l.CacheWrite), l.cost(), duration(l.Time), share, "")
	}
	for _, name := range s.order {
		row(name, s.lines[name])
	}
	if len(s.order) > 1 {
		row("total", &s.total)
	}
	return w.Flush()
}

// cost is a cost for people: $0.0312, at least $0.0312, unknown.
func (l *costLine) cost() string {
	switch {
	case l.Unknown > 0 && l.CostUSD == 0:
		return "unknown"
	case l.Unknown > 0:
		return ">" + usd(l.CostUSD)
	case l.Prompts+l.Judges == 0:
		return "-"
	}
	return usd(l.CostUSD)
}

func usd(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("$%.2f", v)
	}
	return fmt.Sprintf("$%.4f", v)
}

// tokens is a count of tokens for people: 950, 12.3k, 4.56M.
func tokens(n int64) string {
	switch {
	case n < 10_000:
		return strconv.FormatInt(n, 10)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.2fM", float64(n)/1e6)
}

// microDollars rounds a sum, which adds up to a little more or less than what it is of.
func microDollars(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// object is the line as JSON. A cost that is not known is null; so is a sum with one in it, and known_cost_usd is the rest.
func (l *costLine) object(key, name string) *value.Map {
	var cost any
	if l.Unknown == 0 {
		cost = microDollars(l.CostUSD)
	}
	return value.NewMap(key, name, "visits", int64(l.Visits), "prompts", int64(l.Prompts), "judges", int64(l.Judges),
		"input_tokens", l.Input, "output_tokens", l.Output, "cache_read_tokens", l.CacheRead, "cache_creation_tokens", l.CacheWrite,
		"cost_usd", cost, "known_cost_usd", microDollars(l.CostUSD), "unknown_costs", int64(l.Unknown), "duration_ms", l.Time.Milliseconds())
}
