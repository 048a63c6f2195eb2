package pyregexp

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles text, an expression in the syntax of package [regexp], at its first
// call and returns the same result at each. It is for the program's own expressions: every start of the program
// would wait for compiling them all. The function panics where text is no expression, and is safe for
// concurrent use.
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
