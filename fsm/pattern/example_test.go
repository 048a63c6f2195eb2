package pattern_test

import (
	"fmt"

	"loops/fsm/pattern"
)

func ExampleSearch() {
	for _, p := range []string{`^\d+ passed`, `(?<!un)stable`, `(unclosed`} {
		found, err := pattern.Search(p, "12 passed, unstable (unclosed")
		fmt.Println(p, pattern.Valid(p), found, err)
	}
	// Output:
	// ^\d+ passed true true <nil>
	// (?<!un)stable true false <nil>
	// (unclosed false true <nil>
}

func ExampleLazy() {
	version := pattern.Lazy(`v(\d+)\.(\d+)`)
	fmt.Println(version().FindStringSubmatch("loops v1.26"))
	// Output: [v1.26 1 26]
}
