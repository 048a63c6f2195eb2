package inspect

import (
	"slices"
	"time"

	"loops/fsm"
)

// A Summary is what statistics and costs of many runs need of the events of one. A store keeps it as text
// ([Summary.Text]), so that events are read once. It is not safe for concurrent use.
type Summary struct {
	states []stateSummary
	visits int           // that costs count
	worked time.Duration // time of actions that are not prompts
	uses   []use         // of prompts and judges, in the order of their events
	inside []string      // states that were entered in sub-loops, branches and items, sorted

	Damage *Damage // in the records that it was made of; nil = none
}

// Damage is the first that is damaged in the records of a run.
type Damage struct {
	Journal bool  // in its journal; else in its state file
	Offset  int64 // as [persistence.DamageError] has it
	What    string
}

// A stateSummary has all visits of one state.
type stateSummary struct {
	path      string // see [Visit.Path]
	evaluator string // type of the last evaluation; "" = none
	first     int    // [Visit.Index] of the first visit
	failed    int    // visits whose action did not end with exit code 0
	verdicts  []verdictCount
	times     []time.Duration // how long each visit took
}

type verdictCount struct {
	name string
	n    int
}

// A SummaryReader makes a [Summary] of the events of one run.
type SummaryReader struct {
	reader Reader
	sheet  CostSheet
	tally  Tally
	inside map[string]bool
	made   Summary
}

// NewSummaryReader returns a SummaryReader that has read no event.
func NewSummaryReader() *SummaryReader {
	s := &SummaryReader{inside: map[string]bool{}}
	add := func(v *Visit) { s.tally.Add(0, v) }
	s.reader = Reader{Done: add, Inside: add}
	s.sheet.used = func(u use) { s.made.uses = append(s.made.uses, u) }
	return s
}

// Add takes the next event of the run.
func (s *SummaryReader) Add(e fsm.Event) {
	s.sheet.AddTo(s.reader.Add(e), e)
	if e.Kind == fsm.EventStateEnter && e.Depth > 0 {
		s.inside[str(e, "state")] = true
	}
}

// Close returns the summary. It is called once, after the last event. alive says that the run continues. died
// is the memory of a run that died; nil = it did not, or it cannot be read.
func (s *SummaryReader) Close(alive bool, died *fsm.Snapshot) *Summary {
	if s.sheet.Close(alive); died != nil {
		s.sheet.Complete(died)
	}
	s.reader.Close()
	m := &s.made
	m.visits, m.worked = s.sheet.Total.Visits, s.sheet.Total.Time
	for _, u := range m.uses {
		m.worked -= u.cost(nil).Time
	}
	for name := range s.inside {
		m.inside = append(m.inside, name)
	}
	slices.Sort(m.inside)
	for _, t := range s.tally.States() {
		st := stateSummary{path: t.Path, evaluator: t.Evaluator, first: t.first[1], failed: t.Failed, times: t.times}
		for _, name := range t.Names() {
			st.verdicts = append(st.verdicts, verdictCount{name, t.Verdicts[name]})
		}
		m.states = append(m.states, st)
	}
	return m
}

// Cost returns what the run used. prices is asked about what was recorded without a cost; nil = such costs are unknown.
func (s *Summary) Cost(prices func(model string, u fsm.Usage) (float64, bool)) Cost {
	total := Cost{Visits: s.visits, Time: s.worked}
	for _, u := range s.uses {
		total.Plus(u.cost(prices))
	}
	return total
}

// WasInside reports whether the run was in a state of a sub-loop, a branch or an item with that name.
func (s *Summary) WasInside(state string) bool {
	_, found := slices.BinarySearch(s.inside, state)
	return found
}
