package fsm

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"loops/fsm/value"
)

// Check returns an error unless a literal value fits the declared type. The error reads "expected an integer, found the
// text "abc""; it names neither the parameter nor a place. The caller leaves out texts that hold a template: what they
// become is not known before the run.
//
//	string    text
//	integer   an integer; neither a boolean nor 2.0
//	number    an integer or a float; no boolean
//	boolean   true or false
//	enum      a value that equals one of Values; anything if there are none
//	path      anything, as with every type the language does not know
func (p Parameter) Check(v any) error {
	if p.fits(v) {
		return nil
	}
	return p.misfit(v)
}

func (p Parameter) fits(v any) bool {
	switch p.Type {
	case "string":
		_, ok := v.(string)
		return ok
	case "integer":
		return isInteger(v)
	case "number":
		_, ok := v.(float64)
		return ok || isInteger(v)
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "enum":
		if len(p.Values) == 0 {
			return true
		}
		_, wantsBool := v.(bool)
		for _, e := range p.Values {
			if _, isBool := e.(bool); isBool == wantsBool && value.Equal(v, e) {
				return true
			}
		}
		return false
	}
	return true
}

func isInteger(v any) bool {
	switch v := v.(type) {
	case int, int64:
		return true
	case *big.Int:
		return v != nil
	}
	return false
}

// Bind returns the values a loop or a fragment with these parameters starts with. given holds the values it gets,
// templates expanded; they come first, in their order. Then come the defaults of the optional parameters that
// were not given, in file order; a null default means no default. Names that are not declared stay as they are.
//
// A given value must pass [Parameter.Check]. Text, which is all a template can make, also stands for other types
// (D21), with white space around it ignored:
//
//	integer   decimal digits with a sign or without, single underscores between them: 5, -3, 1_000
//	number    an integer as above, else whatever [value.ParseFloat] reads: 2.5, 1e3, inf
//	boolean   true, yes, on, false, no, off in any case, so also Python's True and False
//	enum      what prints like one of Values becomes that value
//
// The error names every value that does not fit and every required parameter that is missing. Neither given
// nor params are changed; containers are shared.
func Bind(params []Parameter, given *value.Map) (*value.Map, error) {
	declared := make(map[string]*Parameter, len(params))
	for i := range params {
		declared[params[i].Name] = &params[i]
	}
	bound := &value.Map{}
	var problems []string
	for _, name := range given.Keys() {
		v := given.Value(name)
		if p := declared[name]; p != nil {
			converted, err := p.convert(v)
			if err != nil {
				problems = append(problems, fmt.Sprintf("parameter %q: %v", name, err))
				continue
			}
			v = converted
		}
		bound.Set(name, v)
	}
	for i := range params {
		p := &params[i]
		if _, ok := given.Get(p.Name); ok {
			continue
		}
		switch {
		case p.Required:
			problems = append(problems, fmt.Sprintf("parameter %q is required and was not given (%s)", p.Name,
				p.summary()))
		case p.Default != nil:
			bound.Set(p.Name, p.Default)
		}
	}
	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "; "))
	}
	return bound, nil
}

// summary is the type and the first line of the description.
func (p Parameter) summary() string {
	line, _, _ := strings.Cut(strings.TrimSpace(p.Description), "\n")
	if line == "" {
		return p.Type
	}
	return p.Type + ": " + strings.TrimSpace(line)
}

// convert returns v as a value of the declared type.
func (p Parameter) convert(v any) (any, error) {
	if p.fits(v) {
		return v, nil
	}
	text, ok := v.(string)
	if !ok {
		return nil, p.misfit(v)
	}
	text = value.TrimSpace(text)
	switch p.Type {
	case "integer":
		if n, ok := value.ParseInteger(text); ok {
			return n, nil
		}
	case "number":
		if n, ok := value.ParseInteger(text); ok {
			return n, nil
		}
		if f, ok := value.ParseFloat(text); ok {
			return f, nil
		}
	case "boolean":
		switch strings.ToLower(text) {
		case "true", "yes", "on":
			return true, nil
		case "false", "no", "off":
			return false, nil
		}
	case "enum":
		for _, e := range p.Values {
			if value.Text(e) == text {
				return e, nil
			}
		}
	}
	return nil, p.misfit(v)
}

// misfit returns an error with what was expected and what was found.
func (p Parameter) misfit(v any) error {
	return fmt.Errorf("expected %s, found %s", p.expected(), describe(v))
}

func (p Parameter) expected() string {
	switch p.Type {
	case "string":
		return "text"
	case "integer":
		return "an integer"
	case "number":
		return "a number"
	case "boolean":
		return "true or false"
	case "enum":
		names := make([]string, len(p.Values))
		for i, e := range p.Values {
			names[i] = spelled(e)
		}
		if len(names) == 1 {
			return names[0]
		}
		return "one of " + strings.Join(names, ", ")
	}
	return p.Type
}

// describe names a value and its kind, as users write it in a loop file.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing (null)"
	case string:
		if v == "" {
			return "empty text"
		}
		return "the text " + spelled(v)
	case bool:
		return "the boolean " + spelled(v)
	case int, int64, *big.Int:
		return "the integer " + spelled(v)
	case float64:
		return "the number " + spelled(v)
	case []any, []string:
		return "a list"
	case *value.Map:
		return "a map"
	}
	return fmt.Sprint(v)
}

// spelled is a value as one writes it in a loop file, cut where it gets long.
func spelled(v any) string {
	const most = 60
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case string:
		if cut := value.Truncate(v, most); cut != v {
			return strconv.Quote(cut) + "..."
		}
		return strconv.Quote(v)
	}
	text := value.Repr(v)
	if cut := value.Truncate(text, most); cut != text {
		return cut + "..."
	}
	return text
}
