package expr_test

import (
	"strings"
	"testing"

	"loops/fsm/expr"
	"loops/fsm/value"
	"loops/internal/testenv"
)

func FuzzExpand(f *testing.F) {
	_, cases := testenv.Vectors(f, "testdata/vectors/interpolation.jsonl")
	for _, c := range cases {
		f.Add(testenv.At[string](c, "template"))
	}
	s := &expr.Scope{
		Context:  value.NewMap("t", int64(5), "s", "abc", "m", value.NewMap("k", nil)),
		Messages: []string{"a", "b"}, Prev: value.NewMap("output", "o"),
	}
	f.Fuzz(func(t *testing.T, text string) {
		refs := expr.References(text)
		got, err := expr.Expand(text, s)
		if err != nil {
			if te, ok := err.(*expr.TemplateError); !ok || !strings.Contains(text, te.Ref) {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		if len(refs) == 0 && got != strings.ReplaceAll(text, "$${", "${") {
			t.Fatalf("%q has no references and became %q", text, got)
		}
		for _, r := range refs {
			i := r.Offset
			if r.Escaped {
				i++
			}
			if !strings.HasPrefix(text[i:], r.Text) {
				t.Fatalf("%q: reference %+v is not there", text, r)
			}
		}
	})
}

func BenchmarkExpand(b *testing.B) {
	s := &expr.Scope{Context: value.NewMap("n", int64(5)), Prev: value.NewMap("output", "7\n")}
	for b.Loop() {
		if _, err := expr.Expand("test ${prev.output} -lt ${context.n:default=3} && echo $${HOME}", s); err != nil {
			b.Fatal(err)
		}
	}
}
