package pyregexp_test

import (
	"fmt"

	"loops/fsm/pyregexp"
)

func ExampleSearch() {
	for _, p := range []string{`^\d+ passed`, `(?<!un)stable`, `(unclosed`} {
		found, err := pyregexp.Search(p, "12 passed, unstable (unclosed")
		fmt.Println(p, pyregexp.Valid(p), found, err)
	}
	// Output:
	// ^\d+ passed true true <nil>
	// (?<!un)stable true false <nil>
	// (unclosed false true <nil>
}

func ExampleLazy() {
	version := pyregexp.Lazy(`v(\d+)\.(\d+)`)
	fmt.Println(version().FindStringSubmatch("loops v1.26"))
	// Output: [v1.26 1 26]
}
