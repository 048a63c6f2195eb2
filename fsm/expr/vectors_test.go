package expr_test

import (
	"testing"

	"loops/fsm/expr"
	"loops/fsm/value"
	"loops/internal/testenv"
)

func TestInterpolationVectors(t *testing.T) {
	t.Parallel()
	testTemplates(t, "interpolation.jsonl")
}

func TestFilterVectors(t *testing.T) {
	t.Parallel()
	testTemplates(t, "filters.jsonl")
}

func testTemplates(t *testing.T, name string) {
	base, cases := testenv.Vectors(t, "testdata/vectors/"+name)
	env := testenv.At[*value.Map](base, "env")
	for _, c := range cases {
		t.Run(testenv.At[string](c, "id"), func(t *testing.T) {
			s := testenv.ScopeOf(testenv.At[*value.Map](base, "ctx"), testenv.At[*value.Map](c, "ctx"))
			s.Getenv = func(name string) (string, bool) {
				v, ok := env.Get(name)
				text, _ := v.(string)
				return text, ok
			}
			text := testenv.At[string](c, "template")
			got, err := expr.Expand(text, s)
			switch {
			case testenv.At[bool](c, "raises"):
				if err == nil {
					t.Errorf("%q gave %q, want an error", text, got)
				}
			case err != nil:
				t.Errorf("%q: %v", text, err)
			case got != testenv.At[string](c, "result"):
				t.Errorf("%q gave %q, want %q", text, got, testenv.At[string](c, "result"))
			}
		})
	}
}

func TestDurationVectors(t *testing.T) {
	t.Parallel()
	_, cases := testenv.Vectors(t, "testdata/vectors/duration.jsonl")
	for _, c := range cases {
		if got, want := expr.Elapsed(testenv.At[int64](c, "ms")), testenv.At[string](c, "text"); got != want {
			t.Errorf("%s: %q, want %q", testenv.At[string](c, "id"), got, want)
		}
	}
}
