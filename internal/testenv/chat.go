package testenv

import (
	"regexp"
	"strings"
)

// chat is OpenAI's API of chat completions, which qwen uses.
type chat struct{}

var toolMessage = regexp.MustCompile(`"role": ?"tool"`)

func (chat) turn(path, body string) (turn, bool) {
	return decide(body, toolMessage), strings.HasSuffix(path, "/chat/completions")
}

func (chat) refuse(t turn) object { return openAIError(t) }

func (chat) answer(s *stream, body string, t turn) {
	req := parse(body)
	var functions []any
	for _, o := range list(req["tools"]) {
		functions = append(functions, o["function"])
	}
	said, finish := t.said, "stop"
	var calls []object
	call := func(name string, args object) {
		calls = []object{{
			"index": 0, "id": "call_1", "type": "function",
			"function": object{"name": name, "arguments": text(args)},
		}}
		finish = "tool_calls"
	}
	if t.command != "" {
		name := tool(names(functions), "run_shell_command", "shell")
		call(name, object{"command": t.command, "is_background": false, "description": "make a file"})
	}
	if t.answer != nil {
		if name := tool(names(functions), "tructured"); name != "" {
			call(name, t.answer)
		} else {
			said = []string{text(t.answer)}
		}
	}
	if t.refuse {
		said, finish = []string{"I will not"}, "content_filter"
	}
	usage := object{
		"prompt_tokens": In, "completion_tokens": Out, "total_tokens": In + Out,
		"prompt_tokens_details": object{"cached_tokens": Cached},
	}
	base := func(kind string, choices []object) object {
		return object{"id": "chatcmpl-1", "created": 0, "model": req["model"], "object": kind, "choices": choices}
	}
	if req["stream"] != true {
		message := object{"role": "assistant", "content": strings.Join(said, "")}
		if calls != nil {
			message["tool_calls"] = calls
		}
		o := base("chat.completion", []object{{"index": 0, "message": message, "finish_reason": finish}})
		o["usage"] = usage
		send(s.w, 200, o)
		return
	}
	event := func(delta object, finish any) {
		s.event("", base("chat.completion.chunk", []object{{"index": 0, "delta": delta, "finish_reason": finish}}))
	}
	event(object{"role": "assistant", "content": ""}, nil)
	if t.slow {
		s.words(func(word string) { event(object{"content": word}, nil) })
		return
	}
	for _, part := range said {
		event(object{"content": part}, nil)
		if t.cut {
			s.cut()
		}
	}
	if calls != nil {
		event(object{"tool_calls": calls}, nil)
	}
	event(object{}, finish)
	last := base("chat.completion.chunk", []object{})
	last["usage"] = usage
	s.event("", last)
	s.raw("", "[DONE]")
}
