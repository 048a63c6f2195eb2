package testenv

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Pictures is the flag for where tests leave the pictures that they make; "" = nowhere: make pictures.
var Pictures = flag.String("pictures", "", "folder for the pictures of the README")

var buildDir string // "" = it was not built

// Main runs the tests of a package for its TestMain, and returns the exit code. Ten run at once unless
// -parallel is given: most of them wait for processes that sleep, so ten fit on two cores.
func Main(m *testing.M) int {
	Parallel(10)
	code := m.Run()
	if sharedServer != nil {
		_ = sharedServer.Remove()
	}
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
	return code
}

var build = sync.OnceValues(func() (string, error) {
	var err error
	if buildDir, err = os.MkdirTemp("", "loops-test-"); err != nil {
		return "", err
	}
	path := filepath.Join(buildDir, "loops")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "loops/cmd/loops")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released; and it starts in a quarter less time
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// RemoveSoon removes a folder, also while a run in the background is about to end in it.
func RemoveSoon(t testing.TB, dir string) {
	t.Helper()
	var err error
	if !Within(Patience, func() bool { err = os.RemoveAll(dir); return err == nil }) {
		t.Error(err)
	}
}

// Binary returns the path of the program, which the first call builds. Main removes it.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	Must(t, err)
	return path
}

// CleanEnv is the environment of this process without what could change a run, with home as the home folder
// and git configured to ignore the settings of the machine. LOOPS_VERIFY makes the program check its invariants.
func CleanEnv(bin, home string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "LL_") && !strings.HasPrefix(kv, "LOOPS_") && !strings.HasPrefix(kv, "FAKE_") &&
			!strings.HasPrefix(kv, "XDG_CONFIG_HOME=") {
			env = append(env, kv)
		}
	}
	return append(env,
		"HOME="+home, "NO_COLOR=1", "TZ=UTC", "LC_ALL=C.UTF-8", "LOOPS_BIN="+bin, "LOOPS_VERIFY=1",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=n@x", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=n@x",
	)
}

// Loops runs a command in a folder, which is to succeed, and returns what it prints.
func Loops(t testing.TB, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(Binary(t), args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("loops %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ReadText returns a file with a replacement character for what is not UTF-8. A file that does not exist is
// empty: it can be moved to the archive between a listing and now.
func ReadText(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	Must(t, err)
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}

// WriteText writes a file that its owner alone can read.
func WriteText(t testing.TB, path, text string) {
	t.Helper()
	Must(t, os.WriteFile(path, []byte(text), 0o600))
}
