package engine

import (
	"flag"
	"os"
	"testing"

	_ "modernc.org/sqlite" // the driver

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
