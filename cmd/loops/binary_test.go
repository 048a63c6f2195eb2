package main_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// These tests drive the real program from outside, so they share one build of it.

var buildDir string

func TestMain(m *testing.M) {
	flag.Parse()
	// Most tests here wait for processes that sleep, so six at once fit on two cores.
	if !flagGiven("test.parallel") {
		if err := flag.Set("test.parallel", "6"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	dir, err := os.MkdirTemp("", "loops-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func flagGiven(name string) bool {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

var buildOnce = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "loops")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build .: %w\n%s", err, out)
	}
	return path, nil
})

// binary returns the path of the program, built once per test run.
func binary(t testing.TB) string {
	t.Helper()
	path, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// cleanEnv is the environment of this process without what could change a run, with home as the home folder
// and git told to ignore the settings of the machine. LOOPS_VERIFY makes the program check its invariants.
func cleanEnv(bin, home string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "LL_") && !strings.HasPrefix(kv, "LOOPS_") && !strings.HasPrefix(kv, "FAKE_") && !strings.HasPrefix(kv, "XDG_CONFIG_HOME=") {
			env = append(env, kv)
		}
	}
	return append(env,
		"HOME="+home, "NO_COLOR=1", "TZ=UTC", "LC_ALL=C.UTF-8", "LOOPS_BIN="+bin, "LOOPS_VERIFY=1",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=n@x", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=n@x",
	)
}
