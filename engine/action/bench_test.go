package action

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loops/fsm"
)

// bare starts a script in the simplest way that reads both outputs and gives it a process group.
func bare(b *testing.B, script string) {
	c := exec.Command("bash", "-c", script)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	errs, err := c.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(io.Discard, errs) })
	_, _ = io.Copy(io.Discard, out)
	wg.Wait()
	if err := c.Wait(); err != nil {
		b.Fatal(err)
	}
}

func runner(b *testing.B, r *Runner, script string, vars ...fsm.Var) {
	lines := 0
	a := shell(script)
	a.Vars = vars
	if _, err := r.Run(context.Background(), a, func(s string) { lines += strings.Count(s, "\n") + 1 }); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSpawn compares a shell action with the floor. In ratio the two take turns, so that a busy machine slows
// both: it is the lower quartile of one divided by that of the other.
func BenchmarkSpawn(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			bare(b, "true")
		}
	})
	b.Run("runner", func(b *testing.B) {
		r := newRunner(b)
		for b.Loop() {
			runner(b, r, "true")
		}
	})
	b.Run("ratio", func(b *testing.B) { ratio(b, newRunner(b), "true") })
	b.Run("ratio-with-variables", func(b *testing.B) {
		vars := []fsm.Var{{Name: "LOOPS_PREV_OUTPUT", Value: strings.Repeat("x", 1<<20)}}
		for i := range 20 {
			vars = append(vars, fsm.Var{Name: fmt.Sprintf("LOOPS_CAPTURED_%d", i), Value: strings.Repeat("x", 1000)})
		}
		ratio(b, newRunner(b), "true", vars...)
	})
}

func ratio(b *testing.B, r *Runner, script string, vars ...fsm.Var) {
	var floor, ours []time.Duration
	for b.Loop() {
		began := time.Now()
		bare(b, script)
		between := time.Now()
		runner(b, r, script, vars...)
		floor, ours = append(floor, between.Sub(began)), append(ours, time.Since(between))
	}
	slices.Sort(floor)
	slices.Sort(ours)
	f, o := floor[len(floor)/4], ours[len(ours)/4]
	b.ReportMetric(float64(o)/float64(f), "x-bare")
	b.ReportMetric(float64(o-f)/1e6, "ms-above-bare")
}

// BenchmarkOutput compares the reading of much output with reading and dropping it.
func BenchmarkOutput(b *testing.B) {
	for name, script := range map[string]string{
		"20000lines": "for ((i = 0; i < 20000; i++)); do echo line $i; done",
		"60MB":       fmt.Sprintf("yes %s | head -c %d", strings.Repeat("z", 63), 60<<20),
	} {
		b.Run(name+"/bare", func(b *testing.B) {
			for b.Loop() {
				bare(b, script)
			}
		})
		b.Run(name+"/runner", func(b *testing.B) {
			r := newRunner(b)
			b.ReportAllocs()
			for b.Loop() {
				runner(b, r, script)
			}
		})
		b.Run(name+"/ratio", func(b *testing.B) { ratio(b, newRunner(b), script) })
	}
}
