package expr

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"loops/fsm/value"
)

func TestExpandErrors(t *testing.T) {
	t.Parallel()
	s := &Scope{Context: value.NewMap("a", value.NewMap("b", value.NewMap("c", int64(1)))), Captured: value.NewMap()}
	for text, want := range map[string]string{
		"${context.zz}":        "Path 'zz' not found in context",
		"${context.a.zz.y}":    "Path 'a.zz' not found in context",
		"${context.a.b.c.d}":   "Path 'a.b.c.d' not found in context",
		"${context.a.b.c.d.e}": "Path 'a.b.c.d' not found in context",
		"${captured.c.output}": "Path 'c' not found in captured",
		"${prev.output}":       "No previous state result available",
		"${result.verdict}":    "No evaluation result available",
		"${bogus.x}":           "${bogus.x} is not a template; for bash write $${bogus.x}",
		"${f%.go}":             "${f%.go} is not a template; for bash write $${f%.go}",
		"${en%.go}":            "${en%.go} is not a template; for bash write $${en%.go}",
		"${contxt.f}": "\"contxt\" is not something templates know; did you mean \"context\"? " +
			"For bash write $${contxt.f}",
		"${f.x:foo}":    "${f.x:foo} is not a template; for bash write $${f.x:foo}",
		"${HOME}":       "${HOME} is not a template; for bash write $${HOME}",
		"${env.NOPE}":   "Environment variable 'NOPE' not set",
		"${state.x}":    "Unknown state property: x",
		"${loop.x}":     "Unknown loop property: x",
		"${messages.x}": "Unknown messages property: 'x'",
		"${context.a?:default=x}": "Ambiguous suffix in ${context.a?:default=x}: use only one of " +
			":default=, ? and :shell",
		"${context.a:trim?:default=}": "Ambiguous suffix in ${context.a:trim?:default=}: use only one of " +
			":default=, ? and :shell",
		"${context.a:json:shell:default=x}": "Ambiguous suffix in ${context.a:json:shell:default=x}: use only one " +
			"of :default=, ? and :shell",
		"${context.a:shell:first}": "Filter :first after :shell in ${context.a:shell:first}: it would take " +
			"the quotes apart, so put :shell last",
		"${context.zz:shell:shell?}": "Filter :shell after :shell in ${context.zz:shell:shell?}: it would " +
			"take the quotes apart, so put :shell last",
		"${context.zz:trim}": "Path 'zz' not found in context",
		"${context.zz:trimm}": "Path 'zz:trimm' not found in context; there is no filter :trimm, only " +
			":trim, :lines, :first, :last, :json and :shell",
		"${context.a:upper:trim}": "Path 'a:upper' not found in context; there is no filter :upper, only " +
			":trim, :lines, :first, :last, :json and :shell",
		"${context.a:-d}":           "Path 'a:-d' not found in context",
		"${context.a:}":             "Path 'a:' not found in context",
		"${trim:first}":             "${trim:first} is not a template; for bash write $${trim:first}",
		"ok ${context.a} ${loop.y}": "Unknown loop property: y",
	} {
		_, err := Expand(text, s)
		var te *TemplateError
		if !errors.As(err, &te) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
			continue
		}
		if ref := text[strings.LastIndex(text, "${"):]; te.Ref != ref {
			t.Errorf("%s: the error is about %s, want %s", text, te.Ref, ref)
		}
	}
}

func TestExpandOddText(t *testing.T) {
	t.Parallel()
	s := &Scope{Context: value.NewMap("x", "1", "ref", "${context.x}", "none", nil)}
	for text, want := range map[string]string{
		"":                             "",
		"${}":                          "${}",
		"${}${context.x}":              "${}1",
		"$$${context.x}":               "$${context.x}",
		"${context.ref}":               "${context.x}",
		"$${${context.x}":              "${1",
		"${context.none:shell}":        "",
		"${context.zz:default=}|":      "|",
		"${messages}":                  "",
		strings.Repeat("${", 100_000):  strings.Repeat("${", 100_000),
		strings.Repeat("$${", 100_000): strings.Repeat("${", 100_000),
		strings.Repeat("${}", 100_000): strings.Repeat("${}", 100_000),
	} {
		got, err := Expand(text, s)
		if err != nil || got != want {
			t.Errorf("%.40q: got %.40q, %v; want %.40q", text, got, err, want)
		}
	}
}

func TestExpandValue(t *testing.T) {
	t.Parallel()
	s := &Scope{Context: value.NewMap("x", int64(1))}
	in := value.NewMap("${context.x}", []any{"${context.x}", int64(2), nil, value.NewMap("k", "a${context.x}")})
	got, err := ExpandValue(in, s)
	if want := `{'${context.x}': ['1', 2, None, {'k': 'a1'}]}`; err != nil || value.Repr(got) != want {
		t.Errorf("got %s, %v; want %s", value.Repr(got), err, want)
	}
	if want := `{'${context.x}': ['${context.x}', 2, None, {'k': 'a${context.x}'}]}`; value.Repr(in) != want {
		t.Errorf("the original became %s", value.Repr(in))
	}
	if _, err := ExpandValue([]any{value.NewMap("k", "${context.y}")}, s); err == nil {
		t.Error("an error deep inside was lost")
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Reference{
		"a ${context.x.y} $${context.z} ${messages} ${env.A:default=}} " +
			"${prev.o?}${captured.c.output:shell} ${} $${ ${context.q": {
			{"context", "x.y", "", 2, false, "${context.x.y}", nil, "", 0},
			{"context", "z", "", 17, true, "${context.z}", nil, "", 0},
			{"messages", "", "", 31, false, "${messages}", nil, "", 0},
			{"env", "A", "default", 43, false, "${env.A:default=}", nil, "", 0},
			{"prev", "o", "nullable", 62, false, "${prev.o?}", nil, "", 0},
			{"captured", "c.output", "shell", 72, false, "${captured.c.output:shell}", []string{"shell"}, "", 0},
		},
		"${context.x:trim:first?}${context.x:lines:shell}${context.x:shell?}$${context.x:json}": {
			{"context", "x", "nullable", 0, false, "${context.x:trim:first?}", []string{"trim", "first"}, "", 0},
			{"context", "x", "shell", 24, false, "${context.x:lines:shell}", []string{"lines", "shell"}, "", 0},
			{"context", "x:shell", "nullable", 48, false, "${context.x:shell?}", nil, "", 0},
			{"context", "x", "", 67, true, "${context.x:json}", []string{"json"}, "", 0},
		},
		"${context.x:trim:default=a:shell}${messages:last}${context.x:trim:shell?}${context.x:upper}": {
			{"context", "x", "default", 0, false, "${context.x:trim:default=a:shell}", []string{"trim"}, "", 0},
			{"messages", "", "", 33, false, "${messages:last}", []string{"last"}, "", 0},
			{"context", "x", "nullable", 49, false, "${context.x:trim:shell?}", []string{"trim", "shell"}, "", 0},
			{"context", "x:upper", "", 73, false, "${context.x:upper}", nil, "", 0},
		},
		"${captured.x.json | .a[1:-1] | length:trim:shell}${prev.json|.a?}" +
			"${context.x:default=a|b}${context.x | .y:default=a|b}": {
			{
				"captured", "x.json", "shell", 0, false, "${captured.x.json | .a[1:-1] | length:trim:shell}",
				[]string{"trim", "shell"},
				".a[1:-1] | length", 20,
			},
			{"prev", "json", "nullable", 49, false, "${prev.json|.a?}", nil, ".a", 12},
			{"context", "x", "default", 65, false, "${context.x:default=a|b}", nil, "", 0},
			{"context", "x", "default", 89, false, "${context.x | .y:default=a|b}", nil, ".y", 14},
		},
	} {
		if got := References(text); !reflect.DeepEqual(got, want) {
			t.Errorf("got\n%+v\nwant\n%+v", got, want)
		}
	}
}

func TestTemplatePrograms(t *testing.T) {
	t.Parallel()
	s := &Scope{
		Context: value.NewMap("list", []any{int64(1), "two", nil}, "a|b", "kept", "data", value.NewMap("n", int64(7))),
		Captured: value.NewMap(
			"x", value.NewMap("output", `{"items": [{"name": "it's"}, {"name": "b"}], "n": 1.0, "none": null}`),
			"bad", value.NewMap("output", "no JSON"), "cut", value.NewMap("output", `{"a": `, "truncated", true),
			"own", value.NewMap("json", "mine", "output", "1"),
		),
		Prev: value.NewMap("output", "[1, 2]\n"),
	}
	for text, want := range map[string]string{
		"${captured.x.json | .items[0].name}":                               "it's",
		"${captured.x.json|.items[0].name:shell}":                           `'it'"'"'s'`,
		"${captured.x.json | .items[].name}":                                "it's\nb",
		"${captured.x.json | .items[].name:last}":                           "b",
		"${captured.x.json | .items[] | .name:json}":                        `["it's", "b"]`,
		"${captured.x.json | .items | length}":                              "2",
		"${captured.x.json | .items[1]}":                                    `{"name": "b"}`,
		"${captured.x.json | .none}":                                        "",
		"${captured.x.json | .n}":                                           "1",
		"${captured.x.json | .n == 1}":                                      "true",
		"${captured.x.output | length}":                                     "68",
		"${prev.json | add}":                                                "3",
		"${context.data | .n + 1}":                                          "8",
		"${context.list | .[1]}":                                            "two",
		"${context.a|b}":                                                    "kept",
		"${captured.own.json | length}":                                     "4",
		"${captured.x.json | .gone[]?}":                                     "",
		"${captured.x.json | .items | keys[] | select(. > 5):default=none}": "none",
		"${captured.bad.json | .a?}":                                        "",
		"${captured.gone.json | .a:default=x|y}":                            "x|y",
		"${captured.x.json}": "error: Path 'x.json' not " +
			"found in captured",
		"${captured.bad.json | .a}": "error: the output of " +
			"captured.bad is no JSON: ",
		"${captured.cut.json | .a}": "error: captured.cut.output is cut, " +
			"and all of it is needed here: it has no file",
		"${captured.gone.json | .a}": "error: Path 'gone' not found in captured",
		"${captured.x.json | .items[}": "error: jq: .items[: the program " +
			"ends too early",
		"${captured.x.json | .items | .name}": "error: jq: .items | .name: expected " +
			"an object but got: array",
		"${captured.x.json | .items[] | select(false)}": "error: jq: .items[] | select(false) " +
			"yields nothing",
		"a ${nothing.x | .y}": "error: ${nothing.x | .y} is not a " +
			"template; for bash write $${nothing.x | .y}",
	} {
		got, err := Expand(text, s)
		if want, bad := strings.CutPrefix(want, "error: "); bad {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %q, %v; want the error %s", text, got, err, want)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}
