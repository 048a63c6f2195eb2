package trail

// A Pair is a place of two paths: a visit of each, or one of them alone.
type Pair struct {
	A, B *Visit // at most one is nil
	Same bool   // both did the same: state, exit code, verdict and where it led
}

// alignMost is how many visits may differ before two paths are no longer aligned, but only compared from their ends.
const alignMost = 2000

// Compare aligns two paths, given in the order their states were entered: as many visits as possible beside a visit of
// the same state with the same result.
func Compare(a, b []*Visit) []Pair {
	var pairs []Pair
	for len(a) > 0 && len(b) > 0 && same(a[0], b[0]) {
		pairs = append(pairs, Pair{a[0], b[0], true})
		a, b = a[1:], b[1:]
	}
	n := 0
	for n < len(a) && n < len(b) && same(a[len(a)-1-n], b[len(b)-1-n]) {
		n++
	}
	pairs = append(pairs, beside(edits(a[:len(a)-n], b[:len(b)-n]))...)
	for ; n > 0; n-- {
		pairs = append(pairs, Pair{a[len(a)-n], b[len(b)-n], true})
	}
	return pairs
}

func same(a, b *Visit) bool {
	x, ended := a.Exit()
	y, too := b.Exit()
	return a.Path() == b.Path() && x == y && ended == too && a.Verdict() == b.Verdict() && a.To() == b.To()
}

// edits finds a shortest way to make b of a, by the algorithm of Myers.
func edits(a, b []*Visit) []Pair {
	most := min(len(a)+len(b), alignMost)
	var trace [][]int
	v := map[int]int{1: 0}
	for d := 0; d <= most; d++ {
		row := make([]int, 0, d+1)
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && v[k-1] < v[k+1] {
				x = v[k+1]
			} else {
				x = v[k-1] + 1
			}
			for x < len(a) && x-k < len(b) && x-k >= 0 && same(a[x], b[x-k]) {
				x++
			}
			v[k] = x
			row = append(row, x)
			if x >= len(a) && x-k >= len(b) {
				return trackBack(a, b, append(trace, row))
			}
		}
		trace = append(trace, row)
	}
	var pairs []Pair // too much differs: that is what there is to say
	for _, x := range a {
		pairs = append(pairs, Pair{A: x})
	}
	for _, y := range b {
		pairs = append(pairs, Pair{B: y})
	}
	return pairs
}

// trackBack reads the way off the furthest points of each round.
func trackBack(a, b []*Visit, trace [][]int) []Pair {
	var back []Pair
	x, y := len(a), len(b)
	for d := len(trace) - 1; d >= 0; d-- {
		k := x - y
		fromX, fromK := 0, 0
		if d > 0 {
			at := func(k int) int {
				if k < -(d-1) || k > d-1 {
					return -1
				}
				return trace[d-1][(k+d-1)/2]
			}
			if k == -d || k != d && at(k-1) < at(k+1) {
				fromK = k + 1
			} else {
				fromK = k - 1
			}
			fromX = at(fromK)
		}
		fromY := fromX - fromK
		for x > fromX && y > fromY && same(a[x-1], b[y-1]) {
			back = append(back, Pair{a[x-1], b[y-1], true})
			x, y = x-1, y-1
		}
		if d == 0 {
			break
		}
		if x > fromX {
			back = append(back, Pair{A: a[x-1]})
		} else {
			back = append(back, Pair{B: b[y-1]})
		}
		x, y = fromX, fromY
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

// beside puts visits of the same state that ended in different ways next to each other.
func beside(pairs []Pair) []Pair {
	var out, as, bs []Pair
	flush := func() {
		n := 0
		for n < len(as) && n < len(bs) && as[n].A.Path() == bs[n].B.Path() {
			out = append(out, Pair{as[n].A, bs[n].B, false})
			n++
		}
		out = append(append(out, as[n:]...), bs[n:]...)
		as, bs = nil, nil
	}
	for _, p := range pairs {
		switch {
		case p.B == nil:
			as = append(as, p)
		case p.A == nil:
			bs = append(bs, p)
		default:
			flush()
			out = append(out, p)
		}
	}
	flush()
	return out
}
