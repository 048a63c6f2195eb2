package storetest_test

import (
	"testing"

	"loops/persistence"
	"loops/persistence/storetest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) persistence.Store { return storetest.NewMemory() })
}
