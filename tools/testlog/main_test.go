package main

import (
	"strings"
	"testing"
)

func TestViews(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"failures"}, `go: downloading example.com/x v1.0.0
--- FAIL: TestBad (0.50s)
    bad_test.go:7: got 1, want 2
--- FAIL: TestBad/inner (0.25s)
    bad_test.go:9: this too
-test.shuffle 17
FAIL	loops/a	3.100s
# loops/e
e/e.go:3:1: syntax error
FAIL	loops/e [build failed]
panic: boom
goroutine 1 [running]:
--- NOT ENDED: TestPanics
FAIL	loops/f	0.100s
--- NOT ENDED: TestKilled
    killed_test.go:5: a note
--- NOT ENDED: TestKilled/inner
signal: killed
FAIL	loops/g	0.200s
`},
		{[]string{"skips"}, "needs chromium, which is not in the PATH: TestAbsent TestAbsent2\n"},
		{[]string{"slowest", "-n", "1"}, `slowest packages:
     3.1 s  loops/a
slowest tests:
     2.0 s  TestGood
slowest tests inside tests:
     0.2 s  TestBad/inner
`},
		{[]string{"count"}, "2 passed, 2 failed, 2 skipped\n"},
	} {
		var out strings.Builder
		if err := run(append(c.args, "testdata/two.log"), nil, &out); err != nil {
			t.Fatal(err)
		}
		if out.String() != c.want {
			t.Errorf("%v prints\n%s\nwant\n%s", c.args, out.String(), c.want)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"", "which view? failures, skips, slowest or count"},
		{"fastest", `no view "fastest": failures, skips, slowest or count`},
		{"count no-such-file", "open no-such-file: no such file or directory"},
	} {
		if err := run(strings.Fields(c.args), nil, &strings.Builder{}); err == nil || err.Error() != c.want {
			t.Errorf("testlog %s: %v, want %s", c.args, err, c.want)
		}
	}
}
