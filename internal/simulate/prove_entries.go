package simulate

// entries are the states that budgets let a run enter, each with a shortest path, which is made when it is
// asked for: of a loop of
// 10,000 states all paths together are long, and few are shown.
type entries struct {
	s  *budgetSearch
	at map[proofNode]int32 // the numbers of visits now; nil = those of s
	// of what s reached: whether all visits of the path before it have a number; 0 = not known yet
	ok []int8
}

// renumber has paths use the numbers that visits have now. A path with a visit that has none is none.
func (x *entries) renumber(at map[proofNode]int32) {
	x.at, x.ok = at, make([]int8, len(x.s.parent))
}

// has reports whether a state is entered.
func (x *entries) has(state int32) bool {
	at, entered := x.s.first[state]
	return entered && (x.at == nil || x.numbered(at) && x.before(at))
}

// path returns a shortest path to a state, which is its last one; nil = it is not entered.
func (x *entries) path(state int32) []visitStep {
	if !x.has(state) {
		return nil
	}
	path := x.s.pathTo(x.s.first[state], true)
	x.current(path)
	return path
}

// current gives the visits of a path of s the numbers that they have now. It reports false if one has none.
func (x *entries) current(path []visitStep) bool {
	if x.at == nil {
		return true
	}
	for i := range path {
		at, known := x.at[x.s.g.nodes[path[i].node]]
		if path[i].node = at; !known {
			return false
		}
	}
	return true
}

func (x *entries) numbered(at int32) bool {
	_, known := x.at[x.s.g.nodes[x.s.node(at)]]
	return known
}

// before reports whether all visits of the path before a position have a number.
func (x *entries) before(at int32) bool {
	var way []int32
	for ; x.ok[at] == 0 && x.s.parent[at] != at; at = x.s.parent[at] {
		way = append(way, at)
	}
	ok := x.ok[at] >= 0
	for k := len(way) - 1; k >= 0; k-- {
		from := x.s.parent[way[k]]
		ok = ok && (!x.s.steps(from, way[k]) || x.numbered(from))
		x.ok[way[k]] = map[bool]int8{true: 1, false: -1}[ok]
	}
	return ok
}

// steps reports whether the state of a position is entered where a path leads from it to the next one.
func (s *budgetSearch) steps(from, to int32) bool {
	return !s.g.passing(s.node(from)) && (!s.limit[to] || s.depth[from] < s.depth[to])
}

// revisited reports whether one of the paths takes an edge more often than max_edge_revisits allows. It walks
// through all paths together, and looks at those alone that enter a state so often.
func (x *entries) revisited(g *proofGraph) bool {
	if x == nil {
		return false
	}
	s, most := x.s, g.l.MaxEdgeRevisits
	ends := map[int32][]int32{} // states by the position that they are entered at
	for state, at := range s.first {
		if s.length(at, true) > most && x.has(state) {
			ends[at] = append(ends[at], state)
		}
	}
	after := map[int32][]int32{} // what follows a position on the way to one of these
	root, known := int32(-1), map[int32]bool{}
	for at := range ends {
		for ; !known[at]; at = s.parent[at] {
			if known[at] = true; s.parent[at] == at {
				root = at
				break
			}
			after[s.parent[at]] = append(after[s.parent[at]], at)
		}
	}
	if root < 0 {
		return false
	}
	type place struct {
		at, next int32
		counted  bool
	}
	visits, often := map[int32]int{}, 0
	for way := []place{{at: root}}; len(way) > 0; {
		top := &way[len(way)-1]
		state := s.g.nodes[s.node(top.at)].state
		if top.next == 0 {
			if top.counted = !s.g.passing(s.node(top.at)); top.counted {
				if visits[state]++; visits[state] == most+1 {
					often++
				}
			}
			for _, to := range ends[top.at] {
				if often > 0 && g.revisited(x.path(to), 0) {
					return true
				}
			}
		}
		if int(top.next) < len(after[top.at]) {
			top.next++
			way = append(way, place{at: after[top.at][top.next-1]})
			continue
		}
		if top.counted {
			if visits[state]--; visits[state] == most {
				often--
			}
		}
		way = way[:len(way)-1]
	}
	return false
}
