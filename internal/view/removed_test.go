package view

import (
	"testing"

	"loops/engine"
)

// Users are notified that there was no time for retention.
func TestRetainedText(t *testing.T) {
	t.Parallel()
	one := []engine.Removed{{RunEntry: engine.RunEntry{Bytes: 2048}}}
	for _, c := range []struct {
		gone []engine.Removed
		late bool
		want string
	}{
		{nil, false, ""},
		{nil, true, "Retention had no time to remove anything: loops prune does it at once, a later run continues it."},
		{one, false, "Retention removed 1 run, 2.0 KiB."},
		{one, true, "Retention removed 1 run, 2.0 KiB. There may be more: loops prune does it at once, a later run " +
			"continues it."},
	} {
		if got := RetainedText(c.gone, c.late); got != c.want {
			t.Errorf("%d, late %t: %q", len(c.gone), c.late, got)
		}
	}
}
