package engine

import (
	"errors"
	"testing"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
)

func TestSeed(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name    string
		context *value.Map
		key     string
		input   *string
		pairs   []string
		want    string
	}{
		{"file only", value.NewMap("a", int64(1)), "input", nil, nil, `{"a": 1}`},
		{"no context in the file", nil, "input", text("x"), nil, `{"input": "x"}`},
		{"text", value.NewMap("a", int64(1)), "topic", text("x y"), nil, `{"a": 1, "topic": "x y"}`},
		{
			"object with a known key", value.NewMap("a", int64(1), "b", "t"), "input",
			text(` {"b": [1, 2.5, null], "c": 3}`), nil, `{"a": 1, "b": [1, 2.5, null]}`,
		},
		{
			"object without one", value.NewMap("a", int64(1)), "input", text(`{"c": 3}`), nil,
			`{"a": 1, "input": "{\"c\": 3}"}`,
		},
		{"array", value.NewMap("a", int64(1)), "input", text(`[1]`), nil, `{"a": 1, "input": "[1]"}`},
		{"broken object", value.NewMap("a", int64(1)), "input", text(`{"a": `), nil, `{"a": 1, "input": "{\"a\": "}`},
		{
			"two objects", value.NewMap("a", int64(1)), "input", text(`{"a": 2} {"a": 3}`), nil,
			`{"a": 1, "input": "{\"a\": 2} {\"a\": 3}"}`,
		},
		{
			"big whole number", value.NewMap("a", int64(1)), "input", text(`{"a": 123456789012345678901234567890}`),
			nil,
			`{"a": 123456789012345678901234567890}`,
		},
		{
			"pairs win and have the type of the key", value.NewMap("a", int64(1)), "input", text(`{"a": 2}`),
			[]string{"a=3", " b = c = d "},
			`{"a": 3, "b": " c = d "}`,
		},
		{"a number with a fraction", value.NewMap("a", int64(1)), "input", nil, []string{"a=0.5"}, `{"a": 0.5}`},
		{"a text that is no number", value.NewMap("a", int64(1)), "input", nil, []string{"a=all"}, `{"a": "all"}`},
		{
			"a number that templates would write otherwise", value.NewMap("a", 1.5), "input", nil,
			[]string{"a=1.50"},
			`{"a": "1.50"}`,
		},
		{"no end is no number", value.NewMap("a", 1.5), "input", nil, []string{"a=inf"}, `{"a": "inf"}`},
		{
			"true, as the scripts of little-loops expect it", value.NewMap("a", false), "input", nil,
			[]string{"a=true"},
			`{"a": "true"}`,
		},
		{
			"a list that templates would write otherwise", value.NewMap("a", []any{"x"}), "input", nil,
			[]string{`a=["y"]`},
			`{"a": "[\"y\"]"}`,
		},
		{"a text stays one", value.NewMap("a", "5"), "input", nil, []string{"a=6"}, `{"a": "6"}`},
		{"empty value", value.NewMap("a", int64(1)), "input", nil, []string{"a="}, `{"a": ""}`},
		{"empty input", nil, "input", text(""), nil, `{"input": ""}`},
	} {
		l := &fsm.Loop{Context: c.context, InputKey: c.key}
		got, err := Seed(l, c.input, c.pairs)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if s := string(value.AppendJSON(nil, got)); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, s, c.want)
		}
	}
	typed := &fsm.Loop{
		Context: value.NewMap("b", "file"),
		Parameters: []fsm.Parameter{
			{Name: "a", Type: "integer", Default: int64(1)},
			{Name: "b", Type: "string", Default: "default"},
			{Name: "c", Type: "boolean"},
			{Name: "d", Type: "path", Required: true},
		},
	}
	for _, c := range []struct {
		name  string
		input *string
		pairs []string
		want  string // "" = refused
	}{
		{"defaults come first", nil, nil, `{"a": 1, "b": "file"}`},
		{
			"values have their type where templates write it so", nil,
			[]string{"a=5", "c=yes"},
			`{"a": 5, "b": "file", "c": "yes"}`,
		},
		{"an object keeps types", text(`{"a": 5}`), nil, `{"a": 5, "b": "file"}`},
		{"text is no number", nil, []string{"a=five"}, ""},
		{"nothing is no number", nil, []string{"a="}, ""},
		{"an object is checked too", text(`{"a": 2.5}`), nil, ""},
		{"the last one counts", nil, []string{"a=x", "a=2"}, `{"a": 2, "b": "file"}`},
	} {
		got, err := Seed(typed, c.input, c.pairs)
		refusal, _ := errors.AsType[*Refusal](err)
		switch {
		case c.want == "" && (refusal == nil || refusal.Kind != Usage):
			t.Errorf("%s: accepted, or refused with %v", c.name, err)
		case c.want != "" && (err != nil || string(value.AppendJSON(nil, got)) != c.want):
			t.Errorf("%s:\n got %s %v\nwant %s", c.name, value.AppendJSON(nil, got), err, c.want)
		}
	}
	if before, _ := value.NewMap("a", 1).Get("a"); before != 1 {
		t.Error("the map of a file was changed")
	}
}

func TestSeedLeavesTheLoopAlone(t *testing.T) {
	t.Parallel()
	l := &fsm.Loop{Context: value.NewMap("a", int64(1))}
	if _, err := Seed(l, nil, []string{"a=2"}); err != nil {
		t.Fatal(err)
	}
	if v, _ := l.Context.Get("a"); v != int64(1) {
		t.Errorf("the loop's context has a = %v now", v)
	}
}

func TestSetPairsErrors(t *testing.T) {
	t.Parallel()
	for _, pair := range []string{"x", "", "=x", " = x"} {
		if err := SetPairs(value.NewMap(), []string{pair}); err == nil {
			t.Errorf("%q was accepted", pair)
		} else if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Kind != Usage {
			t.Errorf("%q: %v", pair, err)
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	l := &fsm.Loop{MaxSteps: 7, MaxIterations: 3}
	ctx := value.NewMap("input", "my input", "max_steps", "mine")
	Fill(ctx, l, "/p/.loops/runs/x")
	want := `{"input": "my input", "max_steps": "mine", "run_dir": "/p/.loops/runs/x/", "input_hash": "dc9f382cd156", "max_iterations": 3, "readiness_threshold": 85, "outcome_threshold": 65, "design_tokens_context": "", "design_guidance_context": ""}`
	if got := string(value.AppendJSON(nil, ctx)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	bare := value.NewMap("input", int64(4))
	Fill(bare, &fsm.Loop{MaxSteps: 7}, "/r/")
	want = `{"input": 4, "run_dir": "/r/", "max_steps": 7, "readiness_threshold": 85, "outcome_threshold": 65, "design_tokens_context": "", "design_guidance_context": ""}`
	if got := string(value.AppendJSON(nil, bare)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	p := &project.Project{Dir: "/p"}
	for _, c := range []struct {
		scope []string
		want  []string
	}{
		{nil, []string{"/p"}},
		{[]string{"."}, []string{"/p"}},
		{[]string{"src/", "/abs/../x"}, []string{"/p/src", "/x"}},
		{
			[]string{"${context.dir}/a", "${context.no}/b", "${context.dir"},
			[]string{"/p/sub/a", "/p/${context.no}/b", "/p/${context.dir"},
		},
	} {
		got := project.Scopes(p, &fsm.Loop{Scope: c.scope}, value.NewMap("dir", "sub"))
		if len(got) != len(c.want) {
			t.Errorf("%v: got %v, want %v", c.scope, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%v: got %v, want %v", c.scope, got, c.want)
			}
		}
	}
}
