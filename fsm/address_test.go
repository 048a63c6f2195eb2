package fsm

import (
	"strings"
	"testing"
)

// Each form in which an address was ever shown is read, and all are printed in one.
func TestAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"3": "3", "3/2": "3/2", "3.2": "3/2", "3.2.1": "3/2/1", "2/lint/1": "2/lint/1", "2/lint": "2/lint",
		"2/#4": "2/#4", "2/#4/1": "2/#4/1", "2/#4.2/1": "2/#4.2/1",
		"1/c/1/#2": "1/c/1/#2", "1.3/c/1": "1/3/c/1", "/3:2": "3:2", "/1+prod/1:4": "1/prod/1:4",
		"1/prod/1:4": "1/prod/1:4", "/1/2+#3/1:5": "1/2/#3/1:5", "/2+#3.2/1": "2/#3.2/1",
		"": "", "0": "", "last": "", "-1": "", "2/": "", "/": "", "lint/1": "", "2/lint/docs": "", "2/#0": "",
		"2/#x": "", "2/1.": "", "2..1": "", "2:": "", "2:0": "", "2+": "", "+a": "",
		"2/a b": "", "99999999999999999999": "", "2/.a": "", "2.x": "",
	} {
		a, ok := ParseAddress(text)
		if ok != (want != "") || a.String() != want && ok {
			t.Errorf("%q is read as %q, %v; want %q", text, a, ok, want)
		}
		if !ok {
			continue
		}
		if again, ok := ParseAddress(a.Recorded()); !ok || !again.Equal(a) {
			t.Errorf("%q is recorded as %q and read as %q", text, a.Recorded(), again)
		}
	}
}

func TestAddressCovers(t *testing.T) {
	t.Parallel()
	for pair, want := range map[string]bool{
		"2 2": true, "2 2/1": false, "2/1 2/1": true, "2/1 2/a/1": true, "2/1 2/#7/1": true, "2/1 2/a/2": false,
		"2/a/1 2/a/1": true, "2/a/1 2/b/1": false,
		"2/a 2/a/1": true, "2/a 2/a/1/3": true, "2/a 2/b/1": false, "2/a 2": false, "2/#3 2/#3.2/1": true,
		"2/#3.2 2/#3/1": false, "2/a/1 2/1": false,
	} {
		x, y, _ := strings.Cut(pair, " ")
		a, _ := ParseAddress(x)
		b, _ := ParseAddress(y)
		if a.Covers(b) != want {
			t.Errorf("%s covers %s: %v", a, b, !want)
		}
	}
}
