package process

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

func TestMemoryUsed(t *testing.T) {
	for _, c := range []struct {
		total, available uint64
		want             float64
		ok               bool
	}{
		{1000, 1000, 0, true},
		{1000, 250, 75, true},
		{16 << 30, 1 << 30, 93.75, true},
		{0, 0, 0, false},       // no answer
		{1000, 0, 0, false},    // half of one
		{1000, 1001, 0, false}, // nonsense
	} {
		if got, ok := memoryUsed(c.total, c.available); math.Abs(got-c.want) > 1e-9 || ok != c.ok {
			t.Errorf("%d of %d available: %v, %v; want %v, %v", c.available, c.total, got, ok, c.want, c.ok)
		}
	}
}

// The figure is that of the kernel, read a moment apart.
func TestMemoryUsedOfThisMachine(t *testing.T) {
	// Not parallel: the test counts allocations of the process.
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	figure := map[string]float64{}
	for line := range strings.SplitSeq(string(b), "\n") {
		var kb float64
		name, rest, _ := strings.Cut(line, ":")
		if n, _ := fmt.Sscan(rest, &kb); n == 1 {
			figure[name] = kb
		}
	}
	want := 100 * (1 - figure["MemAvailable"]/figure["MemTotal"])
	if got, ok := MemoryUsed(); !ok || math.Abs(got-want) > 15 {
		t.Errorf("%v, %v; want about %v", got, ok, want)
	}
	if n := testing.AllocsPerRun(10, func() { MemoryUsed() }); n > 500 {
		t.Errorf("%v allocations", n)
	}
}
