package testenv

import "flag"

var whole = flag.Bool("whole", false, "tests that do the same for each byte, field or seed do so for all of them: make torture")

// Whole reports whether a test does all of its cases. Otherwise it does a few of each kind, always the same ones.
func Whole() bool { return *whole }

// Some returns few, or all with -whole.
func Some(few, all int) int {
	if *whole {
		return all
	}
	return few
}
