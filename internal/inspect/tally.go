package inspect

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A Tally adds up the visits of many runs, state by state, in whatever order those of a run come. The zero
// Tally is empty. It is not safe for concurrent use.
type Tally struct {
	states map[string]*StateTally
	order  []*StateTally
}

// A StateTally is the result of all visits of one state.
type StateTally struct {
	Path      string // of the state, see [Visit.Path]
	Evaluator string // type of the last evaluation; "" = none
	Visits    int
	Runs      int            // in how many runs it was visited
	Failed    int            // visits whose action did not end with exit code 0
	Verdicts  map[string]int // by name
	times     []time.Duration
	run       int    // the last one it was visited in
	first     [2]int // the run in which it was seen first, and the place of that visit in it
}

// Add takes a visit of the run with that number; the visits of a run come together.
func (t *Tally) Add(run int, v *Visit) {
	s := t.state(run, v.Path(), v.Index)
	s.Visits++
	s.times = append(s.times, v.Took())
	if code, ended := v.Exit(); ended && code != 0 {
		s.Failed++
	}
	if v.judged {
		s.Evaluator = v.evaluator
		s.Verdicts[v.verdict]++
	}
}

// AddRun takes all visits of the run with that number.
func (t *Tally) AddRun(run int, of *Summary) {
	for i := range of.states {
		m := &of.states[i]
		s := t.state(run, m.path, m.first)
		s.Visits += len(m.times)
		s.times = append(s.times, m.times...)
		s.Failed += m.failed
		if len(m.verdicts) > 0 {
			s.Evaluator = m.evaluator
		}
		for _, v := range m.verdicts {
			s.Verdicts[v.name] += v.n
		}
	}
}

// state returns the sum of a state that a run visits, at that place among its visits.
func (t *Tally) state(run int, path string, at int) *StateTally {
	s := t.states[path]
	if s == nil {
		s = &StateTally{Path: strings.Clone(path), Verdicts: map[string]int{}, run: run - 1, first: [2]int{run, at}}
		if t.states == nil {
			t.states = map[string]*StateTally{}
		}
		t.states[s.Path] = s
		t.order = append(t.order, s)
	}
	if s.first[0] == run {
		s.first[1] = min(s.first[1], at)
	}
	if s.run != run {
		s.Runs++
		s.run = run
	}
	return s
}

// States returns what was added up, in the order the states were first seen.
func (t *Tally) States() []*StateTally {
	slices.SortStableFunc(t.order, func(a, b *StateTally) int { return slices.Compare(a.first[:], b.first[:]) })
	return t.order
}

// Times returns the median and the 95th percentile of how long a visit took, and the longest. The longest of fewer than
// 20 visits is their 95th percentile.
func (s *StateTally) Times() (p50, p95, longest time.Duration) { return Percentiles(s.times) }

// Judged is how often an evaluator gave a verdict.
func (s *StateTally) Judged() int {
	n := 0
	for _, k := range s.Verdicts {
		n += k
	}
	return n
}

// Names returns the verdicts, the most frequent first.
func (s *StateTally) Names() []string {
	names := make([]string, 0, len(s.Verdicts))
	for name := range s.Verdicts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(s.Verdicts[b]-s.Verdicts[a], cmp.Compare(a, b))
	})
	return names
}

// enough is how many verdicts an evaluator has to give before it is worth saying that they are all the same.
const enough = 5

// AlwaysYes returns the one verdict of an evaluator that has never said no: every one of five verdicts or more was the
// same, and a good one.
func (s *StateTally) AlwaysYes() (verdict string, always bool) {
	if len(s.Verdicts) != 1 || s.Judged() < enough {
		return "", false
	}
	verdict = s.Names()[0]
	switch verdict {
	case "yes", "success", "target", "progress":
		return verdict, true
	}
	return "", false
}

// Percentiles returns the median, the 95th percentile and the longest of some times, by the nearest rank. It
// sorts them.
func Percentiles(times []time.Duration) (p50, p95, longest time.Duration) {
	if len(times) == 0 {
		return 0, 0, 0
	}
	slices.Sort(times)
	rank := func(p int) time.Duration { return times[(len(times)*p+99)/100-1] }
	return rank(50), rank(95), times[len(times)-1]
}
