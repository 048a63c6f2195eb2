package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReadCase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.txtar")
	write(t, path, "about it\n-- case.json --\n{}\n-- a/x.pid (no newline at end) --\n12\n-- a/b/y --\n<CWD>\n\n"+
		"-- z/empty --\n")
	c, err := ReadCase(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "one" || c.Comment != "about it\n" || c.Text("a/x.pid") != "12" || c.Text("case.json") != "{}\n" {
		t.Errorf("got %+v", c)
	}
	if got := c.Folders(); len(got) != 2 || got[0] != "a" || got[1] != "z" {
		t.Errorf("folders %q", got)
	}
	dir := t.TempDir()
	c.Unpack(t, "a", dir, "<CWD>", "here")
	for name, want := range map[string]string{"x.pid": "12", "b/y": "here\n\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "case.json")); err == nil {
		t.Error("a file outside the folder was written")
	}
}

func TestReadOutside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bad.txtar")
	write(t, path, "-- ../x --\n")
	if _, err := ReadCase(path); err == nil {
		t.Error("a path outside the case is accepted")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
