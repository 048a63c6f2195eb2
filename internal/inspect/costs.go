package inspect

import (
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// A CostSheet adds up what prompts and judges used, state by state, from the events of runs. A state of a sub-loop is
// named after the states it ran inside: "fix > review". The zero CostSheet is empty.
type CostSheet struct {
	// for what was recorded without a cost; nil: such costs stay unknown
	Prices func(model string, u fsm.Usage) (float64, bool)
	lines  map[string]*Cost
	Each   func(Use) // receives each prompt and judge, too; may be nil
	Order  []string  // of lines: as they came
	Total  Cost
	Agents AgentCosts
	visits Reader // of add

	Resumed bool // the first event was not that of the run, but of a resume

	used func(use) // receives each prompt and judge as it was recorded; may be nil

	raw  Cost   // Total without Prices
	last *Visit // of the last event that belongs to one

	asked map[prompting]use // prompts whose end is not on record
}

// A prompting is where a prompt is asked.
type prompting struct {
	visit  *Visit
	branch string
}

// A Cost is what one state used, or all.
type Cost struct {
	Visits, Prompts, Judges              int
	Input, Output, CacheRead, CacheWrite int64
	CostUSD                              float64
	Unknown                              int     // prompts and judges whose cost is not known, or only a part of it
	Bounded                              int     // how many of these have a known upper bound
	UnknownUSD                           float64 // what these cost at most beside CostUSD
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
	l.Bounded += m.Bounded
	l.UnknownUSD += m.UnknownUSD
	l.Time += m.Time
}

// Add takes the next event of a run.
func (s *CostSheet) Add(e fsm.Event) { s.AddTo(s.visits.Add(e), e) }

// AddTo takes the next event of a run, and the visit it belongs to; nil = none.
func (s *CostSheet) AddTo(v *Visit, e fsm.Event) {
	if v != nil {
		s.last = v
	}
	s.follow(v, e)
	switch e.Kind {
	case fsm.EventLoopResume:
		s.Resumed = s.Resumed || v == nil
	case fsm.EventStateEnter:
		if again, _ := e.Get("resumed").(bool); !again && (v == nil || v.Resumed == 0) { // a resumed visit was counted
			s.count(v, func(l *Cost) { l.Visits++ })
		}
	case fsm.EventActionComplete, fsm.EventActionKilled: // the latter of a prompt that a stop ended
		if prompt, _ := e.Get("is_prompt").(bool); !prompt {
			took := time.Duration(Whole(e.Get("duration_ms"))) * time.Millisecond
			s.count(v, func(l *Cost) { l.Time += took })
			return
		}
		at := prompting{v, Text(e.Get("branch"))}
		most := s.asked[at].most
		delete(s.asked, at)
		s.use(v, e.Time, e.Get, false, most)
	default:
		judges, _ := e.Get("judges").([]any)
		for _, j := range judges {
			if m, ok := j.(*value.Map); ok {
				get := func(key string) any { v, _ := m.Get(key); return v }
				most, _ := Number(get("max_cost_usd"))
				s.use(v, e.Time, get, true, most)
			}
		}
	}
}

// follow counts the prompts whose process was killed, with the run, before their end was on record: what they used is
// not known.
func (s *CostSheet) follow(v *Visit, e fsm.Event) {
	at := prompting{v, Text(e.Get("branch"))}
	switch e.Kind {
	case fsm.EventActionStart:
		if prompt, _ := e.Get("is_prompt").(bool); prompt {
			if s.asked == nil {
				s.asked = map[prompting]use{}
			}
			most, _ := Number(e.Get("max_cost_usd"))
			s.asked[at] = use{host: Text(e.Get("host")), model: Text(e.Get("model")), most: most}
		}
	case fsm.EventActionError:
		delete(s.asked, at)
	case fsm.EventLoopComplete:
		if e.Depth == 0 { // the prompts that it ended are on record, and others were not sent
			clear(s.asked)
		}
	case fsm.EventLoopResume:
		if e.Depth > 0 {
			return
		}
		s.lost(e.Time)
	}
}

// lost counts the prompts whose end is not on record.
func (s *CostSheet) lost(at time.Time) {
	for p, u := range s.asked {
		s.add(p.visit, at, u)
	}
	clear(s.asked)
}

// Close counts what prompts used that were killed with the run, and whose end is not on record, where alive is false.
func (s *CostSheet) Close(alive bool) {
	if !alive {
		s.lost(time.Time{})
	}
}

// leastUSD is less than anything costs, and more than what is lost in adding up.
const leastUSD = 1e-7

// Complete adds what no event has of a run that died, and its memory has: judges that were in flight, and those
// whose answers are on record and not judged by yet. It is called after Close.
func (s *CostSheet) Complete(m *fsm.Snapshot) {
	all := SpentCost(m, false)
	usd, unknown := all.CostUSD-s.raw.CostUSD, all.Unknown-s.raw.Unknown
	if unknown < 0 || usd < -leastUSD || unknown == 0 && usd < leastUSD {
		return
	}
	if usd >= leastUSD {
		s.add(s.last, time.Time{}, use{judge: true, usd: usd, known: true, tokens: fsm.Usage{
			Input: max(0, all.Input-s.raw.Input), Output: max(0, all.Output-s.raw.Output),
			CacheRead: max(0, all.CacheRead-s.raw.CacheRead), CacheWrite: max(0, all.CacheWrite-s.raw.CacheWrite),
		}})
	}
	most := 0.0
	if all.Bounded-s.raw.Bounded == unknown {
		most = (all.UnknownUSD - s.raw.UnknownUSD) / float64(max(unknown, 1))
	}
	for range unknown {
		s.add(s.last, time.Time{}, use{judge: true, most: most})
	}
}

// A use is one prompt or judge as it was recorded. Its cost may follow from a table of prices.
type use struct {
	host      string // "" = it is not on record
	model     string // "" = it is not on record
	tokens    fsm.Usage
	usd       float64
	took      time.Duration
	judge     bool
	known     bool    // usd was recorded, or it is known that nothing was used
	partial   bool    // more was used than what is on record
	most      float64 // what it costs at most; 0 = not known
	abandoned bool    // it was never sent: it does not count as a prompt or a judge
}

// useOf returns the use that an event, or a judge of an event, records.
func useOf(get func(string) any, judge bool) use {
	u := use{
		host: Text(get("host")), model: Text(get("model")), judge: judge,
		took: time.Duration(Whole(get("duration_ms"))) * time.Millisecond,
		tokens: fsm.Usage{
			Input: Whole(get("input_tokens")), Output: Whole(get("output_tokens")),
			CacheRead: Whole(get("cache_read_tokens")), CacheWrite: Whole(get("cache_creation_tokens")),
		},
	}
	failure := fsm.Failure(Text(get("failure")))
	u.abandoned = failure == fsm.FailMissing
	u.partial = Text(get("coverage")) == fsm.CoveragePartial
	// nothing was used, if a user says so
	if u.usd, u.known = Number(get("cost_usd")); !u.known && u.tokens.Total() == 0 {
		u.known = Text(get("coverage")) == fsm.CoverageComplete || u.abandoned || failure == fsm.FailAuth ||
			failure == fsm.FailModel
	}
	return u
}

// cost returns what was used. prices is asked where the cost was not recorded; nil = it stays unknown.
func (u *use) cost(prices func(model string, u fsm.Usage) (float64, bool)) Cost {
	usd, known := u.usd, u.known
	if !known && u.tokens.Total() > 0 && prices != nil {
		usd, known = prices(u.model, u.tokens)
	}
	c := Cost{
		Input: u.tokens.Input, Output: u.tokens.Output, CacheRead: u.tokens.CacheRead,
		CacheWrite: u.tokens.CacheWrite, CostUSD: usd,
	}
	switch {
	case u.abandoned:
	case u.judge:
		c.Judges, c.Time = 1, u.took
	default:
		c.Prompts, c.Time = 1, u.took
	}
	if !known || u.partial {
		c.Unknown = 1
		if u.most > 0 {
			c.Bounded, c.UnknownUSD = 1, max(0, u.most-usd)
		}
	}
	return c
}

// use counts one prompt or judge.
func (s *CostSheet) use(v *Visit, at time.Time, get func(string) any, judge bool, most float64) {
	u := useOf(get, judge)
	u.most = most
	s.add(v, at, u)
}

func (s *CostSheet) add(v *Visit, at time.Time, u use) {
	one := u.cost(s.Prices)
	s.raw.Plus(u.cost(nil))
	s.count(v, func(l *Cost) { l.Plus(one) })
	s.Agents.add(u.host, u.model, one)
	if s.used != nil {
		s.used(u)
	}
	if s.Each != nil {
		s.Each(Use{at, u.host, u.model, one})
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
func (l *Cost) Asked() bool { return l.Prompts+l.Judges > 0 }

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

// Most returns what was paid at most, in US dollars. It reports false where that is not known.
func (l *Cost) Most() (usd float64, known bool) {
	return l.CostUSD + l.UnknownUSD, l.Bounded == l.Unknown
}

// Text is a cost for people: $0.0312, at least $0.0312 and at most $0.5000, unknown.
func (l *Cost) Text() string {
	bound := ""
	if most, known := l.Most(); known {
		bound = " ≤ " + humanize.USD(most)
	}
	switch {
	case l.Unknown > 0 && l.CostUSD == 0:
		return "unknown" + bound
	case l.Unknown > 0:
		return ">" + humanize.USD(l.CostUSD) + bound
	case l.Prompts+l.Judges == 0:
		return "-"
	}
	return humanize.USD(l.CostUSD)
}

// Tokens is how many tokens were used, of every kind.
func (l Cost) Tokens() int64 { return l.Input + l.Output + l.CacheRead + l.CacheWrite }

// TokenText writes some of the tokens of a line. An agent that was asked used some: a line of agents without any does
// not know them.
func (l Cost) TokenText(n int64) string {
	if l.Prompts+l.Judges > 0 && l.Tokens() == 0 {
		return "-"
	}
	return humanize.Tokens(n)
}
