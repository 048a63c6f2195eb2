package mask

import "golang.org/x/sys/cpu"

// fastest is the fastest method of this processor.
var fastest = func() method {
	switch {
	case cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512F:
		return byFours
	case cpu.X86.HasAVX2:
		return byTriples
	}
	return byPairs
}()

// wideScan looks at 64 places of a text of n bytes at once, until three bytes side by side may be among triples. It
// returns the first of these 64 places and a bit for each that may be; 0 = there is none up to at, after which fewer
// than 67 bytes are left. It needs AVX2.
//
//go:noescape
func wideScan(b *byte, n int, t *triples) (at int, lanes uint64)

// fourScan is wideScan for four bytes side by side. It needs AVX-512 with VBMI.
//
//go:noescape
func fourScan(b *byte, n int, t *fours) (at int, lanes uint64)
