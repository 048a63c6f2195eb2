package diagram

import "math"

// place gives every item its x, so that what is joined is above each other as far as there is room, and returns
// how wide the drawing is. gap is the room between neighbours. Every x is a multiple of grid, plus 1
// in odd layers if stagger is set.
func (d *drawing) place(gap, grid int, stagger bool) int {
	for _, layer := range d.layers {
		x := 0
		for k, i := range layer {
			if k > 0 {
				x += d.apart(layer[k-1], i, gap, grid)
			}
			d.items[i].x = x
		}
	}
	for range 12 {
		for _, layer := range d.layers {
			d.settle(layer, d.prev, gap, grid)
		}
		for k := len(d.layers) - 1; k >= 0; k-- {
			d.settle(d.layers[k], d.next, gap, grid)
		}
	}
	for _, layer := range d.layers {
		d.settle(layer, d.prev, gap, grid)
	}
	for _, layer := range d.layers {
		for k, i := range layer { // what is joined to nothing stays beside its neighbour
			if k > 0 && len(d.prev[i])+len(d.next[i]) == 0 {
				d.items[i].x = d.items[layer[k-1]].x + d.apart(layer[k-1], i, gap, grid)
			}
		}
	}
	left := math.MaxInt
	for _, it := range d.items {
		left = min(left, it.x-it.width/2)
	}
	left = int(math.Floor(float64(left)/float64(grid))) * grid
	right := 0
	for i := range d.items {
		it := &d.items[i]
		it.x -= left
		if stagger && it.layer%2 == 1 {
			it.x++
		}
		right = max(right, it.x+it.width-it.width/2)
	}
	return right
}

// apart is how far the middles of two neighbours must be from each other.
func (d *drawing) apart(a, b, gap, grid int) int {
	w := (d.items[a].width+1)/2 + gap + (d.items[b].width+1)/2
	return (w + grid - 1) / grid * grid
}

// settle moves the items of a layer to the middle of what they are joined to, as near as their order and their widths
// allow: the least squares under these limits, found by pooling neighbours that want to overlap.
func (d *drawing) settle(layer []int, near [][]int, gap, grid int) {
	type pool struct {
		sum, weight float64
		n           int
	}
	var pools []pool
	offset := make([]int, len(layer))
	for k, i := range layer {
		if k > 0 {
			offset[k] = offset[k-1] + d.apart(layer[k-1], i, gap, grid)
		}
		want, weight := float64(d.items[i].x), 0.05 // what is joined to nothing gives way
		if len(near[i]) > 0 {
			want, weight = 0, 1
			for _, j := range near[i] {
				want += float64(d.items[j].x)
			}
			want /= float64(len(near[i]))
			if d.items[i].kind == aTrunk {
				weight = 4 // so that long lines are straight
			}
		}
		pools = append(pools, pool{(want - float64(offset[k])) * weight, weight, 1})
		for n := len(pools); n > 1 && pools[n-2].sum*pools[n-1].weight > pools[n-1].sum*pools[n-2].weight; n-- {
			last := pools[n-1]
			pools = pools[:n-1]
			p := &pools[n-2]
			p.sum, p.weight, p.n = p.sum+last.sum, p.weight+last.weight, p.n+last.n
		}
	}
	k := 0
	for _, p := range pools {
		y := int(math.Round(p.sum/p.weight/float64(grid))) * grid
		for range p.n {
			d.items[layer[k]].x = y + offset[k]
			k++
		}
	}
}
