package project_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loops/engine/project"
)

// `git add -A` committed the key of links where .loops had a .gitignore of the user that does not name the ledger.
func TestTheKeyOfLinksIsNotCommitted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
		return string(out)
	}
	git("init", "--quiet")
	if err := os.MkdirAll(filepath.Join(dir, ".loops"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".loops/.gitignore"), []byte("/runs/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := project.Open(dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if key, err := p.AnswerKey(true); err != nil || len(key) != 64 {
			t.Fatalf("the key is %q, %v", key, err)
		}
	}
	git("add", "-A")
	if added := git("ls-files"); strings.Contains(added, ".ledger") || !strings.Contains(added, ".loops/.gitignore") {
		t.Errorf("git adds\n%s", added)
	}
}
