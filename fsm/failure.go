package fsm

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The classes of a failed prompt action.
const (
	FailureReal           = "real"
	FailureTransient      = "transient"
	FailureNonRecoverable = "non_recoverable"
	FailureInfraRetry     = "infra_retry"
)

// failureSigns are tried in order on the text in lower case; the first that is found decides.
var failureSigns = []struct {
	class, kind string
	texts       []string
	words       []string // whole words only
	numbers     []string // no part of a longer number, such as a port
}{
	// Waiting does not pay a bill. APIs report that with the status and the text of a rate limit.
	{FailureNonRecoverable, "limit", []string{
		"credit balance", "insufficient_quota", "insufficient quota", "insufficient balance",
		"exceeded your current quota", "payment required",
	}, nil, nil},
	{FailureTransient, "rate_limit", []string{
		"out of extra usage", "rate limit", "quota exceeded", "too many requests", "api limit",
		"usage limit", "resource exhausted", "resourceexhausted", "resource_exhausted", "resource-exhausted",
		"resource has been exhausted",
	}, nil, []string{"429"}},
	{FailureTransient, "network", []string{
		"connection refused", "connection timeout", "network error", "dns resolution", "connection reset",
		"service unavailable", "502 bad gateway", "503 service unavailable", "504 gateway timeout",
	}, []string{"econnrefused", "enotfound", "etimedout"}, nil},
	{
		FailureTransient, "timeout",
		[]string{"timeout", "timed out", "deadline exceeded", "operation timed out"},
		nil,
		nil,
	},
	{FailureTransient, "resource", []string{
		"disk full", "no space left", "resource temporarily unavailable", "too many open files",
		"memory allocation failed", "out of memory",
	}, nil, nil},
	{FailureNonRecoverable, "auth", []string{
		"unauthorized", "forbidden", "authentication", "invalid api key", "invalid_api_key", "expired token",
	}, nil, []string{"401", "403"}},
	{FailureTransient, "api_error", []string{
		"the server had an error", "internal server error", "overloaded_error", "overloaded", "api error",
	}, nil, []string{"529"}},
	{FailureTransient, "context", []string{
		"prompt is too long", "context length exceeded", "context window", "maximum context",
	}, nil, nil},
	{FailureTransient, "session", []string{"requires a valid session id", "requires a valid session title"}, nil, nil},
	{FailureTransient, "sandbox", []string{"command not found", "read-only variable"}, nil, nil},
	{FailureTransient, "killed", nil, []string{"killed"}, nil},
}

// FailureClass classifies from what a failed prompt action printed (standard output, newline, standard error)
// whether it may work when tried again, and what kind of failure it is. resultSeen says that the agent's final
// result was read. Shell and mcp_tool actions are never classified (D5).
func FailureClass(text string, exitCode int, resultSeen bool) (class, kind string) {
	if exitCode == 143 && resultSeen {
		return FailureInfraRetry, "infra"
	}
	lower := strings.ToLower(text)
	for _, s := range failureSigns {
		for _, t := range s.texts {
			if strings.Contains(lower, t) {
				return s.class, s.kind
			}
		}
		for _, w := range s.words {
			if containsApart(lower, w, isWordRune) {
				return s.class, s.kind
			}
		}
		for _, n := range s.numbers {
			if containsApart(lower, n, unicode.IsDigit) {
				return s.class, s.kind
			}
		}
	}
	switch {
	case strings.Contains(text, "<tool_use_error>"):
		return FailureTransient, "cancelled"
	case strings.Contains(lower, `file "<string>"`), strings.Contains(lower, `file "<stdin>"`):
		return FailureTransient, "snippet"
	}
	return FailureReal, "real"
}

// containsApart reports whether a text has a word with no such rune beside it.
func containsApart(text, word string, such func(rune) bool) bool {
	for rest, at := text, 0; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if !such(before) && !such(after) {
			return true
		}
		at += len(word)
		rest = text[at:]
	}
}

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
