package view

import "testing"

func TestShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, of int
		want  string
	}{{0, 0, "-"}, {0, 3, "0%"}, {1, 3, "33%"}, {2, 3, "67%"}, {999, 1000, "99%"}, {1, 1000, "1%"}, {5, 5, "100%"}} {
		if got := SharePercent(c.n, c.of); got != c.want {
			t.Errorf("share(%d, %d) = %s, want %s", c.n, c.of, got, c.want)
		}
	}
}
