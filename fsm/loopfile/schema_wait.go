package loopfile

// waitRules are those of a state that waits.
func waitRules() []any {
	alone := []any{object("not", given("action")), hasNot("loop"), object("not", is("terminal", truths...))}
	for _, not := range notInWaits {
		alone = append(alone, hasNot(not.key))
	}
	return []any{
		when(has("wait"), allOf(append(alone, object("properties", object("wait", rule(allOf(waitKeys()...)))))...)),
		when(allOf(has("wait"), given("on_timeout")), needs("timeout")),
	}
}

// waitKeys are the rules between the keys of a wait.
func waitKeys() []any {
	kinds := make([]any, len(awaitKinds))
	for i, kind := range awaitKinds {
		kinds[i] = has(kind)
	}
	ends := append(texts(runEnds), nil)
	return []any{
		object("oneOf", kinds),
		when(anyOf(has("for"), has("at"), has("event")), allOf(hasNot("every"), hasNot("backoff"), hasNot("max"))),
		when(has("max"), needs("backoff")),
		when(has("status"), anyOf(has("url"), has("run"))),
		when(has("run"), object("properties", object("status", object("enum", ends)))),
		when(allOf(has("url"), has("status")), object("properties", object("status", anyOf(
			object("type", "integer", "minimum", 100, "maximum", 599),
			object("type", "string", "pattern", "^[1-5][0-9][0-9]$"),
		)))),
	}
}
