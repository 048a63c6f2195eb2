package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWorkerFilesShared: a run that was submitted with files.mode shared is taken by workers in that folder
// alone, wherever it is mounted, and not by those of another folder of the same database.
func TestWorkerFilesShared(t *testing.T) {
	t.Parallel()
	f := newThree(t)
	other := f
	other.dir = t.TempDir()
	must(t, os.Mkdir(filepath.Join(other.dir, ".loops"), 0o755))
	for _, one := range []fleet{f, other} {
		one.write(".loops/three.yaml", threeSteps)
		one.write(".loops/config.yaml", "files: {mode: shared}\n")
		one.write("go", "")
	}
	wrong := other.worker()
	id := f.submit("three")
	mine := other.submit("three")
	f.until("the run of the other folder is over", func() bool { return other.status(mine) == "completed" })
	if got := f.status(id); got != "queued" {
		t.Fatalf("without a worker in its folder the run is %s", got)
	}
	f.worker()
	f.until("the run is over", func() bool { return f.status(id) == "completed" })
	if got, theirs := strings.Join(f.lines("steps"), " "),
		strings.Join(other.lines("steps"), " "); got != "a b B c" || theirs != got {
		t.Errorf("the steps were %s here and %s there", got, theirs)
	}
	wrong.drain()
}
