package worker

import (
	"testing"
	"time"
)

func TestWhyOf(t *testing.T) {
	for said, want := range map[string]string{
		"": "its process was killed",
		"loops: /p is locked by run a (pid 3)\n  wait for it:   loops run x --queue\n  lock nothing:  loops run x --no-lock\n": "/p is locked by run a (pid 3)",
		"loops: warning: old\nloops: x.yaml is not here as it was submitted\nTry: loops validate x\n":                          "x.yaml is not here as it was submitted",
		"panic: boom\n\ngoroutine 1\n": "panic: boom",
	} {
		if got := whyOf(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

func TestParseAt(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"30m": "2026-11-21T11:00:00Z", "22:00": "2026-11-21T22:00:00Z", "10:30": "2026-11-22T10:30:00Z", "2026-12-01": "2026-12-01T00:00:00Z",
		"2026-12-01T05:06": "2026-12-01T05:06:00Z", "2026-12-01T05:06:07+01:00": "2026-12-01T04:06:07Z",
	} {
		at, err := ParseAt(text, now)
		if got := at.UTC().Format(time.RFC3339); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "soon", "-5m", "25:00"} {
		if at, err := ParseAt(bad, now); err == nil {
			t.Errorf("%q is %s", bad, at)
		}
	}
}

func TestPause(t *testing.T) {
	for tries, want := range map[int]time.Duration{0: time.Second, 3: 8 * time.Second, 5: 30 * time.Second, 100: 30 * time.Second} {
		if got := pause(tries); got != want {
			t.Errorf("after %d tries %s, want %s", tries, got, want)
		}
	}
}
