package mask

import "math/bits"

// fours finds places of a text where four bytes side by side may be those of a text that is looked for: of each
// of the four, the groups that a byte may be of, each a bit. Of a byte above 127 the lower seven bits count.
type fours [4][128]byte

// A byteSet is bytes below 128, as bits.
type byteSet [2]uint64

func (s *byteSet) add(c byte) { s[c>>6&1] |= 1 << (c & 63) }

func (s *byteSet) has(c byte) bool { return s[c>>6&1]>>(c&63)&1 != 0 }

// frequencies are [weight] by byte.
var frequencies = func() (w [128]float64) {
	for c := range w {
		w[c] = weight[c>>4][c&15]
	}
	return w
}()

// A fourGroup is what its four bytes may be, and how likely each is in what programs print.
type fourGroup struct {
	sets   [4]byteSet
	likely [4]float64
}

// chance is how likely four bytes of what programs print are of the group.
func (g *fourGroup) chance() float64 { return g.likely[0] * g.likely[1] * g.likely[2] * g.likely[3] }

// with is the chance of the group with a pattern more.
func (g *fourGroup) with(pattern []byteSet) float64 {
	all := 1.0
	for k := range g.sets {
		all *= g.likely[k] + g.more(k, &pattern[k])
	}
	return all
}

// more is how likely the bytes of a set are that the group does not have at a place.
func (g *fourGroup) more(k int, s *byteSet) (sum float64) {
	for half, fresh := range s {
		for fresh &^= g.sets[k][half]; fresh != 0; fresh &= fresh - 1 {
			sum += frequencies[half<<6|bits.TrailingZeros64(fresh)]
		}
	}
	return sum
}

// A fourGrouping is the groups of all that is looked for by four bytes.
type fourGrouping [groups]fourGroup

// add takes in a pattern, by four of its bytes side by side that make the least difference and that begin
// before the place end. It returns where they are.
func (all *fourGrouping) add(pattern []byteSet, end int) (at int) {
	least, into := 2.0, 0
	for from := range min(end, mostPlace, len(pattern)-3) {
		for i := range all {
			if more := all[i].with(pattern[from:]) - all[i].chance(); more < least {
				least, at, into = more, from, i
			}
		}
	}
	g := &all[into]
	for k := range g.sets {
		s := &pattern[at+k]
		g.likely[k] += g.more(k, s)
		g.sets[k][0] |= s[0]
		g.sets[k][1] |= s[1]
	}
	return at
}

// chance is how likely a place of what programs print is of one of the groups.
func (all *fourGrouping) chance() (sum float64) {
	for i := range all {
		sum += all[i].chance()
	}
	return sum
}

// tables returns the tables of groups.
func (all *fourGrouping) tables() (t fours) {
	for i := range all {
		for k := range t {
			for c := range t[k] {
				if all[i].sets[k].has(byte(c)) {
					t[k][c] |= 1 << i
				}
			}
		}
	}
	return t
}

// anything is every byte.
var anything = byteSet{1<<64 - 1, 1<<64 - 1}

// pattern returns the bytes that a needle has, and those that may follow the prefix of a token.
func (n *needle) pattern() []byteSet {
	list := make([]byteSet, len(n.text), len(n.text)+4)
	for i, c := range n.text {
		list[i].add(c & 0x7f)
	}
	after := anything
	if n.shape != nil && n.shape.letters != nil {
		after = byteSet{}
		for c, may := range n.shape.letters {
			if may {
				after.add(byte(c))
			}
		}
	}
	for len(list) < 4 {
		list = append(list, after)
	}
	return list
}
