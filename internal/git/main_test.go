package git

import (
	"os"
	"testing"

	"loops/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Parallel(8)
	if dir := testenv.TempDir(); dir != "" {
		if err := os.Setenv("TMPDIR", dir); err != nil {
			panic(err)
		}
	}
	m.Run()
}
