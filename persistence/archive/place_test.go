package archive

import (
	"os"
	"path/filepath"
	"testing"

	"loops/engine/project"
)

// What an import that was killed had placed is taken back from whichever folder the next command works: loops
// -C PROJECT import calls the store PROJECT/.loops, and loops sweep in the project calls it .loops.
func TestKilledImportSeenFromAnotherFolder(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	dir := filepath.Join(above, "project")
	if err := os.MkdirAll(filepath.Join(dir, project.Folder, "runs"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	opened := func(cwd, arg string) (*project.Project, *project.Records) {
		t.Helper()
		p, err := project.Open(arg, project.Options{Cwd: cwd, Env: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		store, err := p.Records(ctx, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return p, store
	}

	p, store := opened(above, "project")
	unpacked := filepath.Join(p.RunsDir(), folderPrefix+"1") // no process holds its lock
	from, placed := filepath.Join(unpacked, "work"), filepath.Join(p.RunsDir(), "fix-1", "ledger")
	if err := os.MkdirAll(from, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "ledger"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WillPlace(store, from, "fix-1"); err != nil {
		t.Fatal(err)
	}
	if err := Place(from, filepath.Dir(placed)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(placed); err != nil {
		t.Fatal(err)
	}

	p, store = opened(dir, "")
	ForgetDead(ctx, store, p.RunsDir())
	for _, path := range []string{placed, filepath.Dir(placed), unpacked} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}
