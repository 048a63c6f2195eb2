package loopfile

// askRules are those of a state that asks a person.
func askRules() []any {
	alone := []any{
		object("not", given("action")), hasNot("loop"), hasNot("wait"),
		object("not", is("terminal", truths...)),
	}
	for _, not := range notInWaits {
		alone = append(alone, hasNot(not.key))
	}
	question := object("type", "object", "properties",
		object("question", object("type", []any{"string", "number", "boolean"}, "minLength", 1)))
	return []any{
		when(has("ask"),
			allOf(append(alone, object("properties", object("ask", rule(allOf(needs("question"), question)))))...)),
		when(allOf(has("ask"), given("on_timeout")), needs("timeout")),
		when(is("action_type", humanApproval), given("action")),
	}
}

// choicesSchema are the verdicts that answers can be.
func choicesSchema() jsonObject {
	choice := object("allOf", []any{
		reference("given_text"), object("not", object("enum", texts(reservedChoices))),
		object("pattern", answerWord().String()),
	})
	return object("type", []any{"array", "null"}, "minItems", 1, "uniqueItems", true, "items", choice)
}

// answerFieldsSchema are what may be said beside a choice.
func answerFieldsSchema() jsonObject {
	name := allOf(object("pattern", answerWord().String()), object("not", object("enum", texts(reservedFields))))
	return object("type", []any{"object", "null"}, "propertyNames", name, "additionalProperties",
		object("enum", texts(fieldTypes)))
}
