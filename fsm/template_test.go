package fsm

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestExpandErrors(t *testing.T) {
	s := &Scope{Context: NewMap("a", NewMap("b", NewMap("c", int64(1)))), Captured: NewMap()}
	for text, want := range map[string]string{
		"${context.zz}":             "Path 'zz' not found in context",
		"${context.a.zz.y}":         "Path 'a.zz' not found in context",
		"${context.a.b.c.d}":        "Path 'a.b.c.d' not found in context",
		"${context.a.b.c.d.e}":      "Path 'a.b.c.d' not found in context",
		"${captured.c.output}":      "Path 'c' not found in captured",
		"${prev.output}":            "No previous state result available",
		"${result.verdict}":         "No evaluation result available",
		"${bogus.x}":                "Unknown namespace: bogus",
		"${HOME}":                   "Invalid variable: ${HOME} (expected namespace.path)",
		"${env.NOPE}":               "Environment variable 'NOPE' not set",
		"${state.x}":                "Unknown state property: x",
		"${loop.x}":                 "Unknown loop property: x",
		"${messages.x}":             "Unknown messages property: 'x'",
		"${context.a?:default=x}":   "Ambiguous suffix in ${context.a?:default=x}: use only one of :default=, ? and :shell",
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
	s := &Scope{Context: NewMap("x", "1", "ref", "${context.x}", "none", nil)}
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
	s := &Scope{Context: NewMap("x", int64(1))}
	in := NewMap("${context.x}", []any{"${context.x}", int64(2), nil, NewMap("k", "a${context.x}")})
	got, err := ExpandValue(in, s)
	if want := `{'${context.x}': ['1', 2, None, {'k': 'a1'}]}`; err != nil || Repr(got) != want {
		t.Errorf("got %s, %v; want %s", Repr(got), err, want)
	}
	if want := `{'${context.x}': ['${context.x}', 2, None, {'k': 'a${context.x}'}]}`; Repr(in) != want {
		t.Errorf("the original became %s", Repr(in))
	}
	if _, err := ExpandValue([]any{NewMap("k", "${context.y}")}, s); err == nil {
		t.Error("an error deep inside was lost")
	}
}

func TestReferences(t *testing.T) {
	got := References("a ${context.x.y} $${context.z} ${messages} ${env.A:default=}} ${prev.o?}${captured.c.output:shell} ${} $${ ${context.q")
	want := []Ref{
		{"context", "x.y", "", 2, false, "${context.x.y}"},
		{"context", "z", "", 17, true, "${context.z}"},
		{"messages", "", "", 31, false, "${messages}"},
		{"env", "A", "default", 43, false, "${env.A:default=}"},
		{"prev", "o", "nullable", 62, false, "${prev.o?}"},
		{"captured", "c.output", "shell", 72, false, "${captured.c.output:shell}"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}
