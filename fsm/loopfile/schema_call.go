package loopfile

// callRules are those of a state that makes a request.
func callRules() []any {
	alone := []any{anyOf(hasNot("action_type"), is("action_type", httpType)), object("not", is("terminal", truths...))}
	for _, not := range notInCalls {
		alone = append(alone, hasNot(not.key))
	}
	withBody := anyOf(has("json"), has("body"))
	return []any{
		when(has("call"), allOf(append(alone, object("properties", object("call", rule(allOf(
			needs("url"),
			object("not", allOf(has("json"), has("body"))),
			when(withBody, object("not", is("method", "GET", "HEAD"))),
			object("properties",
				object("url", when(object("type", "string", "not", object("pattern", `\$\{`)),
					object("pattern", "^https?://")))),
		)))))...)),
		when(is("action_type", httpType), has("call")),
	}
}
