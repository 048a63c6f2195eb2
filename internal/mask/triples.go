package mask

import "math/bits"

// Groups of texts that are looked for at once; each has a bit of a byte.
const groups = 8

// triples finds places of a text where three bytes side by side may be those of a text that is looked for. For each of
// the three there are two tables with a bit for each group: by the lower and by the upper four bits of a byte. Each is
// there twice, as AVX2 wants it. Bytes above 127 are none of any.
type triples [6][32]byte

// A set is what the bytes at one of three places may be: their lower and their upper four bits.
type halves struct{ low, high uint16 }

// A group is what its three bytes may be.
type group [3]halves

// letters is how often each letter is there, in percent.
var letters = [...]float64{
	5.5, 1, 2.3, 2.8, 8.5, 1.6, 1.5, 2, 5, 0.2, 0.6, 2.8, 1.8, 4.8, 5, 1.6, 0.2, 4.2, 4.5, 6.2,
	2.2, 0.9, 1, 0.5, 1.2, 0.2,
}

// weight is how often each byte is in what programs print, roughly, by its upper and its lower four bits.
var weight = func() (w [16][16]float64) {
	for c := range 256 {
		n := 0.02
		switch {
		case c >= 'a' && c <= 'z':
			n = letters[c-'a']
		case c >= '0' && c <= '9':
			n = 1.4
		case c == ' ':
			n = 10
		case c == '_':
			n = 3
		case c >= 'A' && c <= 'Z':
			n = 0.4
		case c == '/' || c == '.' || c == '-' || c == ':' || c == '"' || c == '\n':
			n = 1.2
		case c > ' ' && c < 0x7f:
			n = 0.3
		}
		w[c>>4][c&15] = n / 100
	}
	return w
}()

// chance is how likely three bytes of what programs print may be of a group.
func (g *group) chance() float64 {
	all := 1.0
	for _, h := range g {
		sum := 0.0
		for high := h.high; high != 0; high &= high - 1 {
			row := &weight[bits.TrailingZeros16(high)]
			for low := h.low; low != 0; low &= low - 1 {
				sum += row[bits.TrailingZeros16(low)]
			}
		}
		all *= sum
	}
	return all
}

// with returns a group with three bytes more.
func (g group) with(b []byte) group {
	for k := range g {
		g[k].low |= 1 << (b[k] & 15)
		g[k].high |= 1 << (b[k] >> 4)
	}
	return g
}

// mostPlace is before which byte of a text those are that it is looked for by.
const mostPlace = 24

// A grouping is the groups of all that is looked for by its triples.
type grouping [groups]group

// add takes in a text of three bytes at least, by three of its bytes side by side that make the least difference. It
// returns where these are, and false where no three are of ASCII.
func (all *grouping) add(text []byte) (at int, ok bool) {
	least, into := 2.0, 0
	var next group
	for from := 0; from+3 <= len(text) && from < mostPlace; from++ {
		if text[from]|text[from+1]|text[from+2] > 0x7f {
			continue
		}
		for i := range all {
			g := all[i].with(text[from:])
			if more := g.chance() - all[i].chance(); more < least {
				least, at, into, next = more, from, i, g
			}
		}
	}
	if least > 1 {
		return 0, false
	}
	all[into] = next
	return at, true
}

// addByte takes in a byte that may have any two after it. It comes first, and has a group of its own.
func (all *grouping) addByte(c byte) {
	all[0] = all[0].with([]byte{c, c, c})
	for k := 1; k < len(all[0]); k++ {
		all[0][k] = halves{1<<16 - 1, 1<<16 - 1}
	}
}

// tables returns the tables of groups.
func (all *grouping) tables() (t triples) {
	for i, g := range all {
		for k, h := range g {
			for half := range 16 {
				bit := byte(1) << i
				for _, copied := range []int{half, half + 16} {
					if h.low>>half&1 != 0 {
						t[2*k][copied] |= bit
					}
					if h.high>>half&1 != 0 {
						t[2*k+1][copied] |= bit
					}
				}
			}
		}
	}
	return t
}
