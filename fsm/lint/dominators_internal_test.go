package lint

import (
	"math/rand/v2"
	"testing"
)

// TestDominators compares the tree with the definition: without d, no way leads from the root to s.
func TestDominators(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(12)
		next := make([][]int, n)
		for range r.IntN(3 * n) {
			i := r.IntN(n)
			next[i] = append(next[i], r.IntN(n))
		}
		root := r.IntN(n)
		tree := dominators(next, root)
		for d := range n {
			by := reach(next, []int{root}, func(i int) bool { return i == d }, nil)
			all := reach(next, []int{root}, nil, nil)
			for s := range n {
				want := all[s] < 0 || by[s] < 0
				if got := tree.over(d, s); got != want {
					t.Fatalf("seed %d: %v from %d: over(%d, %d) = %v, want %v", seed, next, root, d, s, got, want)
				}
			}
		}
	}
}

// TestDominatorsLarge makes sure that neither a chain nor a dense graph takes more than linear space of a stack.
func TestDominatorsLarge(t *testing.T) {
	t.Parallel()
	const n = 200_000
	next := make([][]int, n)
	for i := range n - 1 {
		next[i] = []int{i + 1, i / 2}
	}
	if tree := dominators(next, 0); !tree.over(n/2, n-1) || tree.over(n-1, n/2) {
		t.Error("a chain is dominated by its earlier states")
	}
}
