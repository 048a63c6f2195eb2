package action

import (
	"testing"

	"loops/internal/testenv"
)

// Most of these tests wait for processes that take their time to end.
func TestMain(m *testing.M) {
	testenv.Parallel(8)
	m.Run()
}
