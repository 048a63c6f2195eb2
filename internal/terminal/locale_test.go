package terminal

import (
	"strings"
	"testing"
)

func TestOnlyASCII(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  string
		want bool
	}{
		{"", false},
		{"LANG=C", true},
		{"LANG=POSIX", true},
		{"LANG=C.UTF-8", false},
		{"LANG=de_DE.utf8", false},
		{"LANG=de_DE", false},
		{"LANG=de_DE.ISO-8859-15@euro", true},
		{"LANG=de_DE.UTF-8@euro", false},
		{"LANG=en_US.UTF-8 LC_ALL=C", true},
		{"LANG=C LC_CTYPE=en_US.UTF-8", false},
		{"LC_ALL= LANG=C", true},
	} {
		getenv := func(name string) (string, bool) {
			for _, kv := range strings.Fields(c.env) {
				if v, ok := strings.CutPrefix(kv, name+"="); ok {
					return v, true
				}
			}
			return "", false
		}
		if got := OnlyASCII(getenv); got != c.want {
			t.Errorf("%s: %v", c.env, got)
		}
	}
}
