package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"loops/persistence"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// run makes one from its name: loop, days since it began, and a letter where it is not just completed.
func run(name string) AgedRun {
	var loop, kind string
	var days int
	// without a kind it reads two
	_, _ = fmt.Sscanf(strings.ReplaceAll(name, "-", " "), "%s %d %s", &loop, &days, &kind)
	at := now.Add(-time.Duration(days) * 24 * time.Hour)
	r := AgedRun{RunEntry: RunEntry{
		ID: persistence.ID(name), Loop: loop, Status: persistence.Completed,
		StartedAt: at, UpdatedAt: at, Bytes: 100,
	}}
	switch kind {
	case "live":
		r.Live, r.Status = true, persistence.Running
	case "queued": // for workers, of which none has begun it
		r.Status = persistence.Queued
	case "dead": // its owner died and no process recorded that
		r.Status = persistence.Running
	case "open":
		r.Status, r.Resumable = persistence.Interrupted, true
	case "broken":
		r.Status = ""
	case "failed":
		r.Status = persistence.Failed
	case "limited":
		r.Status, r.Resumable = persistence.Failed, true
	case "late": // it began long ago and ended now
		r.UpdatedAt = now
	}
	return r
}

func TestChoose(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	const runs = "a-1 a-2-failed a-3-open a-4 a-40 b-1-live b-35 b-36-dead b-50-late b-60 c-90-limited"
	for _, c := range []struct {
		name       string
		runs       string
		p          Policy
		gone, kept string
		bytes      int64
	}{
		{
			"the newest of each loop stay", runs,
			Policy{KeepLast: 2, MaxSize: -1},
			"b-60 b-50-late a-40 a-4", "1 3 3 0",
			700,
		},
		{
			"none of the newest", runs,
			Policy{MaxSize: -1},
			"b-60 b-50-late a-40 b-35 a-4 a-2-failed a-1", "1 3 0 0",
			400,
		},
		{
			"age is that of the last record", runs,
			Policy{OlderThan: 30 * day, MaxSize: -1},
			"b-60 a-40 b-35",
			"1 3 0 0", 800,
		},
		{
			"of the old ones, the newest stay", runs,
			Policy{KeepLast: 2, OlderThan: 30 * day, MaxSize: -1},
			"b-60 a-40",
			"1 3 3 0", 900,
		},
		{"size alone", runs, Policy{MaxSize: 950}, "b-60 b-50-late", "1 3 0 0", 900},
		{"small enough", runs, Policy{MaxSize: 1100}, "", "1 3 0 0", 1100},
		{"age, then size", runs, Policy{OlderThan: 30 * day, MaxSize: 700}, "b-60 b-50-late a-40 b-35", "1 3 0 0", 700},
		{
			"size that cannot be reached", runs,
			Policy{KeepLast: 1, MaxSize: 0},
			"b-60 b-50-late a-40 b-35 a-4 a-2-failed", "1 3 1 0", 500,
		},
		{"nothing there", "", Policy{KeepLast: 1, MaxSize: 0}, "", "0 0 0 0", 0},
		{"one that cannot be read", "a-1 a-2 a-3-broken", Policy{KeepLast: 1, MaxSize: 0}, "a-2", "0 0 1 1", 200},
		{"one that is queued has not ended", "a-1 a-90-queued", Policy{MaxSize: 0}, "a-1", "1 0 0 0", 100},
		{"exactly as old", "a-30", Policy{OlderThan: 30 * day, MaxSize: -1}, "", "0 0 0 0", 100},
	} {
		var all []AgedRun
		for name := range strings.FieldsSeq(c.runs) {
			all = append(all, run(name))
		}
		got := c.p.Choose(all, now)
		var ids []string
		for _, r := range got.Go {
			ids = append(ids, string(r.ID))
		}
		kept := fmt.Sprint(got.Kept.Live, got.Kept.Resumable, got.Kept.Newest, got.Kept.Unreadable)
		if g := strings.Join(ids, " "); g != c.gone || kept != c.kept || got.Bytes != c.bytes ||
			got.Stay != len(all)-len(ids) {
			t.Errorf("%s: %q go, %s kept, %d bytes, %d stay; want %q, %s, %d", c.name, g, kept, got.Bytes, got.Stay,
				c.gone, c.kept, c.bytes)
		}
	}
}
