package answer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// A Schema says what an answer has to be. It may be used by several goroutines.
type Schema struct{ compiled *jsonschema.Schema }

// ParseSchema reads a JSON Schema; one that names no draft is of 2020-12. It is complete in itself: nothing that a $ref
// names elsewhere is read. The error says to a person what is wrong, in one line.
func ParseSchema(text []byte) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	if err = c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema: %s", oneLine(err))
	}
	s, err := c.Compile(schemaURL)
	if err != nil {
		if bad, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
			err = bad.Err
		}
		return nil, fmt.Errorf("it is no JSON Schema: %s", oneLine(err))
	}
	return &Schema{s}, nil
}

const schemaURL = "urn:loops:answer"

// nothing loads nothing.
type nothing struct{}

func (nothing) Load(string) (any, error) {
	return nil, errors.New("only what it holds itself can be referred to")
}

// Check returns an error that says where the answer does not match and why, in one line.
func (s *Schema) Check(answer []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if err := s.compiled.Validate(v); err != nil {
		return errors.New(oneLine(err))
	}
	return nil
}

// oneLine says the innermost of what is wrong, each with its place.
func oneLine(err error) string {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), schemaURL, "")), " ")
	}
	reasons := innermost(invalid, message.NewPrinter(language.English))
	slices.Sort(reasons) // the library's order is that of a map
	const most = 3
	if n := len(reasons) - most; n > 0 {
		reasons = append(reasons[:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(reasons, "; ")
}

func innermost(e *jsonschema.ValidationError, p *message.Printer) (reasons []string) {
	for _, c := range e.Causes {
		reasons = append(reasons, innermost(c, p)...)
	}
	if len(e.Causes) == 0 {
		where := strings.Join(e.InstanceLocation, ".")
		if where == "" {
			where = "the whole"
		}
		reasons = []string{where + ": " + e.ErrorKind.LocalizedString(p)}
	}
	return reasons
}
