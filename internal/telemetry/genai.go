package telemetry

import (
	"encoding/json"

	"loops/internal/inspect"
)

// The operations of the semantic conventions.
const (
	operationPrompt = "invoke_agent"
	operationJudge  = "chat"
)

// conventions are the attributes of version 0.1.0 of the semantic conventions for generative AI, and the field
// of an event that has the value. It is the one place that names them: the conventions are not stable yet.
var conventions = []struct {
	attr, field string
	whole       bool
}{
	{"gen_ai.agent.name", "host", false},
	{"gen_ai.request.model", "model", false},
	{"gen_ai.response.model", "model", false},
	{"gen_ai.conversation.id", "session_id", false},
	{"gen_ai.usage.input_tokens", "input_tokens", true},
	{"gen_ai.usage.output_tokens", "output_tokens", true},
	{"gen_ai.usage.cache_read.input_tokens", "cache_read_tokens", true},
	{"gen_ai.usage.cache_creation.input_tokens", "cache_creation_tokens", true},
	{"error.type", "failure", false},
}

// providers are those of the agent hosts that ask one alone.
var providers = map[string]string{
	"claude": "anthropic", "codex": "openai", "gemini": "gcp.gemini",
	"kimi": "moonshot_ai",
}

// otherError is the type of an error that has no other one.
const otherError = "_OTHER"

// genAI returns what is on record of a prompt or a judge. What is not on record has no attribute.
func genAI(get func(string) any, failed bool) (attrs []Attr) {
	if failed && inspect.Text(get("failure")) == "" {
		attrs = append(attrs, Attr{"error.type", otherError})
	}
	for _, c := range conventions {
		v := get(c.field)
		if v == nil || v == "" {
			continue
		}
		if c.whole {
			attrs = append(attrs, Attr{c.attr, inspect.Whole(v)})
		} else {
			attrs = append(attrs, Attr{c.attr, inspect.Text(v)})
		}
	}
	if p := providers[inspect.Text(get("host"))]; p != "" {
		attrs = append(attrs, Attr{"gen_ai.provider.name", p})
	}
	if usd, ok := inspect.Number(get("cost_usd")); ok {
		attrs = append(attrs, Attr{"loops.cost_usd", usd})
	}
	return attrs
}

// message returns an attribute with one message of a conversation.
func message(attr, role, text string) Attr {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type one struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	b, _ := json.Marshal([]one{{role, []part{{"text", text}}}}) // texts can be written
	return Attr{attr, string(b)}
}
