package loopfile

// eachRules are those of a state that works on a list.
func eachRules() []any {
	does := anyOf(given("loop"), has("call"), has("wait"), has("ask"))
	alone := []any{
		anyOf(given("action"), does), object("not", is("terminal", truths...)),
		object("not", is("action_type", "contract")), anyOf(has("call"), notShell(), exitCodeOnly()),
		object("not", allOf(anyOf(given("loop"), has("wait"), has("ask")), has("evaluate"))),
		object("not", allOf(given("loop"), is("idempotent", false))),
		object("anyOf", []any{has("next"), has("route"), given("on_no"), given("on_failure"), given("on_error")}),
	}
	for _, not := range notBesideItems {
		alone = append(alone, hasNot(not.key))
	}
	rules := []any{when(has("for_each"), allOf(alone...))}
	for _, key := range itemKeys {
		if key == "parallel" {
			rules = append(rules,
				when(object("required", []any{key}, "properties", object(key, object("type", "integer"))),
					needs("for_each")))
			continue
		}
		rules = append(rules, when(has(key), needs("for_each")))
	}
	return rules
}

func notShell() jsonObject {
	return anyOf(allOf(has("action_type"), object("not", is("action_type", "shell"))),
		object("properties", object("action", object("pattern", "^/")), "required", []any{"action"}))
}

func exitCodeOnly() jsonObject {
	return anyOf(hasNot("evaluate"),
		object("properties", object("evaluate", object("properties", object("type", object("const", "exit_code"))))))
}
