package loopfile

import (
	"reflect"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
)

// oddCaseTexts are read as they were written, or a case would fail for the way in which it was written.
var oddCaseTexts = []string{
	"yes", "null", "~", "1.50", "0x1f", "2026-11-30", "- a", "a: b", "# no comment", " leading", "trailing ", "\ttab",
	"two\nlines", "two\nlines\n", "\n\nfirst lines are empty", "ends\n\n\n",
	"  indented\nthen not", "a\n \nb", "a\u2028b", "\ufeffmark", "\x1b[31mred\x1b[0m", "'", "\"", "a # b", "%TAG",
	"@", "*", "&a", "!!str x", "...", "---\n...\n", "é\n世界", strings.Repeat("long ", 400), "cr\r\nlf",
}

// TestWithCaseIsRead adds cases with odd texts to files of tests, which then have them as they were.
func TestWithCaseIsRead(t *testing.T) {
	t.Parallel()
	text := []byte(nil)
	for i, odd := range oddCaseTexts {
		code, message, cost := i%3, odd, 0.25
		with := value.NewMap("key", odd, "list", []any{odd, int64(1), true}, "of", value.NewMap("x", odd))
		c := &Case{
			Name: "case " + odd, Description: odd, Input: &odd, Context: with, Env: map[string]string{},
			From:  Word{Text: odd},
			Files: []CaseFile{{Word{Text: "a file"}, odd}},
			Answers: []StateAnswers{
				{
					State: Word{Text: "one > " + odd},
					List: []Answer{
						{Verdict: odd},
						{
							Verdict: odd, Output: odd, Stderr: odd, ExitCode: &code, Cost: &cost, Tokens: 3,
							Details: with,
						},
					},
				}, {State: Word{Text: "x"}, Every: true, List: []Answer{{Verdict: "no"}}},
			},
			Expect: Expectation{
				Path:     []Word{{Text: odd}, {Text: "b"}},
				Verdicts: []StateVerdicts{{Word{Text: "x"}, []string{"yes", odd}}}, Captures: with, Context: with,
				Outcome: "failed", State: Word{Text: odd}, Message: &message,
				Never: []Word{{Text: odd}}, Guarded: []Word{{Text: odd}}, Sandboxed: []Word{}, MaxCost: &cost,
			},
		}
		longer, err := WithCase("x.test.yaml", text, c)
		if err != nil {
			t.Errorf("%q: %v", odd, err)
			continue
		}
		if !strings.HasPrefix(string(longer), string(text)) {
			t.Errorf("%q: what was there is changed", odd)
		}
		text = longer
		s, problems := parseSuite(newSource("x.test.yaml", nil, text))
		if s == nil {
			t.Fatalf("%q: %v in\n%s", odd, problems, text)
		}
		got := s.Cases[len(s.Cases)-1]
		withoutPlaces(reflect.ValueOf(got).Elem())
		if !reflect.DeepEqual(got, c) {
			t.Errorf("%q: got\n%+v\nwant\n%+v\nin\n%s", odd, got, c, text)
		}
	}
}

// withoutPlaces removes the places in a file.
func withoutPlaces(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		switch x := v.Addr().Interface().(type) {
		case *Word:
			x.Pos, x.Path = fsm.Pos{}, ""
			return
		case *fsm.Pos:
			*x = fsm.Pos{}
			return
		case *value.Map:
			return
		}
		for i := range v.NumField() {
			withoutPlaces(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			withoutPlaces(v.Index(i))
		}
	}
}

// TestWithCaseKeeps: a case comes at the end of the cases, wherever these are; what cannot have it is refused.
func TestWithCaseKeeps(t *testing.T) {
	t.Parallel()
	c := &Case{Name: "new", Expect: Expectation{Outcome: "completed"}}
	for before, after := range map[string]string{
		"": "cases:\n  new:\n    expect:\n      outcome: completed\n",
		"# about\ncases:\n a: {expect: {outcome: failed}} # why\n\n# the loop\nloop: x\n": "# about\ncases:\n" +
			" a: {expect: {outcome: failed}} # why\n new:\n   expect:\n     outcome: completed\n\n# the loop\n" +
			"loop: x\n",
		"cases:\n  a:\n    expect: {message: |\n":   "it has mistakes",
		"cases: {a: {expect: {outcome: failed}}}":   "in braces",
		"cases: {new: {expect: {outcome: failed}}}": "called \"new\"",
		"cases:\n  a:\n    expect: {outcome: failed}": "cases:\n  a:\n" +
			"    expect: {outcome: failed}\n  new:\n    expect:\n      outcome: completed\n",
		"cases:\n  a:\n    expect: {outcome: failed}\n...\n": "cannot be added at its end",
	} {
		got, err := WithCase("x.test.yaml", []byte(before), c)
		if err != nil && !strings.Contains(err.Error(), after) || err == nil && string(got) != after {
			t.Errorf("%q: got %q, %v; want %q", before, got, err, after)
		}
	}
}
