package pyregexp

import (
	"strings"
	"testing"

	"loops/fsm/value"
	"loops/internal/testenv"
)

func FuzzSearch(f *testing.F) {
	_, cases := testenv.Vectors(f, "../testdata/vectors/evaluators.jsonl")
	for _, c := range cases {
		if p, ok := testenv.At[*value.Map](c, "config").Get("pattern"); ok {
			f.Add(p.(string), testenv.At[string](c, "output"))
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 200 || len(text) > 200 {
			return
		}
		pattern = strings.ToValidUTF8(pattern, "\ufffd")
		first, err := Search(pattern, text)
		if err != nil {
			return
		}
		if m := patterns.Get(pattern); m.tree != nil && m.fast != nil { // both engines agree
			if re, err := m.slow(); err == nil {
				if second, err := re.MatchString(text); err == nil && second != first &&
					strings.ToValidUTF8(text, "") == text {
					t.Fatalf("%q in %q: %v, backtracking %v", pattern, text, first, second)
				}
			}
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	for b.Loop() {
		if ok, err := Search(`^\w+ \d+$`, "tests 12\n"); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
