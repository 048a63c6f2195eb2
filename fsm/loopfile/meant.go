package loopfile

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm/pyregexp"
)

// meant says what may be meant by keys of a state that other tools have.
var meant = map[string]string{
	"branches":    `branches are the mapping "parallel", such as {lint: {action: make lint}, test: {loop: test-suite}}`,
	"cmd":         `did you mean "action"?`,
	"command":     `did you mean "action"?`,
	"run":         `did you mean "action"?`,
	"script":      `did you mean "action"?`,
	"each":        `did you mean "for_each"?`,
	"foreach":     `did you mean "for_each"?`,
	"goto":        `did you mean "next"?`,
	"inputs":      `what a loop that a state runs is given is "with"`,
	"params":      `what a loop that a state runs is given is "with"`,
	"retries":     `did you mean "max_retries"?`,
	"then":        `did you mean "on_yes"?`,
	"else":        `did you mean "on_no"?`,
	"if":          `a condition is an action whose exit code decides, with on_yes and on_no, or an evaluate block`,
	"transitions": `did you mean "route"?`,
}

// meantTypes are names that other languages have for the types of parameters and of actions.
var meantTypes = map[string]string{
	"int": "integer", "float": "number", "bool": "boolean", "str": "string",
	"text": "string", "bash": "shell", "sh": "shell", "script": "shell", "command": "shell", "llm": "prompt",
	"mcp": "mcp_tool",
}

// meantValue suggests one of the values of a key.
func meantValue(s string, key *Key) string {
	if v := meantTypes[s]; v != "" && slices.Contains(key.Values, v) {
		return "; did you mean " + quote(v) + "?"
	}
	return didYouMean(s, key.Values)
}

var withUnit = pyregexp.Lazy(`^([0-9]{1,6}) ?(s|secs?|seconds?|m|mins?|minutes?|h|hours?)$`)

// inSeconds suggests the number of seconds for a time with a unit.
func inSeconds(s string) string {
	m := withUnit().FindStringSubmatch(strings.ToLower(s))
	if m == nil {
		return ""
	}
	return "; write " + m[1] + m[2][:1]
}

// notMapping returns how to write what should have been a mapping and is a text.
func notMapping(n *yaml.Node, in Where) string {
	switch {
	case n.Kind != yaml.ScalarNode:
	case in == InEvaluate && slices.Contains(evaluatorNames(), n.Value):
		return "; write {type: " + n.Value + "}"
	case n.Style == 0 && gluedKey().MatchString(n.Value):
		return "; a space is missing after the colon"
	}
	return ""
}
