package mask

import "golang.org/x/sys/cpu"

// wide says that this processor has AVX2.
var wide = cpu.X86.HasAVX2

// wideScan looks at 64 places of a text of n bytes at once, until three bytes side by side may be among triples. It
// returns the first of these 64 places and a bit for each that may be; 0 = there is none up to at, after which fewer
// than 66 bytes are left. It needs AVX2.
//
//go:noescape
func wideScan(b *byte, n int, t *triples) (at int, lanes uint64)
