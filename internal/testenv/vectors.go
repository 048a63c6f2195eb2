package testenv

import (
	"bufio"
	"os"
	"testing"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// Vectors returns the base record of a file of test vectors, nil if it has none, and its cases, at least one. The file
// has one JSON object a line, as fsm/testdata/vectors/README.md describes them.
func Vectors(t testing.TB, file string) (base *value.Map, cases []*value.Map) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		v, err := value.ParseJSON(lines.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		m := v.(*value.Map)
		if _, ok := m.Get("_meta"); ok {
			base = m
		} else {
			cases = append(cases, m)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatalf("%s holds no cases", file)
	}
	return base, cases
}

// At returns the value of a key, the zero value if there is none of that type.
func At[T any](m *value.Map, key string) T {
	x, _ := m.Value(key).(T)
	return x
}

// ScopeOf returns the scope of a base context with the keys that a case replaces.
func ScopeOf(base, replaced *value.Map) *expr.Scope {
	ctx := base.Clone()
	for k, v := range replaced.All() {
		ctx.Set(k, v)
	}
	s := &expr.Scope{
		Context: At[*value.Map](ctx, "context"), Captured: At[*value.Map](ctx, "captured"),
		Param: At[*value.Map](ctx, "param"),
		Prev:  At[*value.Map](ctx, "prev"), Result: At[*value.Map](ctx, "result"),
		State: At[string](ctx, "state_name"), Step: int(At[int64](ctx, "iteration")),
		Loop:      At[string](ctx, "loop_name"),
		StartedAt: At[string](ctx, "started_at"), ElapsedMS: At[int64](ctx, "elapsed_ms"),
	}
	for _, m := range At[[]any](ctx, "messages") {
		s.Messages = append(s.Messages, m.(string))
	}
	return s
}
