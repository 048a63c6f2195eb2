//go:build !amd64

package mask

// fastest is the only method that there is here.
const fastest = byPairs

func wideScan(*byte, int, *triples) (at int, lanes uint64) { panic("mask: no wide scan here") }

func fourScan(*byte, int, *fours) (at int, lanes uint64) { panic("mask: no wide scan here") }
