package loopfile

import (
	"slices"
	"strings"
)

// A text is any scalar, as it is written. Said as a list of types, editors would suggest true, false and null for it.
func textDefs() jsonObject {
	return object(
		"text", when(object("type", []any{"object", "array"}), object("type", "string")),
		"given_text", when(object("type", []any{"object", "array", "null"}), object("type", "string")),
		"target", when(object("type", []any{"object", "array", "null"}), object("type", "string"),
			object("minLength", 1)),
		"fixed_target", when(object("type", "string", "pattern", noFixedTarget),
			refuse("expected the name of a state, without a template"), reference("text")),
	)
}

// refuse returns a schema that nothing meets, with the reason as its message.
func refuse(message string) jsonObject { return object("const", message, "errorMessage", message) }

// keySchema describes the value of one key wherever it may stand. What a key needs of others is in schema_rules.go.
func keySchema(k *Key) jsonObject {
	s := object("description", keyDoc(k))
	switch k.Type {
	case TypeExpression:
		s = append(s, reference("text")...)
	case TypeText:
		switch {
		case k.Values == nil && k.NotNull:
			s = append(s, reference("given_text")...)
		case k.Values == nil:
			s = append(s, reference("text")...)
		case k.Advisory:
			s.add("anyOf", []any{object("enum", texts(k.Values)), reference("text")})
		default:
			s.add("enum", append(texts(k.Values), nil))
		}
	case TypeTarget:
		def := "text"
		if k.In != InState {
			def = "fixed_target"
		}
		s = append(s, reference(def)...)
	case TypeBool:
		// An unquoted yes or on is a text to the YAML that editors read.
		s.add("anyOf", []any{
			object("type", []any{"boolean", "null"}),
			object("type", "string", "pattern", yesNo),
		})
	case TypeInt:
		s.add("type", []any{"integer", "null"})
		s.limits(k)
	case TypeNumber:
		s.add("type", []any{"number", "null"})
		s.limits(k)
	case TypeSeconds:
		s.add("type", []any{"number", "string", "null"})
		s.limits(k)
		s.add("maximum", int64(maxSeconds))
		s.add("pattern", unitsPattern)
	case TypeTexts:
		if own := specialSchema(k); own != nil {
			s = append(s, own...)
			break
		}
		s.add("type", []any{"array", "null"})
		s.add("items", reference("given_text"))
	case TypeInts:
		item := object("type", "integer")
		item.limits(k)
		s.add("type", []any{"array", "null"})
		s.add("items", item)
	case TypeMap:
		s.add("type", []any{"object", "null"})
	case TypeList:
		s.add("type", []any{"array", "null"})
	case TypeBlock:
		block := reference(string(k.Block))
		if k.Short != "" {
			block = object("if", object("type", "object"), "then", block, "else", reference("given_text"))
		}
		if k.NotNull {
			s = append(s, block...)
		} else {
			s.add("anyOf", []any{block, object("type", "null")})
		}
	case TypeSpecial:
		s = append(s, specialSchema(k)...)
	}
	if k.Default != nil {
		s.add("default", k.Default)
	}
	if k.Status == StatusUnsupported {
		s.add("deprecated", true)
		s.add("deprecationMessage", "not supported: "+k.Instead)
	}
	return s
}

const (
	flowEntry = `^[^?]+(\?[^:]+:.*[^:])?$`
	yesNo     = "^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$"
	// A target outside a state has no current state to stay in and no run to fill in a template.
	noFixedTarget = `\$\{|^\$current$`
)

// limits adds the range of a key. That of a key which belongs to some evaluators counts only with those.
func (o *jsonObject) limits(k *Key) {
	if k.For == nil {
		*o = append(*o, rangeOf(k)...)
	}
}

func rangeOf(k *Key) (s jsonObject) {
	if k.Min != nil {
		s.add("minimum", *k.Min)
	}
	if k.Above != nil {
		s.add("exclusiveMinimum", *k.Above)
	}
	if k.Max != nil {
		s.add("maximum", *k.Max)
	}
	return s
}

// specialSchema describes the keys that hold more than their type says; those that are not supported may hold anything.
func specialSchema(k *Key) jsonObject {
	switch string(k.In) + " " + k.Name {
	case "tests cases":
		return object("type", "object", "minProperties", 1, "additionalProperties", reference(string(InCases)))
	case "case answers":
		one := object("anyOf", []any{reference(string(InAnswer)), reference("text")})
		return object("type", []any{"object", "null"}, "additionalProperties",
			object("anyOf", []any{one, object("type", "array", "minItems", 1, "items", one)}))
	case "expect verdicts":
		return object("type", []any{"object", "null"}, "additionalProperties",
			object("anyOf", []any{reference("text"), object("type", "array", "items", reference("text"))}))
	case "loop flow":
		return object("type", "array", "minItems", 1, "items",
			object("type", "string", "pattern", flowEntry, "errorMessage", "expected STATE or STATE?YES:NO"))
	case "loop properties":
		return propertiesSchema()
	case "loop states":
		return object("type", "object", "propertyNames", stateName(), "additionalProperties", reference("state"))
	case "loop state_defs":
		return object("type", []any{"object", "null"}, "additionalProperties",
			object("anyOf", []any{reference("state"), object("type", "null")}))
	case "loop fragments":
		return object("type", []any{"object", "null"}, "additionalProperties", reference("fragment"))
	case "loop parameters":
		return object("type", []any{"object", "null"}, "additionalProperties", reference("parameter"))
	case "state host", "llm host", "evaluate host":
		return hostSchema()
	case "quota reserve":
		return object("anyOf", []any{
			object("type", "number", "minimum", 0, "exclusiveMaximum", 1),
			object("type", "string", "pattern", sharePattern), object("type", "null"),
		})
	case "velocity tokens_per_minute":
		return object("anyOf",
			[]any{
				object("type", "integer", "exclusiveMinimum", 0),
				object("type", "string", "pattern", amountPattern), object("type", "null"),
			})
	case "sandbox network":
		return object("anyOf",
			[]any{
				reference("text"),
				object("type", "array", "items", object("type", "string", "pattern", "^[^/ @:]+:[0-9]+$")),
			})
	case "retry backoff":
		return object("type", []any{"number", "string", "null"}, "minimum", 0, "pattern", retryPattern)
	case "ask fields":
		return answerFieldsSchema()
	case "ask escalate":
		return object("anyOf",
			[]any{
				object("type", []any{"array", "null"}, "minItems", 1, "items", reference("given_text")),
				reference(string(InEscalate)),
			})
	case "ask choices":
		return choicesSchema()
	case "retry on":
		return object("type", []any{"array", "null"}, "minItems", 1, "items",
			object("enum", []any{"error", "timeout", "no"}))
	case "call headers":
		return object("type", []any{"object", "null"}, "propertyNames",
			object("pattern", "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"), "additionalProperties", reference("given_text"))
	case "state for_each":
		return object("anyOf", []any{
			object("type", "string", "minLength", 1), object("type", "array", "minItems", 1),
			reference(string(InForEach)),
		})
	case "state worktree":
		return object("type", []any{"string", "boolean", "null"})
	case "state parallel":
		return object("anyOf", []any{
			object("type", "integer", "minimum", 1, "maximum", 256),
			object("type", "object", "minProperties", 1, "maxProperties", mostBranches,
				"propertyNames", object("pattern", branchName, "not", object("enum", texts(notBranchNames))),
				"additionalProperties", branchSchema()),
		})
	case "state set":
		return object("type", "object", "minProperties", 1, "additionalProperties", reference("given_text"))
	case "state route":
		rows := object("type", "array", "minItems", 1, "items", reference(string(InCase)))
		return when(object("type", "array"), rows, object("type", "object",
			"properties", object(
				"yes", routeTarget("The next state on the verdict `yes`."),
				"no", routeTarget("The next state on the verdict `no`; without it, `_`."),
				"error", routeTarget("The next state on the verdict `error`."),
				"_", routeTarget("Where to go on every verdict that has no entry of its own."),
				"_error", routeTarget("The next state on the verdict `error`, and when routing fails."),
			),
			"additionalProperties", reference("target")))
	}
	return nil
}

func routeTarget(doc string) jsonObject {
	return append(object("description", doc), reference("target")...)
}

func stateName() jsonObject {
	return when(object("not", object("pattern", `\S`)), refuse("a state needs a name"),
		when(object("pattern", noFixedTarget),
			refuse("a state cannot have this name: as a target it means something else")))
}

func reference(def string) jsonObject { return object("$ref", "#/$defs/"+def) }

// keyDoc is the text an editor shows for a key.
func keyDoc(k *Key) string {
	doc := k.Doc
	if k.For != nil {
		doc += " Used by " + strings.Join(k.For, ", ") + "."
	}
	return doc
}

// keysOf returns the properties an author may write in a mapping. Keys that tools write are accepted, not suggested.
func keysOf(in Where) jsonObject {
	var props jsonObject
	table := slices.Concat(table(), suiteKeys)
	for i := range table {
		k := &table[i]
		if k.In != in {
			continue
		}
		if k.Status == StatusInternal {
			props.add(k.Name, object("description", k.Doc, "doNotSuggest", true))
			continue
		}
		props.add(k.Name, keySchema(k))
	}
	// YAML's merge key, for editors that show it to the schema.
	props.add("<<", object("doNotSuggest", true))
	return props
}

// unknownKey is the schema of a key that the language does not have: no error, as for the program. Editors built on
// the language servers of YAML and JSON underline it as a warning; to other validators the message is a comment.
func unknownKey(in Where) jsonObject {
	return object("deprecationMessage", "this is not a key of "+in.phrase()+" and has no effect")
}

func texts(list []string) []any {
	out := make([]any, 0, len(list)+1)
	for _, s := range slices.All(list) {
		out = append(out, s)
	}
	return out
}
