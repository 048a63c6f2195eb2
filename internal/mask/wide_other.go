//go:build !amd64

package mask

// wide says that wideScan can be called.
const wide = false

func wideScan(*byte, int, *triples) (at int, lanes uint64) { panic("mask: no wide scan here") }
