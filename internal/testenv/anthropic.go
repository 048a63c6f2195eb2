package testenv

import (
	"regexp"
	"strconv"
	"strings"
)

// anthropic is the Messages API, which claude uses.
type anthropic struct{}

var toolResult = regexp.MustCompile(`"type": ?"tool_result"`)

func (anthropic) turn(path, body string) (turn, bool) {
	return decide(body, toolResult), strings.HasSuffix(path, "/messages")
}

func (anthropic) refuse(t turn) object {
	kind := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
	}[t.status]
	message := t.message()
	if t.name == "nomodel" {
		message = "model: stand-in"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_1"}
}

func (anthropic) answer(s *stream, body string, t turn) {
	req := parse(body)
	var content []object
	for _, part := range t.said {
		content = append(content, object{"type": "text", "text": part})
	}
	stop := "end_turn"
	call := func(name string, input object) {
		content = append(content, object{
			"type": "tool_use", "id": "toolu_" + strconv.Itoa(len(t.results)+1),
			"name": name, "input": input,
		})
		stop = "tool_use"
	}
	if t.command != "" {
		call("Bash", object{"command": t.command, "description": "make a file"})
	}
	if t.answer != nil {
		if name := tool(names(req["tools"]), "tructured"); name != "" {
			call(name, t.answer)
		} else {
			content = append(content, object{"type": "text", "text": text(t.answer)})
		}
	}
	if t.call != nil {
		if name := ending(names(req["tools"]), t.call.Tool); name != "" {
			call(name, t.call.Arguments)
		} else {
			content = append(content, object{"type": "text", "text": "there is no tool " + t.call.Tool})
		}
	}
	if t.refuse {
		content, stop = []object{{"type": "text", "text": "I will not"}}, "refusal"
	}
	message := func(content any, stop any) object {
		return object{
			"id": "msg_1", "type": "message", "role": "assistant", "model": req["model"], "content": content,
			"stop_reason": stop, "stop_sequence": nil,
			"usage": object{
				"input_tokens": In - Cached, "output_tokens": Out,
				"cache_creation_input_tokens": 0, "cache_read_input_tokens": Cached,
			},
		}
	}
	if req["stream"] != true {
		if t.cut {
			s.cut()
		}
		send(s.w, 200, message(content, stop))
		return
	}
	event := func(kind string, o object) {
		o["type"] = kind
		s.event(kind, o)
	}
	delta := func(i int, o object) { event("content_block_delta", object{"index": i, "delta": o}) }
	event("message_start", object{"message": message([]object{}, nil)})
	if t.slow {
		event("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
		s.words(func(word string) { delta(0, object{"type": "text_delta", "text": word}) })
		return
	}
	for i, block := range content {
		if block["type"] == "text" {
			event("content_block_start", object{"index": i, "content_block": object{"type": "text", "text": ""}})
			delta(i, object{"type": "text_delta", "text": block["text"]})
		} else {
			start := object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}
			event("content_block_start", object{"index": i, "content_block": start})
			delta(i, object{"type": "input_json_delta", "partial_json": text(block["input"].(object))})
		}
		if t.cut {
			s.cut()
		}
		event("content_block_stop", object{"index": i})
	}
	event("message_delta", object{
		"delta": object{"stop_reason": stop, "stop_sequence": nil},
		"usage": object{"output_tokens": Out},
	})
	event("message_stop", object{})
}
