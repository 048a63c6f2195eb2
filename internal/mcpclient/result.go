package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"loops/internal/humanize"
)

// A toolResult is what is read of the result of a call. The protocol knows more, which is passed on as it came.
type toolResult struct {
	kind    string // its resultType; "" is "complete"
	isError bool
	says    string // text of the first block of the content
}

// parseResult checks that an answer has the form of a result of tools/call, and reads it. The error says what is wrong
// with it. Fields that the protocol does not know may be anything.
func parseResult(answer json.RawMessage) (toolResult, error) {
	var r toolResult
	fields, err := objectOf(answer)
	if err != nil {
		return r, err
	}
	if err := fields.read("resultType", "a string", &r.kind); err != nil {
		return r, err
	}
	if err := fields.read("isError", "true or false", &r.isError); err != nil {
		return r, err
	}
	for _, name := range []string{"structuredContent", "_meta"} {
		if err := fields.read(name, "an object", &object{}); err != nil {
			return r, err
		}
	}
	var content []json.RawMessage
	if err := fields.read("content", "a list", &content); err != nil {
		return r, err
	}
	for i, raw := range content {
		text, err := parseBlock(raw)
		if err != nil {
			return r, fmt.Errorf("block %d of its content: %w", i+1, err)
		}
		if i == 0 {
			r.says = text
		}
	}
	return r, nil
}

// blocks are the fields that the kinds of content must have besides their type. All are strings.
var blocks = map[string][]string{
	"text":          {"text"},
	"image":         {"data", "mimeType"},
	"audio":         {"data", "mimeType"},
	"resource_link": {"uri", "name"},
	"resource":      nil, // see parseResource
}

// parseBlock checks one block of content and returns the text it holds, if that is its type.
func parseBlock(raw json.RawMessage) (text string, err error) {
	fields, err := objectOf(raw)
	if err != nil {
		return "", err
	}
	kind, err := fields.text("type")
	if err != nil {
		return "", err
	}
	needed, known := blocks[kind]
	if !known {
		return "", fmt.Errorf("the type %s is not known; expected text, image, audio, resource_link or resource",
			humanize.Quote(kind))
	}
	for _, name := range needed {
		value, err := fields.text(name)
		if err != nil {
			return "", err
		}
		if kind == "text" {
			text = value
		}
	}
	if kind == "resource" {
		return "", parseResource(fields["resource"])
	}
	return text, nil
}

// parseResource checks the contents of a resource that is part of a block.
func parseResource(raw json.RawMessage) error {
	if raw == nil {
		return errors.New("resource is missing")
	}
	fields, err := objectOf(raw)
	if err != nil {
		return fmt.Errorf("resource: %w", err)
	}
	if _, err := fields.text("uri"); err != nil {
		return fmt.Errorf("resource: %w", err)
	}
	name := "text"
	if _, binary := fields["blob"]; binary {
		name = "blob"
	}
	if _, err := fields.text(name); err != nil {
		return fmt.Errorf("resource: %w", err)
	}
	return nil
}

// An object is a JSON object whose fields are not read yet. Their names count letter by letter, as in the protocol.
type object map[string]json.RawMessage

func objectOf(raw json.RawMessage) (object, error) {
	var o object
	if json.Unmarshal(raw, &o) != nil || o == nil {
		return nil, fmt.Errorf("it is %s, expected an object", kindOf(raw))
	}
	return o, nil
}

// read reads a field into v, which stays as it is where there is none. Some languages write null for what they
// leave out.
func (o object) read(name, want string, v any) error {
	raw, ok := o[name]
	if !ok || string(raw) == "null" {
		return nil
	}
	if json.Unmarshal(raw, v) != nil {
		return fmt.Errorf("%s is %s, expected %s", name, kindOf(raw), want)
	}
	return nil
}

// text reads a field that must be there and be a string.
func (o object) text(name string) (string, error) {
	raw, ok := o[name]
	if !ok {
		return "", fmt.Errorf("%s is missing", name)
	}
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return "", fmt.Errorf("%s is %s, expected a string", name, kindOf(raw))
	}
	return *s, nil
}

// kindOf names the kind of a JSON value, and the value itself where it is short.
func kindOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "the string " + humanize.Quote(unquoted(raw))
	case 'n':
		return "null"
	case 't', 'f':
		return humanize.Clip(string(raw))
	}
	return "the number " + humanize.Clip(string(raw))
}

func unquoted(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // it is a valid string
	return s
}
