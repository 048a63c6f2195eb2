package testenv

import (
	"regexp"
	"strconv"
	"strings"
)

// responses is OpenAI's API of responses, which codex uses.
type responses struct{}

var callOutput = regexp.MustCompile(`"type": ?"(custom_tool_call|function_call)_output"`)

func (responses) turn(path, body string) (turn, bool) {
	return decide(body, callOutput), strings.HasSuffix(path, "/responses")
}

func (responses) refuse(t turn) object { return openAIError(t) }

// openAIError is how both of OpenAI's APIs refuse.
func openAIError(t turn) object {
	code := map[string]string{
		"401": "invalid_api_key", "429": "rate_limit_exceeded", "quota": "insufficient_quota",
		"nomodel": "model_not_found", "long": "context_length_exceeded",
	}[t.name]
	switch {
	case code != "":
	case t.status < 500:
		code = "invalid_request_error"
	default:
		code = "server_error"
	}
	return object{"error": object{"message": t.message(), "type": code, "param": nil, "code": code}}
}

func (responses) answer(s *stream, body string, t turn) {
	req := parse(body)
	said := t.said
	if t.answer != nil {
		said = []string{text(t.answer)} // a schema is one of the request's text, not a tool
	}
	items := []object{}
	add := func(kind string, o object) {
		o["type"], o["id"], o["status"] = kind, "item_"+strconv.Itoa(len(items)), "completed"
		items = append(items, o)
	}
	if len(said) > 0 {
		content := []object{}
		for _, part := range said {
			content = append(content, object{"type": "output_text", "text": part, "annotations": []any{}})
		}
		add("message", object{"role": "assistant", "content": content})
	}
	if t.refuse {
		add("message", object{"role": "assistant", "content": []object{{"type": "refusal", "refusal": "I will not"}}})
	}
	if t.command != "" {
		name := tool(names(req["tools"]), "exec_command", "shell_command", "shell")
		args := object{"command": []string{"bash", "-lc", t.command}}
		switch name {
		case "exec_command":
			args = object{"cmd": t.command, "yield_time_ms": 30000}
		case "shell_command":
			args = object{"command": t.command}
		}
		add("function_call", object{"call_id": "call_1", "name": name, "arguments": text(args)})
	}
	if t.call != nil {
		made := object{
			"call_id": "call_" + strconv.Itoa(len(t.results)+1),
			"name":    ending(names(req["tools"]), t.call.Tool), "arguments": text(t.call.Arguments),
		}
		for _, space := range list(req["tools"]) {
			if name := ending(names(space["tools"]), t.call.Tool); space["type"] == "namespace" && name != "" {
				made["name"], made["namespace"] = name, space["name"]
			}
		}
		add("function_call", made)
	}
	response := func(status string, output []object) object {
		return object{
			"id": "resp_1", "object": "response", "created_at": 0, "status": status, "model": req["model"],
			"output": output,
			"error":  nil, "incomplete_details": nil,
			"usage": object{
				"input_tokens": In, "input_tokens_details": object{"cached_tokens": Cached},
				"output_tokens": Out, "output_tokens_details": object{"reasoning_tokens": 2}, "total_tokens": In + Out,
			},
		}
	}
	sequence := 0
	event := func(kind string, o object) {
		o["type"], o["sequence_number"] = kind, sequence
		sequence++
		s.event(kind, o)
	}
	event("response.created", object{"response": response("in_progress", nil)})
	if t.slow {
		event("response.output_item.added", object{"output_index": 0, "item": object{
			"type": "message", "id": "item_0", "status": "in_progress", "role": "assistant", "content": []object{},
		}})
		s.words(func(word string) {
			event("response.output_text.delta", object{
				"item_id": "item_0", "output_index": 0, "content_index": 0,
				"delta": word,
			})
		})
		return
	}
	for i, item := range items {
		event("response.output_item.added", object{"output_index": i, "item": item})
		if t.cut {
			s.cut()
		}
		event("response.output_item.done", object{"output_index": i, "item": item})
	}
	event("response.completed", object{"response": response("completed", items)})
}
