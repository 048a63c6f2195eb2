package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The keywords with schemas in them: one, a list, or a map. Those of the first group and the middle of the others
// are about the same value as the schema they are in.
var (
	inPlace = []string{"not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas"}
	single  = []string{
		"not", "if", "then", "else", "items", "additionalItems", "additionalProperties", "contains",
		"propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema",
	}
	listed   = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	mapped   = []string{"dependentSchemas", "properties", "patternProperties", "$defs", "definitions"}
	types    = []string{"array", "boolean", "integer", "null", "number", "object", "string"}
	drafts   = []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema"}
	unusable = []string{"$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"}
)

// A checker finds what the library takes without a word, or never comes back from.
type checker struct {
	same map[string][]string // from the place of a schema to those that are about the same value
}

// check says what is wrong with a schema.
func check(doc any) error {
	c := checker{same: map[string][]string{}}
	if err := c.schema(doc, ""); err != nil {
		return err
	}
	for _, from := range slices.Sorted(maps.Keys(c.same)) {
		for _, to := range c.same[from] {
			if _, ok := c.same[to]; !ok {
				return fmt.Errorf("%s: $ref names #%s, where no schema is", at(from), to)
			}
		}
	}
	done := map[string]bool{}
	for _, from := range slices.Sorted(maps.Keys(c.same)) {
		if c.circular(from, map[string]bool{}, done) {
			return fmt.Errorf("%s: it leads to itself without end", at(from))
		}
	}
	return nil
}

// circular reports whether a schema is, for one value, made of itself.
func (c *checker) circular(from string, above, done map[string]bool) bool {
	if above[from] || done[from] {
		return above[from]
	}
	above[from] = true
	for _, to := range c.same[from] {
		if c.circular(to, above, done) {
			return true
		}
	}
	above[from], done[from] = false, true
	return false
}

// schema checks the schema at a place, which is a JSON pointer.
func (c *checker) schema(v any, place string) error {
	c.same[place] = nil
	if _, ok := v.(bool); ok {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: it has to be an object, true or false", at(place))
	}
	for _, k := range unusable {
		if m[k] != nil {
			return fmt.Errorf("%s: %s cannot be used here", at(place), k)
		}
	}
	if draft, ok := m["$schema"].(string); ok && !slices.Contains(drafts, strings.TrimSuffix(draft, "#")) {
		return fmt.Errorf("%s: $schema names %s; expected draft 2020-12 or draft 7", at(place), draft)
	}
	if m["$id"] != nil && place != "" {
		return fmt.Errorf("%s: $id cannot be used below the top", at(place))
	}
	if err := checkTypes(m["type"]); err != nil {
		return fmt.Errorf("%s: %w", at(place), err)
	}
	if ref, ok := m["$ref"].(string); ok {
		pointer, ok := strings.CutPrefix(ref, "#")
		if !ok || pointer != "" && pointer[0] != '/' {
			return fmt.Errorf("%s: $ref names %s: only a place in the schema itself can be named, as #/$defs/NAME",
				at(place), ref)
		}
		c.same[place] = append(c.same[place], pointer)
	}
	return c.below(m, place)
}

// below checks the schemas in a schema.
func (c *checker) below(m map[string]any, place string) error {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		inner := map[string]any{}
		switch v := m[k].(type) {
		case map[string]any:
			switch {
			case slices.Contains(single, k):
				inner[""] = v
			case slices.Contains(mapped, k):
				for name, s := range v {
					inner["/"+strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")] = s
				}
			}
		case []any:
			if slices.Contains(listed, k) {
				for i, s := range v {
					inner["/"+strconv.Itoa(i)] = s
				}
			}
		case bool:
			if slices.Contains(single, k) {
				inner[""] = v
			}
		}
		for _, name := range slices.Sorted(maps.Keys(inner)) {
			to := place + "/" + k + name
			if slices.Contains(inPlace, k) {
				c.same[place] = append(c.same[place], to)
			}
			if err := c.schema(inner[name], to); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkTypes(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		if !slices.Contains(types, v) {
			return fmt.Errorf("there is no type %q; expected one of %s", v, strings.Join(types, ", "))
		}
		return nil
	case []any:
		for _, one := range v {
			if _, ok := one.(string); !ok {
				return errors.New("type has to be a name or a list of names")
			}
			if err := checkTypes(one); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("type has to be a name or a list of names")
}

// at names a place for a person.
func at(pointer string) string {
	if pointer == "" {
		return "at the top"
	}
	return "at " + pointer
}
