package git

import (
	"flag"
	"os"
	"testing"

	"loops/internal/testenv"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if dir := testenv.TempDir(); dir != "" {
		if err := os.Setenv("TMPDIR", dir); err != nil {
			panic(err)
		}
	}
	m.Run()
}
