package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// TestWorkerTrust: a worker goes by what its own user trusts. A loop in its checkout that others wrote is not
// begun there, though the user who submitted it wrote it, until the user of the worker says so with loops trust.
func TestWorkerTrust(t *testing.T) {
	t.Parallel()
	testenv.Command(t, "git")
	f := newThree(t)
	f.env = []string{"LOOPS_TRUST=", "XDG_STATE_HOME=" + filepath.Join(f.dir, "state")}
	f.write("go", "")
	other := f
	other.dir = filepath.Join(t.TempDir(), "clone")
	other.env = []string{
		"LOOPS_TRUST=", "XDG_STATE_HOME=" + filepath.Join(t.TempDir(), "state"), "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_EMAIL=me@example.org", "GIT_COMMITTER_EMAIL=me@example.org",
	}
	origin := t.TempDir()
	must(t, os.Mkdir(filepath.Join(origin, ".loops"), 0o755))
	must(t, os.WriteFile(filepath.Join(origin, ".loops", "three.yaml"), []byte(threeSteps), 0o644))
	script := `cd "$1" && git init -q && git add -A && git -c user.name=eve -c user.email=eve@example.org commit -qm one && git clone -q "$1" "$2"`
	cmd := exec.Command("bash", "-c", script, "bash", origin, other.dir)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	other.write("go", "")
	id := f.submit("three")
	w := other.worker()
	f.until("the worker refused it", func() bool {
		b, _ := os.ReadFile(w.log)
		return bytes.Contains(b, []byte("loop three is not yours")) && bytes.Contains(b, []byte("loops trust three"))
	})
	if n := len(other.lines("steps")); n != 0 {
		t.Errorf("%d steps were done", n)
	}
	other.loops("trust", "three")
	f.until("the run is over", func() bool { return f.status(id) == "completed" })
	if got := strings.Join(other.lines("steps"), " "); got != "a b B c" {
		t.Errorf("the steps were %s", got)
	}
	w.drain()
}
