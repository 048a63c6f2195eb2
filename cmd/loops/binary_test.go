package main_test

import (
	"os"
	"testing"

	"loops/internal/programtest"
)

func TestMain(m *testing.M) {
	defaultSignals()
	os.Exit(programtest.Main(m))
}

var (
	binary        = programtest.Binary
	cleanEnv      = programtest.CleanEnv
	loopsIn       = programtest.Loops
	must          = programtest.Must
	readText      = programtest.ReadText
	startPostgres = programtest.Postgres
	torture       = programtest.Torture
	waitForFile   = programtest.WaitForFile
	writeText     = programtest.WriteText
)
