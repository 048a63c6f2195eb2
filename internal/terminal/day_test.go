package terminal_test

import (
	"strings"
	"testing"
	"time"

	"loops/internal/terminal"
)

// TestDay: the date is printed where it changes, and not for a time that is not known.
func TestDay(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	var day terminal.Day
	out, noon := terminal.NewSink(&b), time.Date(2026, 11, 28, 12, 0, 0, 0, time.Local)
	for _, at := range []time.Time{
		{},
		noon, noon.Add(time.Hour),
		{},
		noon.Add(24 * time.Hour),
		noon.Add(25 * time.Hour),
	} {
		day.Heading(out, at)
	}
	zone := noon.Format("MST")
	if want := "2026-11-28 " + zone + "\n2026-11-29 " + zone + "\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
