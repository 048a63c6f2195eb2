package expr

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
)

// kinds are the words of this language for the types that messages of the library name.
var kinds = map[string]string{
	"int": "number", "int64": "number", "float64": "number", "string": "text", "[]uint8": "text", "bool": "truth value",
	"[]interface {}": "list", "[]int": "list", "[]string": "list", "map[string]interface {}": "mapping",
	"interface {}": "value", "nil": "null", "array": "list", "boolean": "truth value",
}

// patterns are those of messages of the library. They are made when there is a message: most processes never have one.
var patterns = sync.OnceValue(func() (p struct{ goType, conversion, reflection, numberOf, typed *regexp.Regexp }) {
	p.goType = regexp.MustCompile(
		`(?:for |call )?(?:\[\]interface \{\}|\[\]int\b|\[\]string\b|map\[string\]interface \{\}|interface \{\}|\b(?:int|int64|float64|string|bool|boolean|array|nil)\b)`)
	p.conversion = regexp.MustCompile(`^interface conversion: interface \{\} is (.+), not (.+)$`)
	p.reflection = regexp.MustCompile(`^reflect: call of reflect\.Value\.\w+ on (\S+) Value$`)
	p.numberOf = regexp.MustCompile(`(?s)^invalid operation: (?:int|float)\((.*)\)$`)
	p.typed = regexp.MustCompile(`^(?:invalid argument|invalid operation:|cannot|builtin|predicate|type) `)
	return p
})

// plainWords says a message of the library about a value of the wrong kind without the types that Go has.
func plainWords(message string) string {
	p := patterns()
	message = strings.TrimSpace(message)
	if m := p.conversion.FindStringSubmatch(message); m != nil {
		return a(m[2]) + " is needed here, not " + a(m[1])
	}
	if m := p.reflection.FindStringSubmatch(message); m != nil {
		return "a list is needed here, not " + a(m[1])
	}
	if m := p.numberOf.FindStringSubmatch(message); m != nil {
		if kinds[m[1]] != "" {
			return "a number is needed here, not " + a(m[1])
		}
		return named(m[1]) + " is not a number"
	}
	switch {
	case strings.HasPrefix(message, "reflect.Value.Slice: "):
		return "a number of elements cannot be negative"
	case p.typed.MatchString(message):
		return p.goType.ReplaceAllStringFunc(message, func(name string) string {
			return cmp.Or(kinds[name], name) // behind "for" and "call" it is the name of a function
		})
	}
	return message
}

// a is a type as a word with its article.
func a(name string) string {
	word := kinds[name]
	switch word {
	case "":
		return "a value of another kind"
	case "null":
		return word
	}
	return "a " + word
}
