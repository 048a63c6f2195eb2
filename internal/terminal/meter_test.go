package terminal

import (
	"strings"
	"testing"
	"time"

	"loops/internal/humanize"
)

func TestMeter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		meter *Meter
		steps []int64 // done, after 250 ms each
		total int64
		want  string
	}{
		{
			"a bar", &Meter{Width: 80},
			[]int64{0, 10, 20, 30},
			100,
			"\rRemoving runs  ████░░░░░░░░░░░░░░░░░░░░  20 of 100  20%  40/s  2s left\x1b[K\rRemoving runs  " +
				"███████░░░░░░░░░░░░░░░░░  30 of 100  30%  40/s  1s left\x1b[K\r\x1b[K",
		},
		{
			"a bar in ASCII", &Meter{Width: 80, ASCII: true},
			[]int64{0, 10, 50},
			100,
			"\rRemoving runs  ############------------  50 of 100  50%  100/s  0s left\x1b[K\r\x1b[K",
		},
		{
			"a narrow terminal", &Meter{Width: 30},
			[]int64{0, 10, 50},
			100,
			"\rRemoving runs  ████████████░…\x1b[K\r\x1b[K",
		},
		{
			"no total", &Meter{Width: 80, Count: humanize.Bytes},
			[]int64{0, 1 << 20, 3 << 20},
			0,
			"\rRemoving runs  3.0 MiB  6.0 MiB/s\x1b[K\r\x1b[K",
		},
		{"over at once", &Meter{Width: 80}, []int64{0, 100}, 100, ""},
		{"no terminal, a while", &Meter{}, []int64{0, 1, 2, 3, 4, 5}, 100, ""},
		{
			"no terminal, long", &Meter{}, sequence(84), 200,
			"Removing runs  40 of 200  20%  4/s  40s left\nRemoving runs  80 of 200  40%  4/s  30s left\n",
		},
		{
			"more than there was", &Meter{Width: 80},
			[]int64{0, 10, 120},
			100,
			"\rRemoving runs  ████████████████████████  120 of 100  100%  240/s\x1b[K\r\x1b[K",
		},
	} {
		var out strings.Builder
		at := time.Unix(1000, 0)
		m := c.meter
		m.Out, m.What, m.Clock = &out, "Removing runs", func() time.Time { return at }
		for _, done := range c.steps {
			m.Set(done, c.total)
			at = at.Add(250 * time.Millisecond)
		}
		m.End()
		if out.String() != c.want {
			t.Errorf("%s: got\n%q\nwant\n%q", c.name, out.String(), c.want)
		}
	}
	var none *Meter
	none.Set(1, 2)
	none.End()
}

func sequence(n int64) (out []int64) {
	for i := range n {
		out = append(out, i)
	}
	return out
}
