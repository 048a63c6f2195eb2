package simulate

import "loops/fsm"

// skip goes to the last steps before max_steps once the search repeats itself: what can be reached after a step
// is what could be reached two steps before, so that all that follows is known.
func (s *budgetSearch) skip() {
	if s.sparse || s.cut {
		return
	}
	parity := s.step & 1
	repeats := s.kept[parity] == len(s.now) && len(s.now) == s.sizes[parity]
	s.sizes[parity], s.kept[parity] = len(s.now), 0
	rest := int32(s.g.l.MaxSteps) - s.step //nolint:gosec // max_steps has a limit
	if !repeats || rest < 6 {
		return
	}
	s.step += (rest - 4) / 2 * 2
	for _, at := range s.next {
		s.seen[(s.step+1)&1][at] = s.step + 2
	}
	s.kept = [2]int{}
}

// watched has the monitor see that a state is entered. It returns the counts with what it remembers, and
// reports false where nothing can be found any more on that path.
func (s *budgetSearch) watched(at, q int32, st *fsm.State) (next int32, goes bool) {
	if s.watch == nil {
		return q, true
	}
	is := s.get(q, s.counted)
	now, broken, done := s.watch.enter(is, st)
	n := s.node(at)
	switch {
	case broken:
		s.broken = &found{path: s.pathTo(at, true)}
	case done:
	case s.g.terminal(n):
		s.endsWatched(at, true, fsm.EndTerminal)
	default:
		return s.add(q, s.counted, int64(now-is)), true
	}
	return q, false
}

// leadsNowhere follows the verdicts of a state that lead nowhere, which end the run. acts says that a budget
// lets the state act.
func (s *budgetSearch) leadsNowhere(at int32, acts bool) {
	for _, e := range s.g.ends[s.node(at)] {
		if e.end == fsm.EndCycle && (s.cycled == nil || s.length(at, true) < len(s.cycled)) {
			s.cycled = s.pathTo(at, true)
		}
		if s.watch == nil || !e.plain() || s.broken != nil || !acts && (s.strict || e.kind != byFailure) {
			continue
		}
		if s.endsWatched(at, true, e.end); s.broken != nil {
			last := &s.broken.path[len(s.broken.path)-1]
			last.word, last.kind = e.word, e.kind
		}
	}
}

// endsWatched notes that a run ends, where the monitor looks for an end.
func (s *budgetSearch) endsWatched(at int32, entered bool, end string) {
	if s.watch != nil && s.watch.ends && s.broken == nil {
		if s.broken = (&found{path: s.pathTo(at, entered), end: end}); !entered {
			s.broken.before = s.node(at) + 1
		}
	}
}

// handled has the monitor see the state that is entered once when max_steps is reached. spent says that a
// budget ends the run there.
func (s *budgetSearch) handled(at int32, st *fsm.State, i int32, end string, spent bool) {
	if s.watch == nil || s.broken != nil {
		return
	}
	if _, broken, done := s.watch.enter(s.get(s.countsOf(at), s.counted), st); broken || s.watch.ends && !done &&
		!spent {
		path := append(s.pathTo(at, false), visitStep{node: s.g.node(proofNode{state: i})})
		s.broken = &found{path: path, end: end, before: s.node(at) + 1}
	}
}
