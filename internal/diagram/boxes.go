package diagram

import (
	"cmp"
	"slices"
	"strings"
)

// boxes draws the graph in boxes joined by lines, if that fits into so many columns.
func (g *Graph) boxes(width int) (lines [][]Span, ok bool) {
	d := newDrawing(g)
	labels := make([][]string, len(d.items))
	for i := range d.items {
		labels[i] = d.lines(i)
		w := 1
		for _, line := range labels[i] {
			w = max(w, columns(line))
		}
		if d.items[i].kind == aNode {
			w = max(w+4, 7)
		}
		d.items[i].width = w | 1
	}
	for _, grid := range []int{1, 2} {
		need := d.place(2, grid, grid == 2)
		if need > width {
			return nil, false
		}
		channels, ok := d.channels()
		if ok {
			return d.drawText(labels, channels, need).spans(), true
		}
	}
	return nil, false // staggered columns never collide, so this is not reached
}

// lines is what is written at an item.
func (d *drawing) lines(i int) []string {
	it := d.items[i]
	switch it.kind {
	case aNode:
		var loop *Edge
		if k := d.loops[it.of]; k >= 0 {
			loop = &d.g.Edges[k]
		}
		return d.g.Nodes[it.of].lines(loop)
	case aLabel:
		if text := d.g.Edges[it.of].label(); text != "" {
			return []string{text}
		}
	case aStub:
		e := d.g.Edges[it.of]
		return []string{strings.TrimSpace(e.label() + " → " + clip(d.g.Nodes[e.To].Name, labelColumns))}
	}
	return nil
}

// A net is what one line joins in the channel between two layers: one item on one side, all it is joined to on
// the other.
type net struct {
	upper, lower []int // columns
	up           bool
	from, to     int // the columns it spans
	track        int // row of its horizontal part, from 0; -1 if it has none
}

// backPort is how far beside the middle of a box those lines are that lead upwards.
const backPort = 2

// port is the column in which a link meets an item.
func (d *drawing) port(i int, up bool) int {
	x := d.items[i].x
	if up && d.items[i].kind == aNode {
		x += backPort
	}
	return x
}

// channels finds the nets between each two layers and gives each a row, so that no two lie over each other. It fails
// where nets would have to be above each other in a circle.
func (d *drawing) channels() ([][]net, bool) {
	type key struct {
		item int
		up   bool
	}
	out := make([][]net, max(0, len(d.layers)-1))
	index := make([]map[key]int, len(out))
	for _, l := range d.links {
		layer := d.items[l.upper].layer
		k := key{l.upper, l.up}
		if layer%2 == 1 {
			k.item = l.lower
		}
		if index[layer] == nil {
			index[layer] = map[key]int{}
		}
		n, ok := index[layer][k]
		if !ok {
			n = len(out[layer])
			index[layer][k] = n
			out[layer] = append(out[layer], net{up: l.up})
		}
		at := &out[layer][n]
		at.upper = append(at.upper, d.port(l.upper, l.up))
		at.lower = append(at.lower, d.port(l.lower, l.up))
	}
	for _, nets := range out {
		if !tracks(nets) {
			return nil, false
		}
	}
	return out, true
}

// tracks gives the nets of one channel their rows.
func tracks(nets []net) bool {
	above := make([][]int, len(nets)) // which nets each must be below
	begins := map[int]int{}           // the net that has a pin above, by column
	for k := range nets {
		n := &nets[k]
		all := slices.Concat(n.upper, n.lower)
		n.from, n.to, n.track = slices.Min(all), slices.Max(all), -1
		for _, x := range n.upper {
			begins[x] = k
		}
	}
	for k, n := range nets {
		for _, x := range n.lower {
			if a, ok := begins[x]; ok && a != k {
				above[k] = append(above[k], a)
			}
		}
	}
	order := make([]int, len(nets))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(nets[a].from, nets[b].from) })
	done := make([]bool, len(nets))
	left := len(nets)
	for row := 0; left > 0; row++ {
		end, placed := -1, 0
		var now []int
		for _, k := range order {
			n := &nets[k]
			if done[k] || slices.ContainsFunc(above[k], func(a int) bool { return !done[a] }) {
				continue
			}
			if n.from == n.to {
				done[k] = true
				placed++
				continue
			}
			if n.from > end {
				n.track, end = row, n.to
				now = append(now, k)
			}
		}
		for _, k := range now {
			done[k] = true
		}
		placed += len(now)
		if placed == 0 {
			return false
		}
		if left -= placed; len(now) == 0 {
			row-- // only straight ones, which need no row
		}
	}
	return true
}

func (d *drawing) drawText(labels [][]string, channels [][]net, width int) canvas {
	heights := make([]int, len(d.layers))
	for k, layer := range d.layers {
		heights[k] = 1
		for _, i := range layer {
			if d.items[i].kind == aNode {
				heights[k] = max(heights[k], len(labels[i])+2)
			}
		}
	}
	tops, y := make([]int, len(d.layers)), 0
	for k := range d.layers {
		tops[k] = y
		y += heights[k]
		if k < len(channels) {
			y += channelHeight(channels[k])
		}
	}
	c := newCanvas(width, y)
	number := 1
	for k, nets := range channels {
		top, bottom := tops[k]+heights[k], tops[k+1]-1
		for _, n := range nets {
			number++
			row := top + n.track + (k+1)%2
			if n.track < 0 {
				c.down(n.from, top-1, bottom+1, number)
				continue
			}
			for _, x := range n.upper {
				c.down(x, top-1, row, number)
			}
			for _, x := range n.lower {
				c.down(x, row, bottom+1, number)
			}
			c.across(row, n.from, n.to, number)
		}
	}
	for i, it := range d.items {
		d.drawItem(c, i, labels[i], tops[it.layer], heights[it.layer])
	}
	return c
}

// channelHeight is how many rows a channel needs: its tracks, and one for arrows at the side of the boxes.
func channelHeight(nets []net) int {
	rows := 0
	for _, n := range nets {
		rows = max(rows, n.track+1)
	}
	return rows + 1
}

// drawItem draws an item over the lines that end after it.
func (d *drawing) drawItem(c canvas, i int, lines []string, top, height int) {
	it := d.items[i]
	if it.kind != aNode {
		if len(lines) > 0 {
			st := Plain
			if d.g.Edges[it.of].Exception {
				st = Faint
			}
			c.text(it.x-columns(lines[0])/2, top, lines[0], st)
			return
		}
		for y := top; y < top+height; y++ {
			c[y][it.x] = cell{lines: north | south}
		}
		return
	}
	n := d.g.Nodes[it.of]
	st := n.style()
	x, tall := it.x-it.width/2, len(lines)+2
	for _, up := range []bool{false, true} { // from the box to the bottom of its layer
		if d.leaves(i, up) {
			c.down(d.port(i, up), top+tall-1, top+height, -1)
		}
	}
	frame := st
	if n.Current {
		frame = Strong
	}
	c.box(x, top, it.width, tall, n.Unreachable || n.Template || n.Unknown, frame)
	for k, line := range lines {
		how := st
		if k > 0 && (st == Strong || st == Lit) {
			how = Plain
		}
		c.text(x+2, top+1+k, line, how)
	}
	for _, l := range d.links {
		switch {
		case l.lower == i && !l.up:
			c.text(it.x, top-1, "▼", Plain)
		case l.lower == i && l.up:
			c[top][d.port(i, true)] = cell{r: '┴', style: frame}
		case l.upper == i && l.up:
			c.text(d.port(i, true), top+tall, "▲", Plain)
		case l.upper == i:
			c[top+tall-1][it.x] = cell{r: '┬', style: frame}
		}
	}
}

// leaves reports whether a line joins an item to the layer below.
func (d *drawing) leaves(i int, up bool) bool {
	return slices.ContainsFunc(d.links, func(l link) bool { return l.upper == i && l.up == up })
}

// style is how a state looks.
func (n Node) style() Style {
	switch {
	case n.Current:
		return Lit
	case n.Failed || n.Failure || n.Tone == Fell:
		return Bad
	case n.Unreachable:
		return Faint
	case n.Heat >= heats:
		return Hot
	case n.Heat >= 3:
		return Warm
	case n.Initial:
		return Strong
	}
	return Plain
}
