package diagram

import (
	"cmp"
	"slices"
)

// A drawing is a graph in layers, top to bottom. Nodes are in the even layers, the labels of edges in the odd
// ones between. Edges that come to one node from farther away share a trunk to it: an item in each layer they
// pass.
type drawing struct {
	g      *Graph
	items  []item
	layers [][]int // of items, from left to right
	links  []link  // between items of neighbouring layers
	loops  []int   // for each node its edge to itself, or -1
	next   [][]int // for each item its links downwards
	prev   [][]int // for each item its links upwards
}

// An itemKind says what is at a place of a drawing.
type itemKind int

const (
	aNode itemKind = iota
	aLabel
	aTrunk
	aStub // a label that names its target, because the way there is too long to be drawn
)

// An item is a place in a layer.
type item struct {
	kind  itemKind
	of    int   // the node, or the edge of a label, or the target of a trunk
	edges []int // that a trunk carries
	up    bool
	layer int
	x     int // of its middle
	width int
}

// A link joins two items of neighbouring layers, the upper one first. up says that it is gone along upwards. key is the
// net it belongs to: what has the same key is drawn as one line that branches.
type link struct {
	upper, lower int
	up           bool
	edge         int // whose it is, where it is only one edge's, else -1
}

// Where there are many states, transitions over more than farLayers of them end in a stub.
const (
	manyNodes = 60
	farLayers = 6
)

func newDrawing(g *Graph) *drawing {
	d := &drawing{g: g, loops: make([]int, len(g.Nodes))}
	for i := range d.loops {
		d.loops[i] = -1
	}
	for k, e := range g.Edges {
		if e.From == e.To {
			d.loops[e.From] = k
		}
	}
	rank, order := d.ranks()
	depth := 0
	for _, r := range rank {
		depth = max(depth, r)
	}
	d.layers = make([][]int, 2*depth+1)
	place := make([]int, len(g.Nodes))
	for _, i := range order {
		place[i] = d.add(item{kind: aNode, of: i, layer: 2 * rank[i]})
	}
	trunks := map[[3]int]int{}
	next := g.next()
	for _, i := range order {
		for _, k := range next[i] {
			if g.Edges[k].To != i {
				d.edge(k, rank, place, trunks)
			}
		}
	}
	d.connect()
	d.sort()
	return d
}

// add puts an item at the right end of its layer.
func (d *drawing) add(it item) int {
	d.items = append(d.items, it)
	d.layers[it.layer] = append(d.layers[it.layer], len(d.items)-1)
	return len(d.items) - 1
}

// ranks gives every node a layer so that transitions lead down, but for those that close a circle, and returns the
// nodes in the order in which a walk from the initial state comes to them.
func (d *drawing) ranks() (rank, order []int) {
	g := d.g
	next := g.next()
	const fresh, open, done = 0, 1, 2
	state := make([]int, len(g.Nodes))
	back := make([]bool, len(g.Edges))
	var finished []int
	var walk func(i int)
	walk = func(i int) {
		state[i] = open
		order = append(order, i)
		for _, k := range next[i] {
			switch j := g.Edges[k].To; state[j] {
			case fresh:
				walk(j)
			case open:
				back[k] = true
			}
		}
		state[i] = done
		finished = append(finished, i)
	}
	for _, first := range []bool{true, false} {
		for i, n := range g.Nodes {
			if state[i] == fresh && (n.Initial || !first) {
				walk(i)
			}
		}
	}
	rank = make([]int, len(g.Nodes))
	for _, i := range slices.Backward(finished) {
		for _, k := range next[i] {
			if to := g.Edges[k].To; !back[k] {
				rank[to] = max(rank[to], rank[i]+1)
			}
		}
	}
	return rank, order
}

// edge adds the label of an edge and the links from its state to it and on to its target.
func (d *drawing) edge(k int, rank, place []int, trunks map[[3]int]int) {
	e := d.g.Edges[k]
	from, to := 2*rank[e.From], 2*rank[e.To]
	up := to <= from
	step := 1
	if up {
		step = -1
	}
	span := (to - from) * step / 2
	if len(d.g.Nodes) > manyNodes && span > farLayers || from+step < 0 || from+step >= len(d.layers) || to == from {
		// A stub hangs below its state.
		if from+1 >= len(d.layers) {
			d.layers = append(d.layers, nil, nil)
		}
		l := d.add(item{kind: aStub, of: k, layer: from + 1})
		d.link(place[e.From], l, false, k)
		return
	}
	last := d.add(item{kind: aLabel, of: k, up: up, layer: from + step})
	d.link(place[e.From], last, up, k)
	joined := false
	for layer := from + 2*step; layer != to; layer += step {
		key := [3]int{e.To, step, layer}
		t, ok := trunks[key]
		if !ok {
			t = d.add(item{kind: aTrunk, of: e.To, up: up, layer: layer})
			trunks[key] = t
		}
		d.items[t].edges = append(d.items[t].edges, k)
		if !joined {
			d.link(last, t, up, -1)
		}
		last, joined = t, joined || ok // an older trunk has its links already
	}
	if !joined {
		d.link(last, place[e.To], up, -1)
	}
}

// link joins two items in the direction of their edge.
func (d *drawing) link(from, to int, up bool, edge int) {
	if up {
		from, to = to, from
	}
	d.links = append(d.links, link{from, to, up, edge})
}

func (d *drawing) connect() {
	for n := len(d.layers); n > 1 && len(d.layers[n-1]) == 0; n-- {
		d.layers = d.layers[:n-1]
	}
	d.next, d.prev = make([][]int, len(d.items)), make([][]int, len(d.items))
	for _, l := range d.links {
		d.next[l.upper] = append(d.next[l.upper], l.lower)
		d.prev[l.lower] = append(d.prev[l.lower], l.upper)
	}
}

// sort orders the items of each layer by the middle of what they are joined to, so that few lines cross.
func (d *drawing) sort() {
	at := make([]float64, len(d.items))
	number := func(layer []int) {
		for k, i := range layer {
			at[i] = float64(k)
		}
	}
	for _, layer := range d.layers {
		number(layer)
	}
	arrange := func(layer []int, near [][]int) {
		middle := make(map[int]float64, len(layer))
		for _, i := range layer {
			middle[i] = at[i]
			if len(near[i]) > 0 {
				sum := 0.0
				for _, j := range near[i] {
					sum += at[j]
				}
				middle[i] = sum / float64(len(near[i]))
			}
		}
		slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(middle[a], middle[b]) })
		number(layer)
	}
	for range 8 {
		for _, layer := range d.layers {
			arrange(layer, d.prev)
		}
		for _, layer := range slices.Backward(d.layers) {
			arrange(layer, d.next)
		}
	}
	for _, layer := range d.layers {
		arrange(layer, d.prev)
	}
}
