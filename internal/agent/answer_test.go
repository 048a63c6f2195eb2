package agent

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"loops/internal/testenv"
)

const verdictSchema = `{"type": "object", "required": ["verdict", "confidence"], "properties": {
	"verdict": {"enum": ["yes", "no"]}, "confidence": {"type": "number", "minimum": 0, "maximum": 1}}}`

func parse(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := ParseSchema([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFind(t *testing.T) {
	t.Parallel()
	schema := parse(t, verdictSchema)
	fits := func(c json.RawMessage) bool { return schema.Check(c) == nil }
	for _, c := range []struct{ name, text, want string }{
		{"whole", ` {"verdict": "yes"} `, `{"verdict": "yes"}`},
		{"whole array", "[1, 2]\n", `[1, 2]`},
		{"byte order mark", "\uFEFF{\"a\": 1}", `{"a": 1}`},
		{"fenced", "Here:\n```json\n{\"verdict\": \"no\"}\n```\nThat is all.", `{"verdict": "no"}`},
		{"fence without a language", "```\r\n{\"a\": 1}\r\n```", `{"a": 1}`},
		{"fence that is not closed", "Here:\n```json\n{\"a\": 1}", `{"a": 1}`},
		{
			"inside a sentence", `I say {"verdict": "no", "reason": "a } in {text}"}, and mean it. {"b": 2}`,
			`{"verdict": "no", "reason": "a } in {text}"}`,
		},
		{"the one that fits", "The output had\n```json\n{\"ok\": true}\n```\nso:\n```json\n" +
			"{\"verdict\": \"yes\", \"confidence\": 1}\n```", `{"verdict": "yes", "confidence": 1}`},
		{
			"the one that fits, in a sentence", `{"ok": true} means {"verdict": "yes", "confidence": 0.5}.`,
			`{"verdict": "yes", "confidence": 0.5}`,
		},
		{"none fits", `{"ok": true} means {"verdict": "perhaps"}.`, `{"ok": true}`},
		{"broken, then whole", `{"verdict": {"a": 1}`, `{"a": 1}`},
		{"braces of a program", `for { x() } gives {"a": 1}`, `{"a": 1}`},
		{"tags", "<StructuredOutput><verdict>YES</verdict><Confidence> 0.7 </Confidence>\n<reason>it\n" +
			"is</reason></StructuredOutput>", `{"confidence":0.7,"reason":"it\nis","verdict":"yes"}`},
		{
			"fenced tags", "```xml\n<VERDICT>No</VERDICT>\n<evidence>a < b & c</evidence>\n```",
			`{"evidence":"a \u003c b \u0026 c","verdict":"no"}`,
		},
		{"confidence that is no number", "<verdict>no</verdict><confidence>NaN</confidence>", `{"verdict":"no"}`},
		{"tags without a verdict", "<reason>why</reason>", ""},
		{"empty verdict", "<verdict> </verdict>", ""},
		{"prose", "Yes, that worked.", ""},
		{"a word of JSON", `"yes"`, ""},
		{"nothing", " \n", ""},
	} {
		got, err := FindJSON(c.text, fits)
		if string(got) != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, ErrNoJSON) {
			t.Errorf("%s: got %s, %v; want %s", c.name, got, err, c.want)
		}
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, schema, answer, want string }{
		{"fits", verdictSchema, `{"verdict": "yes", "confidence": 1}`, ""},
		{"missing", verdictSchema, `{"verdict": "yes"}`, `required: missing properties: ["confidence"]`},
		{
			"wrong type", verdictSchema, `{"verdict": "yes", "confidence": "high"}`,
			`confidence: type: high has type "string", want "number"`,
		},
		{
			"wrong word", verdictSchema, `{"verdict": "maybe", "confidence": 1}`,
			"verdict: enum: maybe does not equal any of: [yes no]",
		},
		{
			"deep", `{"properties": {"a/b": {"items": {"type": "object"}}}}`, `{"a/b": [{}, 3]}`,
			`a/b.[]: type: 3 has type "integer", want "object"`,
		},
		{"whole numbers", `{"type": "integer"}`, `2.0`, ""},
		{
			"draft 7", `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "array"}`, `{}`,
			`type: map[] has type "object", want "array"`,
		},
		{
			"defined below", `{"$defs": {"v": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/v"}}}`,
			`{"a": 1}`, `a: type: 1 has type "integer", want "string"`,
		},
		{
			"a tree", `{"properties": {"kids": {"items": {"$ref": "#"}}, "n": {"type": "null"}}}`,
			`{"kids": [{"kids": [{"n": 1}]}]}`, `kids.[].kids.[].n: type: 1 has type "integer", want "null"`,
		},
		{"false", `{"properties": {"a": false}}`, `{"a": 1}`, "a: not: validated against <anonymous schema>"},
		{"long", `{"type": "object"}`, `"` + strings.Repeat("x", 1000) + `"`, "type: " + strings.Repeat("x", 294) +
			"…"},
	} {
		got := ""
		if err := parse(t, c.schema).Check([]byte(c.answer)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNoSchema(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, schema, want string }{
		{"no JSON", `{type: object}`, "it is not JSON: invalid character 't' looking for beginning of " +
			"object key string"},
		{
			"unknown type", `{"type": "zork"}`,
			`it is no JSON Schema: at the top: there is no type "zork"; expected one of array, boolean, integer, null, number, object, string`,
		},
		{
			"unknown type, deep", `{"properties": {"a": {"anyOf": [{"type": ["null", "text"]}]}}}`,
			`it is no JSON Schema: at /properties/a/anyOf/0: there is no type "text"; expected one of array, boolean, integer, null, number, object, string`,
		},
		{"type that is no name", `{"type": [1]}`, "it is no JSON Schema: at the top: type has to be a name or a " +
			"list of names"},
		{"list", `[1]`, "it is no JSON Schema: at the top: it has to be an object, true or false"},
		{
			"no schema within", `{"properties": {"a": "string"}}`,
			"it is no JSON Schema: at /properties/a: it has to be an object, true or false",
		},
		{"properties that are none", `{"properties": 1}`, "it is no JSON Schema: properties cannot be a number"},
		{"bad pattern", `{"pattern": "("}`, "it is no JSON Schema: pattern: error parsing regexp: missing " +
			"closing ): `(`"},
		{
			"another file", `{"$ref": "file:///etc/hostname"}`,
			`it is no JSON Schema: at the top: $ref names file:///etc/hostname: only a place in the schema itself can be named, as #/$defs/NAME`,
		},
		{
			"nowhere", `{"items": {"$ref": "#/a"}}`,
			`it is no JSON Schema: at /items: $ref names #/a, where no schema is`,
		},
		{"itself", `{"$ref": "#"}`, `it is no JSON Schema: at the top: it leads to itself without end`},
		{
			"itself, around",
			`{"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}`,
			`it is no JSON Schema: at /$defs/a: it leads to itself without end`,
		},
		{
			"unknown draft", `{"$schema": "https://example.org/draft"}`,
			`it is no JSON Schema: at the top: $schema names https://example.org/draft; expected draft 2020-12 or draft 7`,
		},
		{
			"anchor", `{"$defs": {"a": {"$anchor": "x"}}}`,
			`it is no JSON Schema: at /$defs/a: $anchor cannot be used here`,
		},
	} {
		if _, err := ParseSchema([]byte(c.schema)); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %q, want %q", c.name, err, c.want)
		}
	}
}

// TestFindEnds: the search in texts that are made to be slow ends.
func TestFindEnds(t *testing.T) {
	t.Parallel()
	if testenv.Raced {
		return // it is about size, and has one goroutine
	}
	for _, text := range []string{
		strings.Repeat("{", 8<<20), strings.Repeat(`{"a":`, 2<<20), strings.Repeat("```\n", 2<<20),
		strings.Repeat("<verdict>", 1<<20), strings.Repeat(`{"`, 4<<20),
	} {
		if _, err := FindJSON(text, nil); err == nil {
			t.Errorf("%.20q has an answer", text)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, text := range []string{
		"", "{", `{"a": 1}`, "```json\n{}\n```", `x {"a": "}"} {"verdict": "yes", "confidence": 1}`,
		"<verdict>YES</verdict><confidence>1e400</confidence>", "```\n[1]\n```\xff", "{\"a\": \"\\ud800\"}",
	} {
		f.Add(text)
	}
	schema := parse(f, verdictSchema)
	f.Fuzz(func(t *testing.T, text string) {
		fits := func(c json.RawMessage) bool { return schema.Check(c) == nil }
		got, err := FindJSON(text, fits)
		if err != nil {
			if !errors.Is(err, ErrNoJSON) || got != nil {
				t.Fatalf("%q, %v", got, err)
			}
			return
		}
		if !json.Valid(got) || got[0] != '{' && got[0] != '[' {
			t.Fatalf("%q is no answer", got)
		}
		// What fits is found again when it is alone, and it is never passed over for something else.
		again, err := FindJSON(string(got), fits)
		if err != nil || string(again) != strings.TrimSpace(string(got)) {
			t.Fatalf("%q became %q, %v", got, again, err)
		}
		if first, _ := FindJSON(text, nil); !fits(got) && string(first) != string(got) {
			t.Fatalf("%q was taken although it does not fit, and %q came first", got, first)
		}
	})
}

// FuzzSchema: a schema either is refused or can be used.
func FuzzSchema(f *testing.F) {
	for _, text := range []string{
		verdictSchema, `{"$ref": "#"}`, `{"items": {"$ref": "#"}}`,
		`{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"if": {"$ref": "#/allOf/0"}}}}`,
		`{"type": ["null", "x"]}`, `{"patternProperties": {"(": {}}}`, `{"dependentSchemas": {"a": {"$ref": "#"}}}`,
		`{"$id": "x", "minimum": 1e400}`, `true`, `{"items": [{}, true]}`,
	} {
		f.Add(text, `{"a": [1, {"a": null}]}`)
	}
	f.Fuzz(func(t *testing.T, schema, answer string) {
		s, err := ParseSchema([]byte(schema))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q", err)
			}
			return
		}
		if err := s.Check([]byte(answer)); err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("%q", err)
		}
	})
}
