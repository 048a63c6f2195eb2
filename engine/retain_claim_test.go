package engine

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Of many processes that begin at once, one applies retention, and that once a day.
func TestClaimRetention(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stamp")
	now := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	var won atomic.Int32
	var all sync.WaitGroup
	claims := make(chan *claim, 20)
	for range 20 {
		all.Go(func() {
			c, err := claimRetention(path, now)
			if err != nil {
				t.Error(err)
			}
			if c != nil {
				won.Add(1)
				claims <- c
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d of 20 have it", won.Load())
	}
	mine := <-claims
	if c, err := claimRetention(path, now.Add(48*time.Hour)); c != nil || err != nil {
		t.Errorf("another has it while one is at it: %v", err)
	}
	if err := mine.release(now, true); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "2026-11-22T06:00:00Z done\n" {
		t.Errorf("the stamp says %q", text)
	}
	for _, step := range []struct {
		after time.Duration
		due   bool
	}{
		{time.Minute, false},
		{24*time.Hour - time.Second, false},
		{24 * time.Hour, true},
		{24*time.Hour + time.Minute, false},
		{26 * time.Hour, true},
	} {
		c, err := claimRetention(path, now.Add(step.after))
		if (c != nil) != step.due || err != nil {
			t.Fatalf("after %v: due %t, %v", step.after, c != nil, err)
		}
		if c != nil { // as if the process had died: what is begun is due again in an hour
			if err := c.stamp.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := claimRetention(filepath.Dir(path), now); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a folder is a stamp: %v", err)
	}
}

func TestRetentionDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	for stamp, due := range map[string]bool{
		"": true, "x": true, "2026-11-22T05:00:00Z done": false, "2026-11-21T06:00:00Z done\n": true,
		"2026-11-22T05:30:00Z begun": false,
		"2026-11-22T05:00:00Z begun": true, "2026-11-22T05:00:00Z": true, "2027-01-01T00:00:00Z done": true,
	} {
		if got := retentionDue(stamp, now); got != due {
			t.Errorf("%q: due %t", stamp, got)
		}
	}
}
