package inspect

import (
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// A CostSheet adds up what prompts and judges used, state by state, from the events of runs. A state of a sub-loop is
// named behind the states it ran inside: "fix > review". The zero CostSheet is empty.
type CostSheet struct {
	// for what was recorded without a cost; nil: such costs stay unknown
	Prices func(model string, u fsm.Usage) (float64, bool)
	lines  map[string]*Cost
	Each   func(Use) // receives each prompt and judge, too; may be nil
	Order  []string  // of lines: as they came
	Total  Cost
	visits Reader // of add

	Resumed bool // the first event was not that of the run, but of a resume
}

// A Cost is what one state used, or all.
type Cost struct {
	Visits, Prompts, Judges              int
	Input, Output, CacheRead, CacheWrite int64
	CostUSD                              float64
	Unknown                              int // prompts and judges whose cost is not known
	Time                                 time.Duration
}

// A Use is what one prompt or judge used.
type Use struct {
	At          time.Time
	Host, Model string // "" = it is not on record
	Cost
}

// Plus adds what another line holds.
func (l *Cost) Plus(m Cost) {
	l.Visits += m.Visits
	l.Prompts += m.Prompts
	l.Judges += m.Judges
	l.Input += m.Input
	l.Output += m.Output
	l.CacheRead += m.CacheRead
	l.CacheWrite += m.CacheWrite
	l.CostUSD += m.CostUSD
	l.Unknown += m.Unknown
	l.Time += m.Time
}

// Add takes the next event of a run.
func (s *CostSheet) Add(e fsm.Event) { s.AddTo(s.visits.Add(e), e) }

// AddTo takes the next event of a run, and the visit it belongs to; nil = none.
func (s *CostSheet) AddTo(v *Visit, e fsm.Event) {
	switch e.Kind {
	case fsm.EventLoopResume:
		s.Resumed = s.Resumed || v == nil
	case fsm.EventStateEnter:
		if again, _ := e.Get("resumed").(bool); !again && v.Resumed == 0 { // a resumed visit was counted
			s.count(v, func(l *Cost) { l.Visits++ })
		}
	case fsm.EventActionComplete, fsm.EventActionKilled: // the latter of a prompt that a stop ended
		took := time.Duration(Whole(e.Get("duration_ms"))) * time.Millisecond
		if prompt, _ := e.Get("is_prompt").(bool); !prompt {
			s.count(v, func(l *Cost) { l.Time += took })
			return
		}
		s.used(v, e.Time, e.Get, func(l *Cost) { l.Prompts++; l.Time += took })
	default:
		judges, _ := e.Get("judges").([]any)
		for _, j := range judges {
			if m, ok := j.(*value.Map); ok {
				get := func(key string) any { v, _ := m.Get(key); return v }
				took := time.Duration(Whole(get("duration_ms"))) * time.Millisecond
				s.used(v, e.Time, get, func(l *Cost) { l.Judges++; l.Time += took })
			}
		}
	}
}

// used counts one prompt or judge.
func (s *CostSheet) used(v *Visit, at time.Time, get func(string) any, more func(*Cost)) {
	u := fsm.Usage{
		Input: Whole(get("input_tokens")), Output: Whole(get("output_tokens")),
		CacheRead: Whole(get("cache_read_tokens")), CacheWrite: Whole(get("cache_creation_tokens")),
	}
	usd, known := Number(get("cost_usd"))
	failure := fsm.Failure(Text(get("failure")))
	switch {
	case known:
	case u.Total() > 0 && s.Prices != nil:
		usd, known = s.Prices(Text(get("model")), u)
	case u.Total() == 0: // nothing was used, if a user says so
		known = Text(get("coverage")) == fsm.CoverageComplete || failure == fsm.FailMissing || failure == fsm.FailAuth || failure == fsm.FailModel
	}
	one := Cost{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CostUSD: usd}
	if failure != fsm.FailMissing { // that one was never sent
		more(&one)
	}
	if !known {
		one.Unknown = 1
	}
	s.count(v, func(l *Cost) { l.Plus(one) })
	if s.Each != nil {
		s.Each(Use{at, Text(get("host")), Text(get("model")), one})
	}
}

// count changes the line of the state of a visit, and the total.
func (s *CostSheet) count(v *Visit, change func(*Cost)) {
	name := ""
	if v != nil {
		name = v.Path()
	}
	change(s.Line(name))
	change(&s.Total)
}

// Line returns the line of that name, which is made if there is none.
func (s *CostSheet) Line(name string) *Cost {
	if s.lines == nil {
		s.lines = map[string]*Cost{}
	}
	l := s.lines[name]
	if l == nil {
		l = &Cost{}
		s.lines[name] = l
		s.Order = append(s.Order, name)
	}
	return l
}

// Asked reports whether anything was asked of an agent.
func (s *CostSheet) Asked() bool { return s.Total.Prompts+s.Total.Judges > 0 }

// Number returns a value of an event as a number, and reports whether it is one.
func Number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// Whole returns a value of an event as a whole number, 0 if it is not one.
func Whole(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return 0
}

// Text is a cost for people: $0.0312, at least $0.0312, unknown.
func (l *Cost) Text() string {
	switch {
	case l.Unknown > 0 && l.CostUSD == 0:
		return "unknown"
	case l.Unknown > 0:
		return ">" + humanize.USD(l.CostUSD)
	case l.Prompts+l.Judges == 0:
		return "-"
	}
	return humanize.USD(l.CostUSD)
}

// Tokens is how many tokens were used, of every kind.
func (l Cost) Tokens() int64 { return l.Input + l.Output + l.CacheRead + l.CacheWrite }
