package segment

import "testing"

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, event, memory string }{
		{`{"event": "a"}`, `{"event": "a"}`, ``},
		{`{"event": "a", "memory": {}}`, `{"event": "a"}`, `{}`},
		{`{"event": "a", "memory_full": {"x": {"memory": {}}}}`, `{"event": "a"}`, `full {"x": {"memory": {}}}`},
		{
			`{"event": "a", "x": {"y": 1, "memory": {}}, "z": 2}`,
			`{"event": "a", "x": {"y": 1, "memory": {}}, "z": 2}`,
			``,
		},
		{
			`{"event": "a", "x": {"y": 1, "memory": {}}, "memory": {"b": "}"}}`,
			`{"event": "a", "x": {"y": 1, "memory": {}}}`, `{"b": "}"}`,
		},
		{
			`{"event": "a", "x": "\", \"memory\": {", "memory": {"k": "\"memory\""}}`,
			`{"event": "a", "x": "\", \"memory\": {"}`, `{"k": "\"memory\""}`,
		},
		{
			`{"event": "a", "x": "memory", "y": ["memory", {"memory": {}}]}`,
			`{"event": "a", "x": "memory", "y": ["memory", {"memory": {}}]}`, ``,
		},
		{`{"event": "a", "memory": 3}`, `{"event": "a", "memory": 3}`, ``},
		{`{"event": "a", "memory": {`, `{"event": "a", "memory": {`, ``},
		{`"memory`, `"memory`, ``},
	} {
		ln := Split([]byte(c.line))
		memory := string(ln.Memory)
		if ln.Full {
			memory = "full " + memory
		}
		if string(ln.Event) != c.event || memory != c.memory {
			t.Errorf("%s:\n got %s | %s\nwant %s | %s", c.line, ln.Event, memory, c.event, c.memory)
		}
	}
}

// The quick look for a number finds what parsing the event finds.
func TestSeq(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		event string
		seq   uint64
	}{
		{`{"event": "route", "ts": "2026-11-21T08:37:17Z", "seq": 12, "to": "b"}`, 12},
		{`{"event": "route", "ts": "2026-11-21T08:37:17Z", "seq": 12}`, 12},
		{`{"seq": 7, "event": "route", "ts": "2026-11-21T08:37:17Z"}`, 7},
		{`{"event": "ro\"ute", "ts": "2026-11-21T08:37:17Z", "seq": 3}`, 3},
		{`{"event": "route", "ts": "2026-11-21T08:37:17Z"}`, 0},
		{`{"event": "route", "ts": "2026-11-21T08:37:17Z", "seq": 1`, 0},
		{`{"event": "`, 0},
		{``, 0},
	} {
		if got := Seq([]byte(c.event)); got != c.seq {
			t.Errorf("%s: number %d, want %d", c.event, got, c.seq)
		}
	}
}
