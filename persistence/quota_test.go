package persistence

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/fsm"
)

// TestQuotaIsKept: the last report of each limit is kept, until its window is over.
func TestQuotaIsKept(t *testing.T) {
	t.Parallel()
	c := ProjectCircuit(filepath.Join(t.TempDir(), ".loops"))
	if err := os.Mkdir(filepath.Dir(filepath.Dir(c.Path)), 0o755); err != nil {
		t.Fatal(err)
	}
	soon, later := time.Now().Add(time.Hour).UTC().Truncate(time.Second),
		time.Now().Add(50*time.Hour).UTC().Truncate(time.Second)
	report := func(host, name string, used float64, resets time.Time) {
		c.Report(host, fsm.QuotaWindow{Name: name, Used: used, Length: 5 * time.Hour, Resets: resets})
	}
	if got := c.Windows("claude"); got != nil {
		t.Errorf("before a report: %v", got)
	}
	report("claude", "five_hour", 0.5, soon)
	report("claude", "seven_day", 0.9, later)
	report("claude", "gone", 0.9, time.Now().Add(-time.Second))
	report("other", "five_hour", 0.1, soon)
	report("claude", "five_hour", -1, soon.Add(time.Second))  // of the same window: what was said holds
	report("claude", "seven_day", -1, later.Add(2*time.Hour)) // of the next one: nothing is known
	got := c.Windows("claude")
	if len(got) != 2 || got[0].Used != 0.5 || got[0].Length != 5*time.Hour ||
		!got[0].Resets.Equal(soon.Add(time.Second)) || got[1].Used != -1 {
		t.Errorf("kept is %+v", got)
	}
	if all := c.Quotas(); len(all) != 2 {
		t.Errorf("all are %v", all)
	}
	for _, text := range []string{"", "[1]", "{\"claude\": 3}", "{\"claude\": {\"a\": null}}", "\x00"} {
		if err := os.WriteFile(c.quotaPath(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := c.Windows("claude"); got != nil {
			t.Errorf("%q: %v", text, got)
		}
		report("claude", "five_hour", 0.5, soon)
		if got := c.Windows("claude"); len(got) != 1 {
			t.Errorf("after %q: %v", text, got)
		}
	}
}
