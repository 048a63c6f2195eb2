package engine

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/expr"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// giveTypes gives values of a command line, which are texts, the type of what the loop declares: that of the
// parameter of their name, or else that of the value in the loop's context. A text that templates would write
// otherwise as a value of that type (they write true as True, and a list as Python does) stays a text, as the
// scripts of loops expect it, unless the loop reads the key as a value: in an expression, by a path, or as
// JSON. A value that cannot have the type that is needed is refused.
func giveTypes(l *fsm.Loop, given *value.Map) error {
	readers := valueReaders(l)
	var wrong []Text
	for _, key := range given.Keys() {
		text, is := given.Value(key).(string)
		p, known := declaredType(l, key)
		if !is || !known {
			continue
		}
		v, err := typed(p, text)
		switch reader := readers[key]; {
		case err == nil && (cmp.Or(reader, readers[""]) != "" || value.Text(v) == value.TrimSpace(text)):
			given.Set(key, v)
		// else CheckGiven says so
		case err != nil && reader != "" && !slices.ContainsFunc(l.Parameters, func(p fsm.Parameter) bool {
			return p.Name == key
		}):
			wrong = append(wrong, textf("%s: %s; %s", Setting{SetContext, key + "=" + humanize.Quote(text)}, err,
				reader))
		}
	}
	if wrong == nil {
		return nil
	}
	return misuse(OpRun, "%s", inLines(wrong))
}

// declaredType returns what a loop declares of a key of its context, and whether that is more than a text.
func declaredType(l *fsm.Loop, key string) (fsm.Parameter, bool) {
	for _, p := range l.Parameters {
		if p.Name == key {
			p.Required = false
			return p, p.Type != "string" && p.Type != "path"
		}
	}
	p := fsm.Parameter{Name: key}
	v, _ := l.Context.Get(key)
	switch v.(type) {
	case bool:
		p.Type = "boolean"
	case int, int64, *big.Int, float64:
		p.Type = "number"
	case []any:
		p.Type = "list"
	case *value.Map:
		p.Type = "map"
	default:
		return p, false
	}
	return p, true
}

// typed returns what a text is as a value of a declared type.
func typed(p fsm.Parameter, text string) (any, error) {
	if p.Type == "list" || p.Type == "map" {
		v, err := value.ParseJSON([]byte(text))
		_, list := v.([]any)
		_, object := v.(*value.Map)
		if err != nil || list != (p.Type == "list") || object != (p.Type == "map") {
			return nil, errNotJSON[p.Type]
		}
		return v, nil
	}
	bound, err := fsm.Bind([]fsm.Parameter{p}, value.NewMap(p.Name, text))
	if err != nil {
		return nil, p.Check(text)
	}
	v := bound.Value(p.Name)
	if f, is := v.(float64); is && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return text, nil
	}
	return v, nil
}

// A notJSON says what a value has to be.
type notJSON string

func (e notJSON) Error() string { return string(e) }

var errNotJSON = map[string]error{
	"list": notJSON("expected a list, as JSON"),
	"map":  notJSON("expected a map, as JSON"),
}

// valueReaders returns which keys of the context a loop reads as values and not only as texts, each with what
// reads it first; the key "" stands for all of them.
func valueReaders(l *fsm.Loop) map[string]string {
	readers := map[string]string{}
	add := func(key, reader string) { readers[key] = cmp.Or(readers[key], reader) }
	for _, name := range l.Order {
		s := l.States[name]
		for _, p := range fsm.Expressions(s) {
			for _, ref := range p.Refs() {
				switch {
				case ref.Namespace != "context":
				case len(ref.Path) == 0:
					add("", "an expression of the state "+humanize.Quote(name)+" reads the whole context")
				default:
					add(ref.Path[0], "an expression of the state "+humanize.Quote(name)+" reads it: "+p.String())
				}
			}
		}
	}
	eachText(loopfile.ObjectOf(l), func(text string) {
		for _, ref := range expr.References(text) {
			key, path, deep := strings.Cut(ref.Path, ".")
			if ref.Namespace == "context" && !ref.Escaped &&
				(deep && path != "" || slices.Contains(ref.Filters, "json")) {
				add(key, "the loop reads it as "+ref.Text)
			}
		}
	})
	return readers
}

// eachText calls f with every text in a value of any depth.
func eachText(v any, f func(string)) {
	switch v := v.(type) {
	case *value.Map:
		for _, inner := range v.All() {
			eachText(inner, f)
		}
	case []any:
		for _, inner := range v {
			eachText(inner, f)
		}
	case string:
		f(v)
	}
}
