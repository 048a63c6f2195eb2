package inspect

// A StepPair is a place of two paths: a step of each, or one of them alone.
type StepPair struct {
	A, B int32 // places in the two; at most one is None
	Same bool  // both did the same: state, exit code, verdict and where it led
}

// NoStep is in a Pair the place of a step that is not there.
const NoStep = -1

// alignMost is how many steps may differ before two paths are no longer aligned, but only compared from their ends.
const alignMost = 2000

// CompareSteps aligns the steps of two runs, from a place in each on: as many as possible beside one of the
// same state with the same result.
func CompareSteps(a, b *StepList, fromA, fromB int) []StepPair {
	c := comparison{a, b}
	toA, toB := a.Len(), b.Len()
	pairs := make([]StepPair, 0, max(toA-fromA, toB-fromB))
	for fromA < toA && fromB < toB && c.same(fromA, fromB) {
		pairs = append(pairs, c.pair(fromA, fromB, true))
		fromA, fromB = fromA+1, fromB+1
	}
	for fromA < toA && fromB < toB && c.same(toA-1, toB-1) {
		toA, toB = toA-1, toB-1
	}
	pairs = append(pairs, c.beside(c.edits(fromA, toA, fromB, toB))...)
	for ; toA < a.Len(); toA, toB = toA+1, toB+1 {
		pairs = append(pairs, c.pair(toA, toB, true))
	}
	return pairs
}

// A comparison is of the steps of two runs.
type comparison struct{ a, b *StepList }

func (c comparison) same(i, j int) bool { return c.a.row(i).kind == c.b.row(j).kind }

func (c comparison) pair(i, j int, same bool) StepPair { return StepPair{int32(i), int32(j), same} }

func (c comparison) sameState(i, j int32) bool {
	return c.a.kinds.list[c.a.row(int(i)).kind].Path == c.b.kinds.list[c.b.row(int(j)).kind].Path
}

// edits finds a shortest way to make the one part of the other, by the algorithm of Myers.
func (c comparison) edits(fromA, toA, fromB, toB int) []StepPair {
	n, m := toA-fromA, toB-fromB
	most := min(n+m, alignMost)
	var trace [][]int32
	v := map[int]int{1: 0}
	for d := 0; d <= most; d++ {
		row := make([]int32, 0, d+1)
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && v[k-1] < v[k+1] {
				x = v[k+1]
			} else {
				x = v[k-1] + 1
			}
			for x < n && x-k < m && x-k >= 0 && c.same(fromA+x, fromB+x-k) {
				x++
			}
			v[k] = x
			row = append(row, int32(x))
			if x >= n && x-k >= m {
				return c.trackBack(fromA, fromB, n, m, append(trace, row))
			}
		}
		trace = append(trace, row)
	}
	pairs := make([]StepPair, 0, n+m) // too much differs: that is what there is to say
	for i := fromA; i < toA; i++ {
		pairs = append(pairs, c.pair(i, NoStep, false))
	}
	for j := fromB; j < toB; j++ {
		pairs = append(pairs, c.pair(NoStep, j, false))
	}
	return pairs
}

// trackBack reads the way off the furthest points of each round.
func (c comparison) trackBack(fromA, fromB, x, y int, trace [][]int32) []StepPair {
	var back []StepPair
	for d := len(trace) - 1; d >= 0; d-- {
		k := x - y
		fromX, fromK := 0, 0
		if d > 0 {
			at := func(k int) int {
				if k < -(d-1) || k > d-1 {
					return -1
				}
				return int(trace[d-1][(k+d-1)/2])
			}
			if k == -d || k != d && at(k-1) < at(k+1) {
				fromK = k + 1
			} else {
				fromK = k - 1
			}
			fromX = at(fromK)
		}
		fromY := fromX - fromK
		for x > fromX && y > fromY && c.same(fromA+x-1, fromB+y-1) {
			back = append(back, c.pair(fromA+x-1, fromB+y-1, true))
			x, y = x-1, y-1
		}
		if d == 0 {
			break
		}
		if x > fromX {
			back = append(back, c.pair(fromA+x-1, NoStep, false))
		} else {
			back = append(back, c.pair(NoStep, fromB+y-1, false))
		}
		x, y = fromX, fromY
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

// beside puts steps of the same state that ended in different ways next to each other.
func (c comparison) beside(pairs []StepPair) []StepPair {
	var as, bs []StepPair
	out := pairs[:0] // what is written never comes before what is read
	flush := func() {
		n := 0
		for n < len(as) && n < len(bs) && c.sameState(as[n].A, bs[n].B) {
			out = append(out, StepPair{as[n].A, bs[n].B, false})
			n++
		}
		out = append(append(out, as[n:]...), bs[n:]...)
		as, bs = as[:0], bs[:0]
	}
	for _, p := range pairs {
		switch {
		case p.B == NoStep:
			as = append(as, p)
		case p.A == NoStep:
			bs = append(bs, p)
		default:
			flush()
			out = append(out, p)
		}
	}
	flush()
	return out
}
