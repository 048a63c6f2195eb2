package testenv

import (
	"regexp"
	"strconv"
	"strings"
)

// gemini is Google's API of Gemini, which gemini uses.
type gemini struct{}

var functionResponse = regexp.MustCompile(`"functionResponse"`)

func (gemini) turn(path, body string) (turn, bool) {
	return decide(body, functionResponse), strings.HasSuffix(path, ":generateContent") ||
		strings.HasSuffix(path, ":streamGenerateContent")
}

func (gemini) refuse(t turn) object {
	status := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
		429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 529: "UNAVAILABLE",
	}[t.status]
	details := []object{}
	switch t.name {
	case "429":
		details = append(details, object{
			"@type":      "type.googleapis.com/google.rpc.RetryInfo",
			"retryDelay": strconv.Itoa(int(RetryAfter.Seconds())) + "s",
		})
	case "quota":
		details = append(details, object{
			"@type":      "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []object{{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}},
		})
	}
	message := t.message()
	if t.name == "nomodel" {
		message = "models/stand-in is not found for API version v1beta, or is not supported for generateContent. " +
			"Call ListModels to see the list of available models and their supported methods."
	}
	return object{"error": object{"code": t.status, "message": message, "status": status, "details": details}}
}

func (gemini) answer(s *stream, _ string, t turn) {
	parts := []object{}
	for _, part := range t.said {
		parts = append(parts, object{"text": part})
	}
	if t.answer != nil {
		parts = append(parts, object{"text": "Here it is:\n```json\n" + text(t.answer) + "\n```\n"})
	}
	if t.command != "" {
		args := object{"command": t.command, "description": "make a file"}
		parts = append(parts, object{"functionCall": object{"name": "run_shell_command", "args": args}})
	}
	finish := "STOP"
	if t.refuse {
		finish = "SAFETY"
	}
	chunk := func(finish string, parts ...object) object {
		if parts == nil {
			parts = []object{} // null is not a list
		}
		c := object{"content": object{"role": "model", "parts": parts}, "index": 0}
		if finish != "" {
			c["finishReason"] = finish
		}
		return object{
			"candidates": []object{c}, "modelVersion": "gemini", "responseId": "r1",
			"usageMetadata": object{
				"promptTokenCount": In, "cachedContentTokenCount": Cached, "candidatesTokenCount": Out,
				"totalTokenCount": In + Out,
			},
		}
	}
	if strings.HasSuffix(s.r.URL.Path, ":generateContent") {
		send(s.w, 200, chunk(finish, parts...))
		return
	}
	if t.slow {
		s.words(func(word string) { s.event("", chunk("", object{"text": word})) })
		return
	}
	for i, part := range parts {
		last := ""
		if i == len(parts)-1 && !t.cut {
			last = finish
		}
		s.event("", chunk(last, part))
	}
	if t.cut {
		s.cut()
	}
	if len(parts) == 0 {
		s.event("", chunk(finish))
	}
}
