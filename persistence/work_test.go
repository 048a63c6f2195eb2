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

// TestCopyWork copies what actions left, not what the store and people keep beside it, and no link that leads
// elsewhere.
func TestCopyWork(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	for name, mode := range map[string]os.FileMode{
		"out/deep/file é": 0o644, "script": 0o755, "read-only": 0o444, "definition.yaml": 0o644,
		"definition.2.yaml": 0o644, "definition.loop": 0o644, "definition.2.loop": 0o644, "blobs/abc": 0o600,
		".paused": 0o644, "definition.txt": 0o644,
	} {
		path := filepath.Join(from, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), mode)); err !=
			nil {
			t.Fatal(err)
		}
	}
	for name, leads := range map[string]string{
		"away": "/etc/hosts", "up": "../x", "latest": "out/deep/file é", "out/whole": from + "/script",
		"out/back": "../out/../../" + filepath.Base(from) + "/script", "self": from, "gone": "nosuch",
	} {
		if err := os.Symlink(leads, filepath.Join(from, name)); err != nil {
			t.Fatal(err)
		}
	}
	needless := func(rel string) bool { return rel == "out/needless" }
	if err := os.WriteFile(filepath.Join(from, "out/needless"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := persistence.CopyWork(t.Context(), from, to, needless)
	if err != nil || c.Files != 9 || c.Bytes != int64(len("out/deep/file é"+"script"+"read-only"+"definition.txt")) ||
		strings.Join(c.Left, " ") != from+"/away "+from+"/up" {
		t.Errorf("%+v, %v", c, err)
	}
	if again, err := persistence.CopyWork(t.Context(), from, to, needless); err != nil || again.Files != c.Files ||
		again.Bytes != c.Bytes {
		t.Errorf("after a worker was killed at it: %+v, %v", again, err)
	}
	var got []string
	err = filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(to, path)
		if leads, err := os.Readlink(path); err == nil {
			got = append(got, rel+" -> "+strings.Replace(leads, to, "TO", 1))
			return nil
		}
		info, err := e.Info()
		got = append(got, rel+" "+info.Mode().String())
		return err
	})
	if want := "definition.txt -rw-r--r--, gone -> nosuch, latest -> out/deep/file é, out/back -> ../script, " +
		"out/deep/file é -rw-r--r--, out/whole -> TO/script, read-only -r--r--r--, script " +
		"-rwxr-xr-x, self -> TO"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("%v\n got %s\nwant %s", err, strings.Join(got, ", "), want)
	}
	if c, err := persistence.CopyWork(t.Context(), filepath.Join(from, "nosuch"), t.TempDir(), needless); err !=
		nil || c.Files != 0 {
		t.Errorf("of no folder: %+v, %v", c, err)
	}
}
