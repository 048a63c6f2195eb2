package main_test

import (
	"flag"
	"os"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver

	"loops/internal/testenv"
)

func TestMain(m *testing.M) {
	defaultSignals()
	flag.Parse()
	if dir := testenv.TempDir(); dir != "" {
		if err := os.Setenv("TMPDIR", dir); err != nil {
			panic(err)
		}
	}
	switch {
	case *crashSeed != 0:
	case *torture:
		*crashSeed = uint64(time.Now().UnixNano())
	default:
		*crashSeed = 1
	}
	code := testenv.Main(m)
	theBrowser.end()
	os.Exit(code)
}

var (
	binary        = testenv.Binary
	cleanEnv      = testenv.CleanEnv
	must          = testenv.Must
	readText      = testenv.ReadText
	startPostgres = testenv.Postgres
	ownPostgres   = testenv.OwnPostgres
	torture       = testenv.Torture
	waitForFile   = testenv.WaitForFile
	writeText     = testenv.WriteText
)
