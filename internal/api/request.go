package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"loops/internal/humanize"
)

// CheckRequest returns why an object of JSON is not the body of that name in [Requests]: a key that it does not
// have, one that is missing, or a value of another type.
func CheckRequest(name string, given map[string]any) error {
	s, err := requestSchema(name)
	if err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(s.Properties))
	for _, key := range slices.Sorted(maps.Keys(given)) {
		of := s.Properties[key]
		if of == nil {
			return UnknownName("key", key, keys)
		}
		if err := checkValue(key, of, given[key]); err != nil {
			return err
		}
	}
	for _, key := range s.Required {
		if _, ok := given[key]; !ok {
			return fmt.Errorf("%s: it is missing", key)
		}
	}
	return nil
}

// IsSwitch reports whether a key of a request is true or false.
func IsSwitch(name, key string) bool {
	s, err := requestSchema(name)
	return err == nil && s.Properties[key] != nil && s.Properties[key].Type == "boolean"
}

func requestSchema(name string) (*jsonschema.Schema, error) {
	i := slices.IndexFunc(Requests, func(o Output) bool { return o.Command == name })
	if i < 0 {
		return nil, fmt.Errorf("no request is called %q", name)
	}
	return Requests[i].Schema()
}

// UnknownName returns the error of a name that is none of those that are known. kind says what it would name.
func UnknownName(kind, name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("there is no %s %s: none is expected here", kind, humanize.Quote(name))
	}
	return fmt.Errorf("there is no %s %s%s; expected %s", kind, humanize.Quote(name),
		humanize.DidYouMean(name, known), humanize.List(known))
}

func checkValue(key string, of *jsonschema.Schema, v any) error {
	kind := map[string]string{"string": "a text", "boolean": "true or false", "object": "an object"}[of.Type]
	found := ""
	switch v := v.(type) {
	case string:
		found = "a text"
		if len(of.Enum) > 0 && !slices.Contains(of.Enum, any(v)) {
			words := make([]string, len(of.Enum))
			for i, word := range of.Enum {
				words[i] = fmt.Sprint(word)
			}
			return WrongWord(key, v, words)
		}
	case bool:
		found = "true or false"
	case map[string]any:
		found = "an object"
	case []any:
		found = "a list"
	case json.Number, float64:
		found = "a number"
	case nil:
		found = "null"
	}
	if kind == "" {
		return errors.New(key + ": its type cannot be checked")
	}
	if found != kind {
		return fmt.Errorf("%s: expected %s, not %s", key, kind, found)
	}
	return nil
}

// WrongWord returns the error of a value that is none of those that its key takes.
func WrongWord(key, v string, words []string) error {
	return fmt.Errorf("%s: expected %s, not %s%s", key, humanize.List(words), humanize.Quote(v),
		humanize.DidYouMean(v, words))
}
