package disk

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// Files of a folder that were written to, made, replaced or removed are named, and others are not. Where the folder is
// gone, nothing is known any more.
func TestChanges(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "x")
	check(t, os.Mkdir(dir, 0o700))
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"left", "written", "renamed", "removed", "mode"} {
		check(t, os.WriteFile(path(name), []byte("x"), 0o600))
	}
	c := ChangesOf(dir)
	if runtime.GOOS != "linux" {
		if c.Each(func(string) {}) {
			t.Fatal("it seems to tell")
		}
		return
	}
	defer c.Close()
	of := func() (names []string, known bool) {
		known = c.Each(func(name string) { names = append(names, name) })
		slices.Sort(names)
		return slices.Compact(names), known
	}
	if names, known := of(); !known || names != nil {
		t.Errorf("before anything happened: %q, %t", names, known)
	}
	_, err := os.ReadFile(path("left"))
	check(t, err)
	f, err := os.OpenFile(path("written"), os.O_WRONLY|os.O_APPEND, 0)
	check(t, err)
	_, err = f.WriteString("more")
	check(t, err)
	check(t, os.Rename(path("renamed"), path("made")))
	check(t, os.Remove(path("removed")))
	check(t, os.Chmod(path("mode"), 0o400))
	if names, known := of(); !known || !slices.Equal(names, []string{"made", "mode", "removed", "renamed", "written"}) {
		t.Errorf("%q, %t", names, known)
	}
	if names, known := of(); !known || names != nil {
		t.Errorf("again: %q, %t", names, known)
	}
	open, err := os.Open(dir) // the system does not say that it is gone
	check(t, err)
	check(t, os.RemoveAll(dir))
	if _, known := of(); known {
		t.Error("the folder is gone")
	}
	if _, known := of(); known {
		t.Error("the folder is still gone")
	}
	check(t, f.Close())
	check(t, open.Close())
}
