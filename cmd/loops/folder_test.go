package main_test

import (
	"os/exec"
	"testing"

	"loops/internal/testenv"
)

// A folder is a project with its records in files.
type folder struct {
	t   *testing.T
	dir string
}

func (f folder) start(args ...string) *testenv.Process {
	f.t.Helper()
	cmd := exec.Command(binary(f.t), args...)
	cmd.Dir, cmd.Env = f.dir, cleanEnv(binary(f.t), f.dir)
	return testenv.StartProcess(f.t, cmd)
}

// output runs a command that is to succeed, and returns what it prints.
func (f folder) output(args ...string) string {
	f.t.Helper()
	return loopsIn(f.t, f.dir, cleanEnv(binary(f.t), f.dir), args...)
}
