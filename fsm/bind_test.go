package fsm

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"loops/fsm/value"
)

func TestParameterCheck(t *testing.T) {
	t.Parallel()
	enum := Parameter{Type: "enum", Values: []any{"low", "high", int64(3), true}}
	typed := func(name string) Parameter { return Parameter{Type: name} }
	for _, tc := range []struct {
		p    Parameter
		v    any
		want string // "" = fits
	}{
		{typed("string"), "", ""},
		{typed("string"), "5", ""},
		{typed("string"), int64(5), "expected text, found the integer 5"},
		{typed("string"), nil, "expected text, found nothing (null)"},
		{typed("integer"), int64(5), ""},
		{typed("integer"), new(big.Int).Lsh(big.NewInt(1), 80), ""},
		{typed("integer"), 5.0, "expected an integer, found the number 5.0"},
		{typed("integer"), true, "expected an integer, found the boolean true"},
		{typed("integer"), "5", `expected an integer, found the text "5"`},
		{typed("integer"), []any{}, "expected an integer, found a list"},
		{typed("number"), int64(5), ""},
		{typed("number"), 2.5, ""},
		{typed("number"), math.NaN(), ""},
		{typed("number"), false, "expected a number, found the boolean false"},
		{typed("number"), "", "expected a number, found empty text"},
		{typed("boolean"), false, ""},
		{typed("boolean"), int64(0), "expected true or false, found the integer 0"},
		{typed("boolean"), "true", `expected true or false, found the text "true"`},
		{typed("boolean"), &value.Map{}, "expected true or false, found a map"},
		{enum, "low", ""},
		{enum, int64(3), ""},
		{enum, 3.0, ""},
		{enum, true, ""},
		{enum, int64(1), `expected one of "low", "high", 3, true, found the integer 1`},
		{enum, "Low", `expected one of "low", "high", 3, true, found the text "Low"`},
		{Parameter{Type: "enum", Values: []any{int64(1)}}, true, "expected 1, found the boolean true"},
		{Parameter{Type: "enum", Values: []any{"on"}}, nil, `expected "on", found nothing (null)`},
		{typed("enum"), "anything", ""},
		{typed("path"), "a/b", ""},
		{typed("path"), int64(1), ""},
		{typed("datetime"), []any{}, ""},
		{typed("boolean"), strings.Repeat("x", 100), `expected true or false, found the text "` +
			strings.Repeat("x", 60) + `"...`},
		{typed("boolean"), "line\n\x1b", `expected true or false, found the text "line\n\x1b"`},
	} {
		got := ""
		if err := tc.p.Check(tc.v); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s Check(%s) = %q, want %q", tc.p.Type, value.Repr(tc.v), got, tc.want)
		}
	}
}

func TestBindConvertsText(t *testing.T) {
	t.Parallel()
	huge, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	enum := []any{"low", int64(3), true, "on "}
	for _, tc := range []struct {
		typ, text string
		want      any // an error where it is one
	}{
		{"integer", "5", int64(5)},
		{"integer", " 5 \n", int64(5)},
		{"integer", "+5", int64(5)},
		{"integer", "-0", int64(0)},
		{"integer", "007", int64(7)},
		{"integer", "1_000", int64(1000)},
		{"integer", "9223372036854775807", int64(math.MaxInt64)},
		{"integer", "-123456789012345678901234567890", huge},
		{"integer", "5.0", bad(`expected an integer, found the text "5.0"`)},
		{"integer", "1__0", bad(`expected an integer, found the text "1__0"`)},
		{"integer", "_1", bad(`expected an integer, found the text "_1"`)},
		{"integer", "0x10", bad(`expected an integer, found the text "0x10"`)},
		{"integer", "+-5", bad(`expected an integer, found the text "+-5"`)},
		{"integer", "-", bad(`expected an integer, found the text "-"`)},
		{"integer", "abc", bad(`expected an integer, found the text "abc"`)},
		{"integer", "", bad("expected an integer, found empty text")},
		{"integer", "True", bad(`expected an integer, found the text "True"`)},
		{
			"integer", strings.Repeat("9", 4301),
			bad(`expected an integer, found the text "` + strings.Repeat("9", 60) + `"...`),
		},
		{"number", "5", int64(5)},
		{"number", " 2.5\n", 2.5},
		{"number", "1e3", 1000.0},
		{"number", "-inf", math.Inf(-1)},
		{"number", "1,5", bad(`expected a number, found the text "1,5"`)},
		{"number", "5%", bad(`expected a number, found the text "5%"`)},
		{"boolean", "True", true},
		{"boolean", "False", false},
		{"boolean", "YES", true},
		{"boolean", "no\n", false},
		{"boolean", "on", true},
		{"boolean", "off", false},
		{"boolean", "1", bad(`expected true or false, found the text "1"`)},
		{"boolean", "y", bad(`expected true or false, found the text "y"`)},
		{"boolean", "", bad("expected true or false, found empty text")},
		{"enum", "low", "low"},
		{"enum", "low\n", "low"},
		{"enum", "3", int64(3)},
		{"enum", "True", true},
		{"enum", "on ", "on "},
		{"enum", "true", bad(`expected one of "low", 3, true, "on ", found the text "true"`)},
		{"string", " as is \n", " as is \n"},
		{"path", " a b ", " a b "},
		{"", "x", "x"},
	} {
		p := Parameter{Name: "p", Type: tc.typ}
		if tc.typ == "enum" {
			p.Values = enum
		}
		got, err := Bind([]Parameter{p}, value.NewMap("p", tc.text))
		if want, ok := tc.want.(bad); ok {
			if err == nil || err.Error() != `parameter "p": `+string(want) {
				t.Errorf("%s from %q: error %v, want %s", tc.typ, tc.text, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s from %q: %v", tc.typ, tc.text, err)
			continue
		}
		if v, _ := got.Get("p"); value.Repr(v) != value.Repr(tc.want) {
			t.Errorf("%s from %q = %s, want %s", tc.typ, tc.text, value.Repr(v), value.Repr(tc.want))
		}
	}
}

// bad is the error a case wants.
type bad string

func TestBind(t *testing.T) {
	t.Parallel()
	params := []Parameter{
		{Name: "goal", Type: "string", Required: true, Description: "what to reach\nin long"},
		{Name: "passes", Type: "integer", Default: int64(3)},
		{Name: "note", Type: "string"},
		{Name: "mode", Type: "enum", Values: []any{"a", "b"}, Default: "a"},
		{Name: "odd", Type: "integer", Default: "not checked"},
	}
	for _, tc := range []struct {
		name  string
		given *value.Map
		want  string
		err   string
	}{
		{
			"defaults follow what is given", value.NewMap("mode", "b", "goal", "g"),
			"{'mode': 'b', 'goal': 'g', 'passes': 3, 'odd': 'not checked'}", "",
		},
		{
			"names nobody declared stay", value.NewMap("extra", value.NewMap("k", "5"), "goal", "g", "passes", "4"),
			"{'extra': {'k': '5'}, 'goal': 'g', 'passes': 4, 'mode': 'a', 'odd': 'not checked'}", "",
		},
		{
			"a default is no answer to null", value.NewMap("goal", "g", "passes", nil), "",
			`parameter "passes": expected an integer, found nothing (null)`,
		},
		{"nothing given", nil, "", `parameter "goal" is required and was not given (string: what to reach)`},
		{
			"every problem at once", value.NewMap("passes", "x", "mode", "c"), "",
			`parameter "passes": expected an integer, found the text "x"; ` +
				`parameter "mode": expected one of "a", "b", found the text "c"; ` +
				`parameter "goal" is required and was not given (string: what to reach)`,
		},
	} {
		before := value.Repr(tc.given)
		got, err := Bind(params, tc.given)
		switch {
		case tc.err != "":
			if err == nil || err.Error() != tc.err {
				t.Errorf("%s: error %v, want %s", tc.name, err, tc.err)
			}
		case err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case value.Repr(got) != tc.want:
			t.Errorf("%s: %s, want %s", tc.name, value.Repr(got), tc.want)
		}
		if value.Repr(tc.given) != before {
			t.Errorf("%s: given became %s", tc.name, value.Repr(tc.given))
		}
	}
	_, err := Bind([]Parameter{{Name: "n", Type: "integer", Required: true, Default: int64(1)}}, nil)
	if want := `parameter "n" is required and was not given (integer)`; err == nil || err.Error() != want {
		t.Errorf("a required parameter with a default: error %v, want %s", err, want)
	}
}
