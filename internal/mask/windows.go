package mask

import (
	"encoding/binary"
	"math/bits"
)

const (
	longText   = 16 // a text of so many bytes is found by its windows
	mostStride = 32
	window     = 4 // bytes
)

// windows finds long texts: it looks at four bytes of a text, and skips as many as each of them has more than
// four. Where there are few, and four bytes of each tell them from what programs print, tables of these are faster.
type windows struct {
	sets   fourGrouping
	exact  fours
	marks  []mark   // where the four bytes of each are
	keys   []uint32 // these bytes
	tabled bool     // exact is used
	stride int
	seen   [2048]uint64 // a filter of Bloom with the windows
	first  map[uint32]int32
	ends   []ending // of the lists that begin at first; 0 is none
}

// An ending is a text that is looked for, a place of a window in it, and the next of the same window.
type ending struct {
	mark
	next int32
}

// add has a text looked for. The stride is that of the shortest.
func (w *windows) add(n *needle, by method) {
	stride := min(len(n.text)-window+1, mostStride)
	if w.stride == 0 || stride < w.stride {
		w.stride = stride
	}
	if by == byFours && len(w.marks) <= mostMarks {
		at := w.sets.add(n.pattern(), len(n.text)-3)
		w.marks, w.keys = append(w.marks, mark{n, at}), append(w.keys, binary.LittleEndian.Uint32(n.text[at:]))
		w.tabled = len(w.marks) <= mostMarks && w.sets.chance() <= mostChance
	}
	if w.first == nil {
		w.first, w.ends = map[uint32]int32{}, make([]ending, 1)
	}
	for at := range stride { // no more than w.stride of them are needed
		v := binary.LittleEndian.Uint32(n.text[at:])
		word, bits := place(v)
		w.seen[word] |= bits
		w.ends = append(w.ends, ending{mark{n, at}, w.first[v]})
		w.first[v] = int32(len(w.ends) - 1)
	}
}

// How many texts tables are for, and how often, of all places, one may seem to be there that is not.
const (
	mostMarks  = 64
	mostChance = 1.0 / 1000
)

// mostSeeming is how many places of a block may seem to be of a long text before its rest is searched by
// windows: what is printed is not what programs print otherwise.
const mostSeeming = 32

// scan adds the long texts whose four bytes are from i on, and returns up to where: at or near to.
func (w *windows) scan(found *finding, i, to int) int {
	b := found.b[:min(len(found.b), to+scanned-64)]
	for seeming := 0; len(b)-i >= scanned && seeming < mostSeeming; {
		at, lanes := fourScan(&b[i], len(b)-i, &w.exact)
		i += at
		if lanes == 0 {
			break
		}
		for ; lanes != 0; lanes &= lanes - 1 {
			at := i + bits.TrailingZeros64(lanes)
			v := binary.LittleEndian.Uint32(b[at:])
			for k, key := range w.keys {
				if key == v {
					w.marks[k].look(found, at)
				}
			}
			seeming++
		}
		i += 64
	}
	return i
}

// place returns where a window is in the filter.
func place(v uint32) (word uint32, bits uint64) {
	h := v * 0x9E3779B1
	return h >> 21, 1<<(h>>15&63) | 1<<(h>>9&63)
}

// find adds the long texts of a block.
func (w *windows) find(found *finding, from, to int) {
	if w.stride == 0 {
		return
	}
	if w.tabled { // what is left over is looked at from the beginning of a text whose four bytes are in it
		found.window = max(0, w.scan(found, from, to)-mostPlace)
	}
	i, b := found.window, found.b
	for ; i < to && i+window <= len(b); i += w.stride {
		v := binary.LittleEndian.Uint32(b[i:])
		if word, bits := place(v); w.seen[word]&bits == bits {
			w.at(found, i, v)
		}
	}
	found.window = i
}

// at adds the texts that have the window v, which is at i.
func (w *windows) at(found *finding, i int, v uint32) {
	for n := w.first[v]; n != 0; n = w.ends[n].next {
		w.ends[n].look(found, i)
	}
}
