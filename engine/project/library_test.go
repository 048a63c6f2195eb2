package project

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCatalogGone: the folder of further loops that .loops/config.yaml names is not there. The error names the
// line, and nothing waits for itself.
func TestCatalogGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, Folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, Folder, "config.yaml"), []byte("catalog: gone\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Open(dir, Options{Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	found := make(chan error, 1)
	go func() {
		_, err := p.Library()
		found <- err
	}()
	select {
	case err := <-found:
		if bad, ok := errors.AsType[*CatalogError](err); !ok || bad.From != ".loops/config.yaml:1: catalog " {
			t.Errorf("Library: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Library does not return")
	}
}
