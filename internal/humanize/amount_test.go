package humanize

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0ms", 999 * time.Millisecond: "999ms", 1999 * time.Millisecond: "1.9s",
		59 * time.Second:  "59s",
		245 * time.Second: "4m05s", 3723 * time.Second: "1h02m03s", 100 * time.Hour: "100h00m00s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 runs", 1: "1 run", 2: "2 runs"} {
		if got := Count(n, "run"); got != want {
			t.Errorf("Count(%d) = %s, want %s", n, got, want)
		}
	}
	for noun, want := range map[string]string{
		"retry": "2 retries", "day": "2 days", "process": "2 processes", "branch": "2 branches", "push": "2 pushes",
		"box": "2 boxes", "step of it": "2 step of its", "y": "2 ys",
	} {
		if got := Count(2, noun); got != want {
			t.Errorf("Count(2, %q) = %s, want %s", noun, got, want)
		}
	}
}
