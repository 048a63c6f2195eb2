package cli

import (
	"strings"
	"testing"
)

func TestWatchASCII(t *testing.T) {
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
		a := &app{IO: IO{Env: strings.Fields(c.env)}}
		if got := a.watchASCII(); got != c.want {
			t.Errorf("%s: %v", c.env, got)
		}
	}
}
