package loopfile

import "slices"

// The rules about keys that need, exclude or limit one another.

// has holds for a mapping where a key is there and not null, which counts as absent.
func has(key string) jsonObject {
	return object("required", []any{key}, "properties", object(key, object("not", object("type", "null"))))
}

func hasNot(key string) jsonObject { return object("not", has(key)) }

// given holds where a key has a text that is not empty.
func given(key string) jsonObject {
	return object("required", []any{key}, "properties", object(key, object("not", object("enum", []any{nil, ""}))))
}

// filled holds where a key has a mapping that is not empty.
func filled(key string) jsonObject {
	return object("required", []any{key}, "properties", object(key, object("type", "object", "minProperties", 1)))
}

// needs is has as a demand.
func needs(key string) jsonObject {
	return object("required", []any{key}, "properties",
		object(key, when(object("type", "null"), refuse("a value is expected"))))
}

func allOf(list ...any) jsonObject { return object("allOf", list) }

func anyOf(list ...any) jsonObject { return object("anyOf", list) }

// when returns a rule for what meets a condition and, if there is one, another for what does not.
func when(condition, then jsonObject, otherwise ...jsonObject) jsonObject {
	s := object("if", condition, "then", then)
	for _, o := range otherwise {
		s.add("else", o)
	}
	return s
}

// rule marks what is said of a key besides its description, so that editors suggest the key once.
func rule(s jsonObject) jsonObject { return append(s, jsonMember{"doNotSuggest", true}) }

// is holds where a key has one of some values.
func is(key string, values ...any) jsonObject {
	return object("required", []any{key}, "properties", object(key, object("enum", values)))
}

// truths are the ways to write true, as JSON sees them.
var truths = []any{true, "yes", "Yes", "YES", "on", "On", "ON"}

// loopRules are those of the top level. Where there is a parent, everything may come from it.
func loopRules() []any {
	library := allOf(has("fragments"), hasNot("initial"), hasNot("states"), hasNot("flow"))
	each := func(schema jsonObject) jsonObject { return object("additionalProperties", schema) }
	return []any{
		when(hasNot("from"), when(object("not", library), allOf(
			object("required", []any{"name", "initial"}, "properties",
				object("name", reference("target"), "initial", reference("target"))),
			when(hasNot("flow"), object("required", []any{"states"})),
		))),
		when(hasNot("from"), object("properties", object(
			"parameters", each(reference("whole_parameter")),
			"fragments", each(object("properties", object("parameters", each(reference("whole_parameter"))))),
			"host_guard", reference("whole_host_guard"),
			"schedule", rule(needs("cron")),
		))),
		when(allOf(hasNot("from"), hasNot("flow")), object("properties", object(
			"states", allOf(each(reference("whole_state")), someTerminal()),
		))),
		when(allOf(hasNot("from"), object("not", is("bash_default_ok", truths...))),
			object("properties", object("states", each(
				object("properties",
					object("action",
						when(object("type", "string", "pattern", bashDefault),
							refuse("${NAME:-...} is taken for a template, which has no :- form; write "+
								"$${NAME:-...} for bash")))),
			)))),
	}
}

// bashDefault finds ${NAME:-...} in its plainest form.
const bashDefault = `(^|[^$])\$\{[A-Za-z0-9_.]+:-`

// someTerminal holds for states of which one is terminal, or may be by its fragment.
func someTerminal() jsonObject {
	terminal := anyOf(is("terminal", truths...), has("fragment"))
	return when(object("additionalProperties", object("not", terminal)),
		refuse("no state is terminal, so a run could never end well; mark one with terminal: true"))
}

// ruleDefs are the rules for mappings that nothing is merged into.
func ruleDefs() jsonObject {
	return object(
		"whole_state", when(hasNot("fragment"), allOf(wholeState()...)),
		"whole_evaluate", rule(allOf(wholeEvaluate()...)),
		"whole_parameter", allOf(
			needs("type"),
			when(is("type", "enum"),
				object("required", []any{"values"}, "properties",
					object("values", object("type", "array", "minItems", 1)))),
			when(is("required", truths...), object("properties", object("default", object("type", "null")))),
		),
		"whole_host_guard", allOf(
			when(is("on_pressure", "route"), needs("pressure_state")),
			when(object("required", []any{"max_cumulative_subproc_mb"}, "properties",
				object("max_cumulative_subproc_mb", object("type", "number", "exclusiveMinimum", 0)), "not",
				is("on_budget_exceeded", "abort")), needs("budget_state")),
		),
	)
}

// otherOnKeys are the keys that begin with on_ and are no verdicts, in table order.
func otherOnKeys() []any {
	var list []any
	for _, k := range stateKeys {
		if notVerdicts[k.Name] {
			list = append(list, k.Name)
		}
	}
	return list
}

func wholeState() []any {
	pair := func(key, other string) jsonObject { return when(has(key), needs(other)) }
	noVerdict := object("propertyNames",
		anyOf(object("not", object("pattern", verdictKey)), object("enum", otherOnKeys())))
	leads := anyOf(has("next"), object("required", []any{"route"}), has("loop"), is("terminal", truths...),
		object("not", noVerdict))
	return append(slices.Concat(waitRules(), askRules(), eachRules(), branchRules(), callRules()),
		when(object("not", leads),
			refuse("the state leads nowhere; expected on_yes and on_no, route, next (which goes on even if it "+
				"fails), or terminal: true")),
		object("properties", object(
			"evaluate", reference("whole_evaluate"),
			"route", rule(object("minProperties", 1)),
			"rate_limit_long_wait_ladder", rule(object("minItems", 1)),
			"append_to_messages", when(object("type", "string", "minLength", 1, "not", object("pattern", `\$\{`)),
				refuse("the same text would be added every time; expected a template such as ${captured.NAME.output}")),
		)),
		when(has("retry"),
			allOf(anyOf(given("action"), has("call")), hasNot("loop"),
				object("properties", object("retry", needs("times"))))),
		pair("max_retries", "on_retry_exhausted"),
		pair("on_retry_exhausted", "max_retries"),
		pair("retryable_exit_codes", "on_error"),
		pair("max_rate_limit_retries", "on_rate_limit_exhausted"),
		pair("on_rate_limit_exhausted", "max_rate_limit_retries"),
		when(filled("params"), is("action_type", "mcp_tool")),
		when(given("message"), is("terminal", truths...)),
		when(filled("with"), needs("loop")),
		when(given("worktree"),
			anyOf(needs("loop"),
				object("required", []any{"parallel"}, "properties",
					object("parallel", object("type", "object"), "worktree", object("type", "boolean"))))),
		when(given("loop"), object("properties", object("worktree", object("type", []any{"string", "null"})))),
		when(has("merge"), allOf(is("worktree", truths...), needs("parallel"))),
		when(allOf(given("loop"), given("action")), refuse("a state that runs another loop has no action of its own")),
		when(allOf(filled("with"), is("context_passthrough", truths...)),
			refuse("with and context_passthrough exclude each other")),
	)
}

// evaluatorRanges limits the keys that belong to some types of evaluators where the type is one of them.
func evaluatorRanges() []any {
	var rules []any
	for i := range evaluateKeys {
		k := &evaluateKeys[i]
		if r := rangeOf(k); k.For != nil && r != nil {
			rules = append(rules, when(is("type", texts(k.For)...), object("properties", object(k.Name, r))))
		}
	}
	return rules
}

// wholeEvaluate holds what each type of evaluator cannot do without.
func wholeEvaluate() []any {
	rules := []any{needs("type")}
	for _, e := range evaluators {
		var keys []any
		for _, name := range e.Required {
			keys = append(keys, needs(name))
		}
		if keys != nil {
			rules = append(rules, when(is("type", e.Name), allOf(keys...)))
		}
	}
	return append(rules,
		when(is("type", "convergence"), object("properties", object(
			"tolerance", object("type", []any{"number", "string", "null"}, "minimum", 0),
			"target", reference("text"),
		))),
		when(is("type", "output_numeric"), object("properties", object("target", reference("text")))),
		when(is("type", "classify"),
			object("properties", object("line", object("type", []any{"integer", "string", "null"})))),
	)
}
