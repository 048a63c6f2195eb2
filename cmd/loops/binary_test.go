package main_test

import (
	"os"
	"testing"

	"loops/internal/programtest"
)

func TestMain(m *testing.M) {
	defaultSignals()
	code := programtest.Main(m)
	theBrowser.end()
	os.Exit(code)
}

var (
	binary        = programtest.Binary
	cleanEnv      = programtest.CleanEnv
	loopsIn       = programtest.Loops
	must          = programtest.Must
	readText      = programtest.ReadText
	startPostgres = programtest.Postgres
	ownPostgres   = programtest.OwnPostgres
	torture       = programtest.Torture
	waitForFile   = programtest.WaitForFile
	writeText     = programtest.WriteText
)
