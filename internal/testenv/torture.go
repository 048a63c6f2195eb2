package testenv

import "flag"

// Torture is the flag for the long form of tests that are short otherwise: make torture.
var Torture = flag.Bool("torture", false, "all of what is otherwise done a few times")

// Some returns few, or all with -torture. What a test does few of is always the same.
func Some(few, all int) int {
	if *Torture {
		return all
	}
	return few
}
