package action

import (
	"testing"

	"loops/internal/needs"
)

// Most of these tests wait for processes that take their time to end.
func TestMain(m *testing.M) {
	needs.Parallel(8)
	m.Run()
}
