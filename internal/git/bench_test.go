package git

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/internal/testenv"
)

// BenchmarkTenThousandFiles measures a work tree, a checkpoint after ten changes with its push, one without a
// change, and a takeover.
func BenchmarkTenThousandFiles(b *testing.B) {
	testenv.Command(b, "git")
	git := Command(environ(), 0)
	must := func(dir string, args ...string) string {
		out, err := git(b.Context(), dir, who, args...)
		if err != nil {
			b.Fatal(args, err)
		}
		return out
	}
	dir, work := filepath.Join(b.TempDir(), "remote.git"), b.TempDir()
	must(work, "init", "-q", "--bare", dir)
	must(work, "init", "-q")
	for i := range 10_000 {
		path := filepath.Join(work, fmt.Sprintf("%02d", i%100), fmt.Sprintf("%d.txt", i))
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, fmt.Appendf(nil, "file %d\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	must(work, "add", "-A")
	must(work, "commit", "-q", "-m", "base")
	must(work, "push", "-q", dir, "HEAD:refs/heads/main")
	base := must(work, "rev-parse", "HEAD")
	var took [4]time.Duration
	timed := func(i int, f func() error) {
		begin := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		took[i] += time.Since(begin)
	}
	open := func(machine, commit string) *RefTree {
		m, err := OpenMirror(b.Context(), git, machine, dir)
		if err == nil {
			var w *RefTree
			if w, err = m.Tree(b.Context(), run, commit, nil, nil); err == nil {
				return w
			}
		}
		b.Fatal(err)
		return nil
	}
	one, two := b.TempDir(), b.TempDir()
	open(one, base).Close() // both have the mirror already
	open(two, base).Close()
	for n := 0; b.Loop(); n++ {
		var w *RefTree
		var c string
		for _, machine := range []string{one, two} {
			if err := os.RemoveAll(filepath.Join(machine, "trees")); err != nil {
				b.Fatal(err)
			}
		}
		timed(0, func() (err error) { w = open(one, base); return nil })
		if err := w.Claim(b.Context(), int64(2*n+1), ""); err != nil {
			b.Fatal(err)
		}
		for i := range 10 {
			if err := os.WriteFile(filepath.Join(w.Dir, fmt.Sprintf("%02d", i), fmt.Sprintf("%d.txt", i)),
				fmt.Appendf(nil, "run %d\n", n), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		timed(1, func() (err error) { c, err = w.Keep(b.Context()); return err })
		timed(2, func() (err error) { _, err = w.Keep(b.Context()); return err })
		var next *RefTree
		timed(3, func() error { next = open(two, c); return next.Claim(b.Context(), int64(2*n+2), c) })
		w.Close()
		next.Close()
	}
	for i, unit := range []string{"tree-ms", "checkpoint-ms", "unchanged-ms", "takeover-ms"} {
		b.ReportMetric(float64(took[i].Milliseconds())/float64(b.N), unit)
	}
}
