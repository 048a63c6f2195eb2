package mask

import "encoding/binary"

const (
	longText   = 16 // a text of so many bytes is found by its windows
	mostStride = 32
	window     = 4 // bytes
)

// windows finds long texts: it looks at four bytes of a text, and skips as many as each of them has more than four.
type windows struct {
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
func (w *windows) add(n *needle) {
	stride := min(len(n.text)-window+1, mostStride)
	if w.stride == 0 || stride < w.stride {
		w.stride = stride
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

// place returns where a window is in the filter.
func place(v uint32) (word uint32, bits uint64) {
	h := v * 0x9E3779B1
	return h >> 21, 1<<(h>>15&63) | 1<<(h>>9&63)
}

// find adds the long texts that have a window before to.
func (w *windows) find(found *finding, to int) {
	if w.stride == 0 {
		return
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
