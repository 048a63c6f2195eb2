package mask

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// A needle is a text that is replaced where it stands.
type needle struct {
	text  []byte
	label string // of its placeholder
	shape *Shape // whose prefix it is; nil = it is replaced itself
}

// A mark is where in a needle bytes are that the text is searched for.
type mark struct {
	*needle
	at int
}

// A method is how a text is searched.
type method byte

const (
	byPairs   method = iota // at each second byte; any processor can
	byTriples               // needs AVX2
	byFours                 // needs AVX-512 with VBMI
)

// A finder finds needles: long ones by windows, and all others by bytes side by side, as many as its method
// says. The zero finder finds nothing.
type finder struct {
	by     method
	pairs  *pairs
	shared bool     // pairs is that of another finder, too
	marks  [][]mark // by number
	sign   *needle  // is a byte, that any other may follow; nil = none
	groups grouping // of byTriples
	wide   triples
	narrow bool         // something that is looked for cannot be found by triples
	sets   fourGrouping // of byFours
	exact  fours
	long   windows
}

// pairs have the number of what is looked for that has two bytes at its mark, 0 = nothing.
type pairs [1 << 16]uint16

// newShaped returns a finder that finds tokens by their shape.
func newShaped(by method) *finder {
	f := &finder{by: by}
	f.lookByte(&needle{text: []byte{'@'}, shape: addressShape})
	for i := range shapes {
		if s := &shapes[i]; s != addressShape {
			f.look(&needle{text: []byte(s.Prefix), shape: s})
		}
	}
	f.look(&needle{text: []byte(foreignMark)})
	f.ready()
	return f
}

var shaped = sync.OnceValue(func() *finder { return newShaped(fastest) })

// signs are the numbers of pairs that have the sign, as bits: first, second, both.
const signs = 3

// own makes pairs that are this finder's alone.
func (f *finder) own() {
	switch {
	case f.pairs == nil:
		f.pairs, f.marks = new(pairs), make([][]mark, 1)
	case f.shared:
		p := *f.pairs
		f.pairs, f.shared = &p, false
	}
}

// lookByte has a needle of one byte looked for. It is the first that is.
func (f *finder) lookByte(n *needle) {
	f.own()
	f.sign = n
	switch f.by {
	case byTriples:
		f.groups.addByte(n.text[0])
	case byFours:
		f.sets.add(n.pattern(), 1)
	}
	f.marks = append(f.marks, []mark{{n, 0}}, []mark{{n, -1}}, []mark{{n, 0}, {n, -1}})
	sign := int(n.text[0])
	for c := range 256 {
		f.pairs[sign|c<<8], f.pairs[c|sign<<8] = 1, 2
	}
	f.pairs[sign|sign<<8] = signs
}

// look has a needle looked for that is no long text. Where the text is searched by pairs, it is at each second
// byte, so the needle is marked at two places side by side.
func (f *finder) look(n *needle) {
	f.own()
	best, ok := 0, true
	switch f.by {
	case byTriples:
		best, ok = f.groups.add(n.text)
	case byFours:
		best = f.sets.add(n.pattern(), len(n.text)-2)
	}
	f.narrow = f.narrow || !ok
	for _, at := range []int{best, best + 1} {
		number := &f.pairs[binary.LittleEndian.Uint16(n.text[at:])]
		if *number <= signs {
			f.marks = append(f.marks, f.marks[*number])
			*number = uint16(len(f.marks) - 1)
		}
		f.marks[*number] = append(slices.Clip(f.marks[*number]), mark{n, at})
	}
}

// ready has the finder find what was added.
func (f *finder) ready() {
	switch f.by {
	case byTriples:
		f.wide = f.groups.tables()
	case byFours:
		f.exact, f.long.exact = f.sets.tables(), f.long.sets.tables()
	}
}

// A finding is what was found in a text.
type finding struct {
	b      []byte
	hits   []hit
	window int  // where the next window of a long text is looked at
	header bool // the header of a private key may be in it
}

// find returns the parts of b that are to be replaced, in order, and whether the header of a private key may be in it.
func (f *finder) find(b []byte) (hits []hit, header bool) {
	if f.pairs == nil || len(b) == 0 {
		return nil, false
	}
	found := finding{b: b}
	for from := 0; from < len(b); from += block {
		to := min(from+block, len(b))
		f.pairwise(&found, f.scan(&found, from, to), to)
		f.long.find(&found, from, to)
	}
	if last := len(b) - 1; f.sign != nil && b[last] == f.sign.text[0] {
		found.password(last)
	}
	return chosen(found.hits), found.header
}

// chosen returns the hits that count, in order: the first that begins, and of those the longest.
func chosen(hits []hit) []hit {
	if len(hits) < 2 {
		return hits
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	done := 0
	return slices.DeleteFunc(hits, func(h hit) bool {
		if h.from < done {
			return true
		}
		done = h.to
		return false
	})
}

// block is how much is searched in both ways before the next: it stays in the cache of a processor meanwhile. It is a
// multiple of the places that wideScan looks at, so that nothing is left over between two blocks.
const block = 16 << 10

// scan adds what has its mark from i on, and returns up to where: at or near to.
func (f *finder) scan(found *finding, i, to int) int {
	if f.by == byPairs || f.narrow {
		return i
	}
	b := found.b[:min(len(found.b), to+scanned-64)]
	for len(b)-i >= scanned {
		var at int
		var lanes uint64
		if f.by == byFours {
			at, lanes = fourScan(&b[i], len(b)-i, &f.exact)
		} else {
			at, lanes = wideScan(&b[i], len(b)-i, &f.wide)
		}
		i += at
		if lanes == 0 {
			break
		}
		for ; lanes != 0; lanes &= lanes - 1 {
			f.at(found, i+bits.TrailingZeros64(lanes))
		}
		i += 64
	}
	return i
}

// scanned is how many bytes wideScan and fourScan look at to know 64 places.
const scanned = 67

// pairwise adds what has its mark from i on, up to to.
func (f *finder) pairwise(found *finding, i, to int) {
	b := found.b
	for ; i+8 <= to; i += 8 {
		v := binary.LittleEndian.Uint64(b[i:])
		if f.pairs[uint16(v)]|f.pairs[uint16(v>>16)]|f.pairs[uint16(v>>32)]|f.pairs[uint16(v>>48)] == 0 {
			continue
		}
		for k := i; k < i+8; k += 2 {
			f.at(found, k)
		}
	}
	for ; i < to && i+2 <= len(b); i += 2 {
		f.at(found, i)
	}
}

// at adds what has its mark at i.
func (f *finder) at(found *finding, i int) {
	number := f.pairs[binary.LittleEndian.Uint16(found.b[i:])]
	if number <= signs {
		if number&1 != 0 {
			found.password(i)
		}
		if number&2 != 0 {
			found.password(i + 1)
		}
		return
	}
	for _, n := range f.marks[number] {
		n.look(found, i)
	}
}

// password adds the password that the sign at a place ends.
func (found *finding) password(at int) {
	if from, to, ok := passwordBefore(found.b, at); ok {
		found.hits = append(found.hits, hit{from: from, to: to, shape: addressShape})
	}
}

// look adds a needle if its mark is at i.
func (n mark) look(found *finding, i int) {
	b, from := found.b, i-n.at
	if from < 0 || !bytes.HasPrefix(b[from:], n.text) {
		return
	}
	switch {
	case n.shape != nil:
		found.header = found.header || n.shape == keyShape
		if from > 0 && word[b[from-1]] && word[n.text[0]] && !escaped(b[:from]) {
			return // inside a word
		}
		if n.shape == addressShape {
			found.password(from)
			return
		}
		if f, t, ok := n.shape.match(b[from:]); ok {
			found.hits = append(found.hits, hit{from: from + f, to: from + t, shape: n.shape})
		}
	case n.label == "":
		if h, ok := foreign(b, from); ok {
			found.hits = append(found.hits, h)
		}
	default:
		found.hits = append(found.hits, hit{from: from, to: from + len(n.text), label: n.label})
	}
}

// escaped reports whether a text ends with an end of a line, or another sign, as JSON and Go write it: \n.
func escaped(b []byte) bool {
	n := len(b)
	return n > 1 && b[n-2] == '\\' && strings.IndexByte("nrtbf", b[n-1]) >= 0
}

// foreign finds a placeholder that others wrote.
func foreign(b []byte, i int) (hit, bool) {
	end := i + len(foreignMark)
	for end < len(b) && end < i+200 && (word[b[end]] || b[end] == '-' || b[end] == ':') {
		end++
	}
	if end == i+len(foreignMark) || end == len(b) || b[end] != ')' {
		return hit{}, false
	}
	return hit{from: i, to: end + 1}, true
}
