package storetest_test

import (
	"testing"

	"loops/persistence"
	"loops/persistence/storetest"
)

// openStore is what the author of a store writes: it opens a new, empty one for each case of the suite.
func openStore(*testing.T) persistence.Store { return storetest.NewMemory() }

// A store is one when it passes the suite. In the package of the store, this is a test of its own:
//
//	func TestStore(t *testing.T) { storetest.Run(t, openStore) }
func Example() {
	test := func(t *testing.T) { storetest.Run(t, openStore) }
	_ = test
}
