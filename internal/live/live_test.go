package live

import (
	"strings"
	"testing"
	"time"

	"loops/internal/humanize"
)

func TestLiveText(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1000, 0)
	for _, c := range []struct {
		name, head, last string
		after            time.Duration
		width            int
		want             string
	}{
		{"nothing said yet", "[3/50] check > make test", "", 4 * time.Second, 80, "[3/50] check > make test (4s)"},
		{
			"with output", "[3/50] check > make test", "ok  loops/fsm", 65 * time.Second, 80,
			"[3/50] check > make test (1m05s) ok  loops/fsm",
		},
		{
			"long action gives way", "[3/50] check > " + strings.Repeat("x", 60), "said", 0, 40,
			"[3/50] check > xxxxxxxxxxxxx… (0s) said",
		},
		{
			"long output is cut", "[1/9] a > b", strings.Repeat("o", 100), 0, 40,
			"[1/9] a > b (0s) ooooooooooooooooooooo…",
		},
		{"wide characters count twice", "[1/9] a > b", strings.Repeat("語", 30), 0, 30, "[1/9] a > b (0s) 語語語語語…"},
		{"a narrow terminal", "[3/50] check > make test", "said", 0, 10, "[3/… (0s)"},
	} {
		l := &live{head: c.head, last: c.last, since: begin}
		got := l.text(begin.Add(c.after), c.width)
		if got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		if w := humanize.Width(got); w >= c.width {
			t.Errorf("%s: %d columns in a terminal of %d", c.name, w, c.width)
		}
	}
}
