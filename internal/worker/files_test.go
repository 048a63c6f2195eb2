package worker

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// TestSettleOutside: whatever folder a job names, the run stays in its work tree.
func TestSettleOutside(t *testing.T) {
	t.Parallel()
	testenv.Command(t, "git")
	remote, outside := t.TempDir(), t.TempDir()
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = remote, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	for _, dir := range []string{filepath.Join(outside, ".loops"), filepath.Join(remote, "in/.loops")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(remote, "in/.loops/x.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(remote, "link")); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	git("add", "-A")
	git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", "base")
	commit := git("rev-parse", "HEAD")
	machine := t.TempDir()
	for folder, want := range map[string]string{
		"in": "", "": "has no folder .loops", "link": "has no folder link/.loops",
		"../in": "is not in the repository", "/in": "is not in the repository",
	} {
		h := Handover{Files: &ChildFiles{Remote: remote, Machine: machine, Run: "run", Commit: commit, Folder: folder}}
		k, err := Settle(t.Context(), &h, env)
		if err == nil {
			err = k.tree.Close()
			if want != "" {
				t.Errorf("%q: the run works in %s", folder, h.Dir)
			}
		} else if want == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", folder, err)
		}
		if err != nil && want == "" {
			t.Error(err)
		}
	}
}
