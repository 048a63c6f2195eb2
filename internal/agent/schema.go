package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Schema says what an answer has to be. It may be used by several goroutines.
type Schema struct{ resolved *jsonschema.Resolved }

// ParseSchema reads a JSON Schema of 2020-12 or draft 7. It has to be complete in itself: a $ref names a place
// in it. The error says to a person what is wrong and where, in one line.
func ParseSchema(text []byte) (*Schema, error) {
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if err := check(doc); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema: %s", plain(err))
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("it is no JSON Schema: %s", plain(err))
	}
	return &Schema{resolved}, nil
}

// Check returns an error that says where the answer does not match and why, in one line: the first of the reasons.
func (s *Schema) Check(answer []byte) error {
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if err := s.resolved.Validate(v); err != nil {
		return errors.New(plain(err))
	}
	return nil
}

var (
	// place is how the library says which part of the schema it is about.
	place   = lazy(`validating ([^ ]*): `)
	about   = lazy(`^(json: |jsonschema\.Schema: (<anonymous schema>: )?|jsonschema: )`)
	longest = 300
)

// plain is an error of the library in one line, with the place in the answer before the reason.
func plain(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s cannot be a %s", wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:], wrong.Value)
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	var where []string
	for last := ""; ; {
		m := place().FindStringSubmatchIndex(text)
		if m == nil || m[0] != 0 {
			break
		}
		next := strings.TrimPrefix(text[m[2]:m[3]], "root")
		if deeper, ok := strings.CutPrefix(next, last); ok { // else a $ref led there, from the same value
			where = append(where, inAnswer(deeper)...)
		}
		last, text = next, text[m[1]:]
	}
	text = about().ReplaceAllString(text, "")
	if len(where) > 0 {
		text = strings.Join(where, ".") + ": " + text
	}
	if r := []rune(text); len(r) > longest {
		text = string(r[:longest]) + "…"
	}
	return text
}

// inAnswer is the part of an answer that a part of a schema is about.
func inAnswer(pointer string) (at []string) {
	parts := strings.Split(pointer, "/")
	for i := 1; i < len(parts); i++ {
		switch parts[i] {
		case "properties", "patternProperties":
			if i++; i < len(parts) {
				at = append(at, unescape(parts[i]))
			}
		case "items", "prefixItems", "contains":
			at = append(at, "[]")
		}
	}
	return at
}

func unescape(part string) string {
	return strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
}
