package archive

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"loops/internal/testenv"
)

// import failed with "operation not permitted" on a file system that has no second names for files, as exFAT:
// files are copied there. What is taken back are the copies and nothing that was there before. Two file
// systems, between which there are no second names either, stand for one without.
func TestImportWithoutSecondNames(t *testing.T) {
	t.Parallel()
	other, err := os.MkdirTemp("/dev/shm", "loops-test-*")
	if err != nil {
		testenv.Skip(t, "a second file system: "+err.Error())
	}
	t.Cleanup(func() { _ = os.RemoveAll(other) })
	from, work := filepath.Join(other, ".import-1", "work"), filepath.Join(t.TempDir(), "fix-1")
	var a, b syscall.Stat_t
	if err := syscall.Stat(other, &a); err != nil || syscall.Stat(filepath.Dir(work), &b) != nil || a.Dev == b.Dev {
		testenv.Skip(t, "a file system of its own in /dev/shm")
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(from, "ledger"), "1\n")
	write(filepath.Join(from, "sub", "deep"), "2\n")
	write(filepath.Join(from, "mine"), "3\n")
	write(filepath.Join(work, "mine"), "3\n") // was there before

	if err := Place(from, work); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"ledger": "1\n", "sub/deep": "2\n", "mine": "3\n"} {
		got, err := os.ReadFile(filepath.Join(work, name))
		st, e2 := os.Stat(filepath.Join(work, name))
		if err != nil || e2 != nil || string(got) != want || st.Mode().Perm() != 0o640 {
			t.Errorf("%s: %q, %v, %v", name, got, st, err)
		}
	}
	if err := os.Truncate(filepath.Join(work, "ledger"), 1); err != nil { // it was killed while it copied
		t.Fatal(err)
	}
	TakeBack(from, work)
	left, err := filesIn(work)
	if err != nil || len(left) != 1 || left[0] != "mine" {
		t.Errorf("left: %q, %v", left, err)
	}
}
