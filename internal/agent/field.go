package agent

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// find returns the values that are at a field of v, if its conditions hold.
func (f Field) find(v any) []any {
	if f.zero() {
		return nil
	}
	for path, want := range f.When {
		met := false
		for _, found := range walk(v, path, nil) {
			met = met || textOf(found) == want
		}
		if !met {
			return nil
		}
	}
	return walk(v, f.Path, nil)
}

func walk(v any, path string, found []any) []any {
	if path == "" {
		return append(found, v)
	}
	name, rest, _ := strings.Cut(path, ".")
	switch v := v.(type) {
	case map[string]any:
		if next, ok := v[name]; ok {
			return walk(next, rest, found)
		}
	case []any:
		if name == "*" {
			for _, next := range v {
				found = walk(next, rest, found)
			}
		} else if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
			return walk(v[i], rest, found)
		}
	}
	return found
}

// text joins what is at a field; it is "" where nothing does.
func (f Field) text(v any) string {
	var texts []string
	for _, x := range f.find(v) {
		if t := textOf(x); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n\n")
}

// word puts the last text at a field that can be an id or a name into to, and reports whether there is one.
func (f Field) word(v any, to *string) (ok bool) {
	for _, x := range f.find(v) {
		t := textOf(x)
		switch x.(type) {
		case string, float64:
			if t != "" && len(t) <= maxWord && utf8.ValidString(t) && !strings.ContainsFunc(t, unicode.IsControl) {
				*to, ok = t, true
			}
		}
	}
	return ok
}

// number adds up what is at a field.
func (f Field) number(v any) (sum float64, ok bool) {
	for _, x := range f.find(v) {
		n, isNumber := x.(float64)
		if s, isText := x.(string); isText {
			var err error
			n, err = strconv.ParseFloat(strings.TrimSpace(s), 64)
			isNumber = err == nil
		}
		if isNumber && n >= 0 && n < math.MaxInt64/1024 {
			sum, ok = sum+n, true
		}
	}
	return sum, ok && sum < math.MaxInt64/1024
}

// fault is the error at a field: a text, or an object with a message. Empty values are no errors.
func (f Field) fault(v any) string {
	for _, x := range f.find(v) {
		switch x := x.(type) {
		case bool:
			if x {
				return "it says that there was an error"
			}
		case float64:
			if x != 0 {
				return "error " + textOf(x)
			}
		case map[string]any:
			if m, _ := x["message"].(string); m != "" {
				return m
			}
			if len(x) > 0 {
				return textOf(x)
			}
		case []any:
			if len(x) > 0 {
				return textOf(x)
			}
		default:
			if t := textOf(x); strings.TrimSpace(t) != "" {
				return t
			}
		}
	}
	return ""
}

// answer is an object at a field, or a text that is one.
func (f Field) answer(v any) json.RawMessage {
	for _, x := range f.find(v) {
		raw := json.RawMessage(textOf(x))
		if isObject(raw) {
			return bytes.TrimSpace(raw)
		}
	}
	return nil
}

func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
