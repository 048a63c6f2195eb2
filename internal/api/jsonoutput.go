package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"loops/fsm/value"
)

// Version is the version of the schemas. Keys are added within a version; none is removed, and none changes its type.
const Version = 1

// An Output is what a command prints with --json.
type Output struct {
	Command string         // without "loops"
	Prints  string         // in a few words
	of      []reflect.Type // one of these; where all are lists, each element is what one of them has
}

// Commands returns the names of the commands that have a schema, sorted.
func Commands() (names []string) {
	for _, o := range Outputs {
		names = append(names, o.Command)
	}
	return names
}

// SchemaText returns the JSON Schema of what a command prints, as JSON. It allows keys that it does not know,
// because keys are added.
func SchemaText(command string) ([]byte, error) {
	i := slices.IndexFunc(Outputs, func(o Output) bool { return o.Command == command })
	if i < 0 {
		return nil, fmt.Errorf("no schema for %q; there is one for: %s", command, strings.Join(Commands(), ", "))
	}
	s, err := Outputs[i].Schema()
	if err != nil {
		return nil, err
	}
	open(s)
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// Schema returns the JSON Schema of an output. It refuses keys that it does not know.
func (o Output) Schema() (*jsonschema.Schema, error) {
	var shapes []*jsonschema.Schema
	for _, t := range o.of {
		s, err := shape(t)
		if err != nil {
			return nil, err
		}
		setWords(s, t)
		shapes = append(shapes, s)
	}
	s := oneOf(shapes)
	walk(s, func(s *jsonschema.Schema) {
		if s.Items != nil { // lists are never null
			s.Type, s.Types = "array", nil
		}
		if s.Comment == neverNull {
			s.Type, s.Types, s.Comment = "object", nil, ""
		}
	})
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.ID = fmt.Sprintf("urn:loops:json:%s:%d", strings.ReplaceAll(o.Command, " ", "-"), Version)
	s.Title = fmt.Sprintf("loops %s --json, version %d", o.Command, Version)
	s.Description = o.Prints
	return s, nil
}

// setWords gives the keys of an object the values that a tag words names, with commas between them.
func setWords(s *jsonschema.Schema, t reflect.Type) {
	if t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		words, ok := t.Field(i).Tag.Lookup("words")
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if !ok || s.Properties[name] == nil {
			continue
		}
		for word := range strings.SplitSeq(words, ",") {
			s.Properties[name].Enum = append(s.Properties[name].Enum, word)
		}
	}
}

// neverNull marks the schema of an object that is {} where Go has nil.
const neverNull = "never null"

// shape returns the schema of a type. Events have keys that depend on their kind, and findings such that depend
// on the check.
func shape(t reflect.Type) (*jsonschema.Schema, error) {
	open := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Text](): {Types: []string{"null", "string"}},
		reflect.TypeFor[Int]():  {Types: []string{"null", "integer"}},
		reflect.TypeFor[Object](): {
			Types:                []string{"null", "object"},
			AdditionalProperties: &jsonschema.Schema{},
		},
		reflect.TypeFor[value.Map](): {
			Type: "object", AdditionalProperties: &jsonschema.Schema{},
			Comment: neverNull,
		},
		reflect.TypeFor[Pairs[int]]():    {Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "integer"}},
		reflect.TypeFor[Pairs[any]]():    {Type: "object", AdditionalProperties: &jsonschema.Schema{}},
		reflect.TypeFor[Pairs[string]](): {Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string"}},
	}
	parameter, err := jsonschema.ForType(reflect.TypeFor[FragmentParameter](),
		&jsonschema.ForOptions{TypeSchemas: open})
	if err != nil {
		return nil, err
	}
	open[reflect.TypeFor[Pairs[FragmentParameter]]()] = &jsonschema.Schema{
		Type:                 "object",
		AdditionalProperties: parameter,
	}
	for _, of := range []reflect.Type{reflect.TypeFor[Event](), reflect.TypeFor[Finding]()} {
		s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: open})
		if err != nil {
			return nil, err
		}
		s.AdditionalProperties = nil
		if of == reflect.TypeFor[Event]() {
			// which have types of their own
			s.Properties["event"].Not = &jsonschema.Schema{Enum: []any{"run_info", "queue_wait"}}
		}
		if t == of {
			return s, nil
		}
		open[of] = s
	}
	return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: open})
}

func oneOf(shapes []*jsonschema.Schema) *jsonschema.Schema {
	if len(shapes) == 1 {
		return shapes[0]
	}
	var elements []*jsonschema.Schema
	for _, s := range shapes {
		if s.Items == nil {
			return &jsonschema.Schema{AnyOf: shapes}
		}
		elements = append(elements, s.Items)
	}
	return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{AnyOf: elements}}
}

// open lets objects have keys that the schema does not know.
func open(s *jsonschema.Schema) {
	walk(s, func(s *jsonschema.Schema) {
		if s.Properties != nil {
			s.AdditionalProperties = nil
		}
	})
}

func walk(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	visit(s)
	walk(s.Items, visit)
	for _, one := range s.AnyOf {
		walk(one, visit)
	}
	for _, p := range s.Properties {
		walk(p, visit)
	}
	if len(s.Properties) == 0 {
		walk(s.AdditionalProperties, visit)
	}
}
