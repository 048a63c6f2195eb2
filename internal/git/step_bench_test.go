package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"loops/internal/disk"
	"loops/internal/testenv"
)

// BenchmarkStep measures what the guard and the snapshots of a step add to it: a look before and one after it,
// which they share, the changes, and a commit. A step changes two files of many and adds one. The metrics are medians.
func BenchmarkStep(b *testing.B) {
	for _, files := range []int{1000, 10_000} {
		for _, changes := range []bool{false, true} {
			b.Run(fmt.Sprintf("files=%d/changed=%v", files, changes), func(b *testing.B) {
				p := benchPlot(b, files)
				defer p.walk.Close()
				var took []time.Duration
				used := cpu()
				for n := 0; b.Loop(); n++ {
					begin := time.Now()
					before := p.look(b)
					rest := time.Since(begin)
					if changes {
						for _, name := range []string{"d000/f1", "d003/f151", fmt.Sprintf("d001/new%d", n)} {
							if err := os.WriteFile(filepath.Join(p.dir, name), fmt.Append(nil, "try ", n),
								0o644); err != nil {
								b.Fatal(err)
							}
						}
					}
					begin = time.Now()
					after := p.look(b)
					if _, err := p.chain.Add(b.Context(), after, Snapshot{Step: fmt.Sprint(n), When: After}); err !=
						nil {
						b.Fatal(err)
					}
					if all, err := p.walk.Changes(b.Context(), before, after); err != nil ||
						(len(all) == 3) != changes {
						b.Fatal(all, err)
					}
					took = append(took, rest+time.Since(begin))
				}
				slices.Sort(took)
				b.ReportMetric(float64((cpu()-used).Microseconds())/1000/float64(b.N), "cpu-ms")
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
			})
		}
	}
}

// cpu returns the CPU time that this process and its ended children used.
func cpu() (all time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		_ = syscall.Getrusage(who, &u)
		all += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return all
}

// A benched is a repository with many files that a benchmark walks.
type benched struct {
	dir   string
	walk  *Walk
	chain *Chain
}

func (p *benched) look(b *testing.B) string {
	tree, err := p.walk.Tree(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return tree
}

func benchPlot(b *testing.B, files int) *benched {
	dir := b.TempDir()
	for i := range files {
		name := filepath.Join(dir, fmt.Sprintf("d%03d", i/50), fmt.Sprintf("f%d", i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755),
			os.WriteFile(name, fmt.Append(nil, "file ", i, "\n"), 0o644)); err != nil {
			b.Fatal(err)
		}
	}
	git := Command(environ(), 0)
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "base"}} {
		if _, err := git(b.Context(), dir, who, args...); err != nil {
			b.Fatal(err)
		}
	}
	p := &benched{dir: dir, walk: NewWalk(environ(), 0, dir, filepath.Join(b.TempDir(), "walk"))}
	chain, err := OpenChain(b.Context(), git, dir, "run")
	if err != nil {
		b.Fatal(err)
	}
	p.chain = chain
	chain.Batch(environ(), 0)
	b.Cleanup(chain.Close)
	testenv.Wait(b, "files at rest", func() bool {
		s, _, _ := disk.StampOf(filepath.Join(dir, "d000", "f1"))
		return time.Since(time.Unix(0, s.Changed)) > 2*time.Second
	})
	p.look(b)
	return p
}
