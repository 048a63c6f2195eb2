package simulate

// follows are what positions lead to, as it was found when they were visited first: all else that is to be
// found there was found then. A later visit only goes on to the next layer.
type follows struct {
	of   [][]int32 // by position: what it leads to, twice, and one more where a step is taken; nil = that is not known
	none []int32   // of a position that leads nowhere
	was  []bool    // visited, even where of is not kept
	kept int
}

// mostFollows is how much of it is kept.
const mostFollows = 40_000_000

// newFollows returns follows of so many positions; of none where positions are made as they are reached.
func newFollows(positions int) *follows {
	return &follows{of: make([][]int32, positions), none: []int32{}, was: make([]bool, positions)}
}

// begin says that what a position leads to is added from now on.
func (f *follows) begin(at int32) {
	if len(f.of) > 0 {
		f.of[at], f.was[at] = nil, true
	}
}

// add adds what a position leads to.
func (f *follows) add(from, to int32, step bool) {
	if from < 0 || len(f.of) == 0 || f.kept > mostFollows {
		return
	}
	next := to << 1
	if step {
		next++
	}
	f.of[from] = append(f.of[from], next)
	f.kept++
}

// end says that all that a position leads to was added.
func (f *follows) end(at int32) {
	switch {
	case len(f.of) == 0:
	case f.kept > mostFollows:
		f.of[at] = nil
	case f.of[at] == nil:
		f.of[at] = f.none
	}
}

// known reports whether it is known what a position leads to.
func (f *follows) known(at int32) bool { return len(f.of) > 0 && f.of[at] != nil }

// isNew notes that a position is reached after so many steps. It reports false if that is known.
func (s *budgetSearch) isNew(at, depth int32, any bool) bool {
	seen := &s.seen[depth&1][at]
	if *seen == depth+1 {
		return false
	}
	if depth > 1 && *seen == depth-1 && !any {
		s.kept[depth&1]++
	}
	*seen = depth + 1
	s.work++
	return true
}

// again follows what a position leads to that was visited before, unless the search was cut. It reports false
// if the position is to be visited.
func (s *budgetSearch) again(at int32) bool {
	if s.cut && !s.sparse && s.follow.was[at] {
		return true
	}
	if !s.follow.known(at) {
		return false
	}
	for _, next := range s.follow.of[at] {
		s.goOn(next>>1, s.step+next&1)
	}
	return true
}

// goOn notes that a position is reached again.
func (s *budgetSearch) goOn(at, depth int32) {
	any := s.g.nodes[s.node(at)].state < 0
	switch {
	case !s.isNew(at, depth, any):
	case any:
		s.followAny(at, depth)
	case depth == s.step:
		s.now = append(s.now, at)
	default:
		s.next = append(s.next, at)
	}
}

// followAny follows a state that is known only in a run to all that it may be.
func (s *budgetSearch) followAny(at, depth int32) {
	for _, next := range s.follow.of[at] {
		s.goOn(next>>1, depth)
	}
}
