package testenv

import (
	"strings"
	"testing"
)

func TestDifference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want, says string }{
		{"a\nb\n", "a\nb\n", ""},
		{"a\nb\n", "a\nc\n", `line 2 is "b", want "c"`},
		{"a", "a\nb", `line 2 is the end, want "b"`},
		{"a\nb", "a", `line 2 is "b", want the end`},
	} {
		if d := Difference(c.got, c.want); c.says == "" && d != "" || !strings.HasPrefix(d, c.says) {
			t.Errorf("Difference(%q, %q) = %q, want %q", c.got, c.want, d, c.says)
		}
	}
}
