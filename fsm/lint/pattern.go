package lint

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first asked for: to compile all of them takes time that every
// start of the program would have to wait for.
func lazyRegexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
