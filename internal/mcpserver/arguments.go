package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"loops/internal/humanize"
)

// A Kind is the type of an argument.
type Kind string

// The kinds.
const (
	Text    Kind = "string"
	Number  Kind = "integer"
	Flag    Kind = "boolean"
	Texts   Kind = "array"  // of strings
	Mapping Kind = "object" // of any values
)

// An Argument is a parameter of a tool.
type Argument struct {
	Name     string
	Kind     Kind
	About    string
	Required bool
	Least    int // of a Number
	Most     int // of a Number
	Default  int // of a Number
}

// Values are the arguments of one call, checked. What was not given has the zero value, a Number its default.
type Values map[string]any

// Text returns a Text.
func (v Values) Text(name string) string { s, _ := v[name].(string); return s }

// Number returns a Number.
func (v Values) Number(name string) int { n, _ := v[name].(int); return n }

// Flag returns a Flag.
func (v Values) Flag(name string) bool { b, _ := v[name].(bool); return b }

// Texts returns Texts.
func (v Values) Texts(name string) []string { l, _ := v[name].([]string); return l }

// Mapping returns a Mapping: its keys, and the JSON of its values.
func (v Values) Mapping(name string) map[string]json.RawMessage {
	m, _ := v[name].(map[string]json.RawMessage)
	return m
}

// Has reports whether an argument was given.
func (v Values) Has(name string) bool { _, ok := v[name]; return ok }

func (t *Tool) inputSchema() json.RawMessage {
	properties := map[string]any{}
	required := []string{}
	for _, a := range t.Arguments {
		p := map[string]any{"type": a.Kind, "description": a.About}
		switch a.Kind {
		case Number:
			p["minimum"], p["maximum"], p["default"] = a.Least, a.Most, a.Default
		case Texts:
			p["items"] = map[string]string{"type": "string"}
		}
		properties[a.Name] = p
		if a.Required {
			required = append(required, a.Name)
		}
	}
	return encode(map[string]any{
		"type": "object", "properties": properties, "required": required,
		"additionalProperties": false,
	})
}

// check reads the arguments of a call. The error says everything that is wrong with them.
func (t *Tool) check(text json.RawMessage) (Values, error) {
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(text)) > 0 {
		if err := json.Unmarshal(text, &given); err != nil {
			return nil, fmt.Errorf("the arguments of %s are no JSON object", t.Name)
		}
	}
	var names []string
	var wrong []error
	values := Values{}
	for _, a := range t.Arguments {
		names = append(names, a.Name)
		raw, ok := given[a.Name]
		delete(given, a.Name)
		if ok = ok && string(raw) != "null"; !ok { // some clients send null for what they leave out
			if a.Required {
				wrong = append(wrong, fmt.Errorf("%s is missing: %s", a.Name, a.About))
			}
			if a.Kind == Number {
				values[a.Name] = a.Default
			}
			continue
		}
		v, err := a.value(raw)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		values[a.Name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		has := "it has none"
		if len(names) > 0 {
			has = "it has " + strings.Join(names, ", ")
		}
		wrong = append(wrong, fmt.Errorf("%s has no argument %s%s; %s", t.Name, humanize.Quote(name),
			humanize.DidYouMean(name, names), has))
	}
	return values, errors.Join(wrong...)
}

// value reads one argument.
func (a *Argument) value(raw json.RawMessage) (any, error) {
	var err error
	switch a.Kind {
	case Number:
		var n float64
		err = json.Unmarshal(raw, &n)
		if err == nil && n == math.Trunc(n) && n >= float64(a.Least) && n <= float64(a.Most) {
			return int(n), nil
		}
		return nil, fmt.Errorf("%s: expected a whole number from %d to %d, not %s", a.Name, a.Least, a.Most, shown(raw))
	case Flag:
		var b bool
		if err = json.Unmarshal(raw, &b); err == nil {
			return b, nil
		}
		return nil, fmt.Errorf("%s: expected true or false, not %s", a.Name, shown(raw))
	case Texts:
		var l []string
		if err = json.Unmarshal(raw, &l); err == nil {
			return l, nil
		}
		return nil, fmt.Errorf("%s: expected a list of texts, not %s", a.Name, shown(raw))
	case Mapping:
		var m map[string]json.RawMessage
		if err = json.Unmarshal(raw, &m); err == nil {
			return m, nil
		}
		return nil, fmt.Errorf("%s: expected an object, not %s", a.Name, shown(raw))
	}
	var s string
	if err = json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("%s: expected a text, not %s", a.Name, shown(raw))
	}
	if a.Required && strings.TrimSpace(s) == "" {
		return nil, fmt.Errorf("%s is empty: %s", a.Name, a.About)
	}
	return s, nil
}

// shown is JSON in a message.
func shown(raw json.RawMessage) string {
	const most = 60
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "…"
	}
	return string(raw)
}
