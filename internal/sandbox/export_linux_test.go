package sandbox

import (
	"maps"
	"slices"
	"testing"
)

// What tests of runs that have a sandbox need of those here.

// HostileNames are the names of the programs, and whether a workspace lets each do what it does: that of the
// network, and files that are put back afterwards.
func HostileNames() (names []string, may map[string]bool) {
	may = map[string]bool{"kill everything": true} // it reaches what is in the same sandbox
	for _, name := range slices.Concat(network, added) {
		may[name] = true
	}
	return slices.Sorted(maps.Keys(hostile)), may
}

// HostileVictim makes what the programs are after, and returns its work tree, the environment by which they
// find it, and what tells its files outside of the tree.
func HostileVictim(t *testing.T) (tree string, env []string, outside func() map[string]string) {
	v := newVictim(t)
	return v.tree, v.env(""), func() map[string]string { return state(v.home, v.other) }
}
