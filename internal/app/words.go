package app

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"loops/fsm/loopfile"
)

// A KeyWord is what may be at a place of a loop file: as much of the JSON Schema as an editor offers.
type KeyWord struct {
	About  string              `json:"about,omitempty"`
	Values []string            `json:"values,omitempty"`
	Keys   map[string]*KeyWord `json:"keys,omitempty"` // of an object
	Any    *KeyWord            `json:"any,omitempty"`  // below any other key, and in a list
	Of     string              `json:"of,omitempty"`   // the name of a word that says more
}

// KeyWords returns the word of a loop file, by the name "", and those that others name.
func KeyWords(types loopfile.Types) (map[string]*KeyWord, error) {
	var schema map[string]any
	if err := json.Unmarshal(loopfile.Schema(types), &schema); err != nil {
		return nil, err
	}
	all := map[string]*KeyWord{"": wordOf(schema)}
	defs, _ := schema["$defs"].(map[string]any)
	for name, def := range defs {
		if def, ok := def.(map[string]any); ok {
			if w := wordOf(def); len(w.Keys)+len(w.Values) > 0 || w.Any != nil || w.Of != "" {
				all[name] = w
			}
		}
	}
	return all, nil
}

// wordOf takes from a schema what it says of keys and values, whichever of its cases holds.
func wordOf(schema map[string]any) *KeyWord {
	w := &KeyWord{}
	about, _ := schema["description"].(string)
	w.About, _, _ = strings.Cut(about, ". ")
	w.take(schema)
	slices.Sort(w.Values)
	w.Values = slices.Compact(w.Values)
	return w
}

func (w *KeyWord) take(schema map[string]any) {
	if ref, ok := schema["$ref"].(string); ok && w.Of == "" {
		if name := strings.TrimPrefix(ref, "#/$defs/"); !strings.Contains(name, "text") {
			w.Of = name
		}
	}
	values, _ := schema["enum"].([]any)
	if c, ok := schema["const"]; ok {
		values = append(values, c)
	}
	kinds, _ := schema["type"].([]any)
	if schema["type"] == "boolean" || slices.Contains(kinds, any("boolean")) {
		values = append(values, true, false)
	}
	for _, v := range values {
		switch v := v.(type) {
		case string:
			w.Values = append(w.Values, v)
		case bool:
			w.Values = append(w.Values, strconv.FormatBool(v))
		}
	}
	keys, _ := schema["properties"].(map[string]any)
	for key, of := range keys {
		if of, ok := of.(map[string]any); ok {
			if w.Keys == nil {
				w.Keys = map[string]*KeyWord{}
			}
			if w.Keys[key] == nil {
				w.Keys[key] = wordOf(of)
			}
		}
	}
	for _, below := range []string{"additionalProperties", "items"} {
		if of, ok := schema[below].(map[string]any); ok && w.Any == nil {
			if other := wordOf(of); len(other.Keys)+len(other.Values) > 0 || other.Of != "" || other.Any != nil {
				w.Any = other
			}
		}
	}
	for _, one := range []string{"then", "else"} {
		if of, ok := schema[one].(map[string]any); ok {
			w.take(of)
		}
	}
	for _, some := range []string{"anyOf", "oneOf"} {
		list, _ := schema[some].([]any)
		for _, of := range list {
			if of, ok := of.(map[string]any); ok {
				w.take(of)
			}
		}
	}
}
