package testenv

import (
	"flag"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// Command returns the path of a program, without which the test is skipped.
func Command(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		Skip(t, program+", which is not in the PATH")
	}
	return path
}

// Root skips the test unless root runs it. why is what only root may do, as a sentence of the form "only root mounts
// file systems".
func Root(t testing.TB, why string) {
	t.Helper()
	if os.Getuid() != 0 {
		Skip(t, "root: "+why)
	}
}

// Skip skips the test, which needs what is named. Where the variable CI is set, as services for continuous
// integration do, it fails the test instead: a test that does not look proves nothing.
func Skip(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("needs %s; CI may not skip a test", what)
	}
	t.Skipf("SKIPPED: needs %s", what)
}

// Parallel has up to n tests of a package run at once, unless the command line says how many. It is called by
// the TestMain of a package whose tests wait more than they compute.
func Parallel(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
}
