package testenv_test

import (
	"fmt"
	"testing"

	"loops/internal/testenv"
)

// A said is a test that notes how it ends.
type said struct {
	testing.TB
	how string
}

func (s *said) Helper()                          {}
func (s *said) Skipf(format string, args ...any) { s.how = "skipped: " + fmt.Sprintf(format, args...) }

func (s *said) Fatalf(format string, args ...any) {
	s.how = "failed: " + fmt.Sprintf(format, args...)
	panic(s)
}

func TestCommand(t *testing.T) {
	// Not parallel: the test changes the environment.
	run := func(program string) (how string) {
		s := &said{TB: t}
		defer func() {
			if r := recover(); r != nil && r != s {
				panic(r)
			}
			how = s.how
		}()
		testenv.Command(s, program)
		return
	}
	for _, c := range []struct{ ci, program, how string }{
		{"", "go", ""},
		{"", "no-such-program", "skipped: SKIPPED: needs no-such-program, which is not in the PATH"},
		{"true", "go", ""},
		{"true", "no-such-program", "failed: needs no-such-program, which is not in the PATH; CI may not skip a test"},
	} {
		t.Setenv("CI", c.ci)
		if how := run(c.program); how != c.how {
			t.Errorf("CI=%s %s: %q, want %q", c.ci, c.program, how, c.how)
		}
	}
}
