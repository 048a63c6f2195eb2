package persistence_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/persistence"
)

// TestCopyWork copies what actions left, not what the store and people keep beside it, and no link that leads elsewhere.
func TestCopyWork(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, mode := range map[string]os.FileMode{
		"out/deep/file é": 0o644, "script": 0o755, "read-only": 0o444, "definition.yaml": 0o644, "definition.2.yaml": 0o644, "blobs/abc": 0o600, ".paused": 0o644, "definition.txt": 0o644,
	} {
		path := filepath.Join(from, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(from, filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	c, err := persistence.CopyWork(t.Context(), from, to)
	if err != nil || c.Files != 4 || c.Bytes != int64(len("out/deep/file é"+"script"+"read-only"+"definition.txt")) || len(c.Left) != 1 || filepath.Base(c.Left[0]) != "link" {
		t.Errorf("%+v, %v", c, err)
	}
	var got []string
	err = filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(to, path)
		info, err := e.Info()
		got = append(got, rel+" "+info.Mode().String())
		return err
	})
	if want := "definition.txt -rw-r--r--, out/deep/file é -rw-r--r--, read-only -r--r--r--, script -rwxr-xr-x"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("%v\n got %s\nwant %s", err, strings.Join(got, ", "), want)
	}
	if c, err := persistence.CopyWork(t.Context(), filepath.Join(from, "nosuch"), t.TempDir()); err != nil || c.Files != 0 {
		t.Errorf("of no folder: %+v, %v", c, err)
	}
}
