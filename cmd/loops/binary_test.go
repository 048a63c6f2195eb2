package main_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"loops/internal/programtest"
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
	code := programtest.Main(m)
	theBrowser.end()
	os.Exit(code)
}

var (
	binary        = programtest.Binary
	cleanEnv      = programtest.CleanEnv
	must          = programtest.Must
	readText      = programtest.ReadText
	startPostgres = programtest.Postgres
	ownPostgres   = programtest.OwnPostgres
	torture       = programtest.Torture
	waitForFile   = programtest.WaitForFile
	writeText     = programtest.WriteText
)
