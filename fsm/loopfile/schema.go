package loopfile

import "slices"

// Schema returns a JSON Schema (draft 2020-12) of loop files, for editors. It is made from the key table, ends with a
// newline and is always the same text for the same action types, which are those that the settings of a project add.
//
// It describes one file as it is, before anything is merged into it: what may still come from a parent (`from`) or
// from a fragment is not required there. So it also accepts files of fragments. Every file that [Parse] accepts, it
// accepts; a key that is not of the language is no error, and a warning in editors that know deprecationMessage.
//
// What it cannot see: whether a name is that of a state, a capture, a fragment or a file; what the texts hold
// (templates, scripts, patterns); how two numbers compare; what is in other files; keys that stand twice, and
// other mistakes of YAML itself. [Parse] and its kin report those.
func Schema(types Types) []byte {
	schema := object(
		"$schema", "https://json-schema.org/draft/2020-12/schema",
		"$comment", "Generated from the key table of loops. `loops schema` prints it; `loops validate` sees more.",
		"description", "A state machine that loops runs.",
		"type", "object",
		"properties", keysOf(InLoop),
		"additionalProperties", unknownKey(InLoop),
	)
	schema.add("allOf", loopRules())
	defs := append(textDefs(), object("state", stateSchema(types), "fragment", fragmentSchema())...)
	for _, in := range blocks() {
		defs.add(string(in), blockSchema(in))
	}
	schema = append(schema, jsonMember{"$defs", append(defs, ruleDefs()...)})
	return indent(schema)
}

// blocks lists the mappings with keys of their own below the top level, in table order, without state.
func blocks() []Where {
	var list []Where
	seen := map[Where]bool{InLoop: true, InState: true}
	for _, k := range table() {
		if !seen[k.In] {
			seen[k.In] = true
			list = append(list, k.In)
		}
	}
	return list
}

func blockSchema(in Where) jsonObject {
	s := object("type", "object", "properties", keysOf(in), "additionalProperties", unknownKey(in))
	if in == InEvaluate {
		s.add("allOf", evaluatorRanges())
	}
	return s
}

// A verdictKey is the pattern of the on_<verdict> keys that are not in the table.
const verdictKey = "^on_."

func verdictRoute() jsonObject {
	return append(object("description", "Where to go on the verdict that the key names after `on_`."),
		reference("text")...)
}

func stateSchema(types Types) jsonObject {
	keys := keysOf(InState)
	for i := range keys {
		if keys[i].name == "action_type" {
			keys[i].value = typeSchema(types)
		}
	}
	return object(
		"description", "A state: what it does and where each result leads.",
		"type", "object",
		"properties", keys,
		"patternProperties", object(verdictKey, verdictRoute()),
		"additionalProperties", unknownKey(InState),
	)
}

// typeSchema is that of action_type, whose values the settings of a project add to.
func typeSchema(types Types) jsonObject {
	key := *byWhere()[InState]["action_type"]
	key.Values = append(slices.Clone(key.Values), types.names()...)
	return keySchema(&key)
}

// fragmentSchema is that of a state with parameters.
func fragmentSchema() jsonObject {
	props := object(
		"description", append(object("description", "What the fragment is for, and what it needs."),
			reference("text")...),
		"parameters", object("description", "Typed values that a state gives the fragment with `with`; "+
			"`${param.NAME}` reads them.", "type", []any{"object", "null"}, "additionalProperties",
			reference(string(InParameter))),
	)
	for _, m := range keysOf(InState) {
		if m.name != "description" {
			props.add(m.name, reference("state/properties/"+m.name))
		}
	}
	return object(
		"description", "Part of a state, to be completed by the states that use it.",
		"type", "object",
		"properties", props,
		"patternProperties", object(verdictKey, verdictRoute()),
		"additionalProperties", unknownKey(InState),
	)
}
