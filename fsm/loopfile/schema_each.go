package loopfile

// eachRules are those of a state that works on a list.
func eachRules() []any {
	alone := []any{given("action"), hasNot("wait"), object("not", is("terminal", truths...)), shellOnly(), exitCodeOnly(), object("anyOf", []any{
		has("next"), has("route"), given("on_no"), given("on_failure"), given("on_error"),
	})}
	for _, not := range notBesideItems {
		alone = append(alone, hasNot(not.key))
	}
	rules := []any{when(has("for_each"), allOf(alone...))}
	for _, key := range itemKeys {
		if key == "parallel" {
			rules = append(rules, when(object("required", []any{key}, "properties", object(key, object("type", "integer"))), needs("for_each")))
			continue
		}
		rules = append(rules, when(has(key), needs("for_each")))
	}
	return rules
}

func shellOnly() jsonObject {
	return anyOf(is("action_type", "shell"), allOf(hasNot("action_type"), object("properties", object("action", object("not", object("pattern", "^/"))))))
}

func exitCodeOnly() jsonObject {
	return anyOf(hasNot("evaluate"), object("properties", object("evaluate", object("properties", object("type", object("const", "exit_code"))))))
}
