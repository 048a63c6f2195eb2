package agent

import (
	"fmt"
	"testing"
)

// TestPlainTextOnStandardOutputOfAFailedHost: codex and gemini printed "too many requests", or that the account
// had to be paid for, on standard output and exited with 1, and the run went on as if a prompt had merely
// failed.
func TestPlainTextOnStandardOutputOfAFailedHost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Class{
		"too many requests":                RateLimited,
		"Error: Resource-Exhausted":        RateLimited,
		"quota exceeded":                   RateLimited,
		"overloaded":                       Transient,
		"503 Service Unavailable":          Transient,
		"504 Gateway Time-out":             Transient,
		"Your credit balance is too low":   Billing,
		"Invalid API key":                  Auth,
		"unknown model: nine":              NoModel,
		`{"said": "too many requests"`:     Truncated, // of an event that was cut off
		`[{"said": "credit balance"}]`:     Truncated,
		`"too many requests"`:              Truncated,
		"something that is said elsewhere": Other,
	} {
		for _, h := range Hosts() {
			s := h.Stream(Request{})
			s.Line([]byte(text))
			f := s.End(Exit{Code: 1}).Failure
			if f == nil || f.Class != want {
				t.Errorf("%s, %q: %+v, want %s", h.Name, text, f, want)
			}
		}
	}
}

// What a host prints that succeeds, or what a model wrote in a stream that says how it failed, is no failure of
// that kind.
func TestTalkAboutRateLimitsIsNone(t *testing.T) {
	t.Parallel()
	streams := map[string][]string{
		"claude": {
			`{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}`,
			`{"type":"result","subtype":"success","is_error":%t,"result":"odd"}`,
		},
		"qwen": {
			`{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}`,
			`{"type":"result","subtype":"success","is_error":%t,"result":"odd"}`,
		},
		"gemini": {
			`{"type":"message","role":"assistant","content":"%s"}`,
			`{"type":"result","status":"%s","error":{"message":"odd"}}`,
		},
		"codex": {
			`{"type":"item.completed","item":{"type":"agent_message","text":"%s"}}`,
			`{"type":"turn.%s","error":{"message":"odd"}}`,
		},
	}
	how := map[string][2]any{
		"claude": {false, true}, "qwen": {false, true}, "gemini": {"success", "error"},
		"codex": {"completed", "failed"},
	}
	for name, lines := range streams {
		for i, code := range []int{0, 1} {
			s := Find(name).Stream(Request{})
			s.Line(fmt.Appendf(nil, lines[0], "too many requests, and your credit balance is too low"))
			s.Line([]byte("too many requests, as a tool says"))
			s.Line(fmt.Appendf(nil, lines[1], how[name][i]))
			f := s.End(Exit{Code: code}).Failure
			if code == 0 && f != nil || code == 1 && (f == nil || f.Class != Other) {
				t.Errorf("%s, exit %d: %+v", name, code, f)
			}
		}
		s := Find(name).Stream(Request{})
		s.Line(fmt.Appendf(nil, lines[0], "too many requests"))
		if f := s.End(Exit{Code: 1}).Failure; f == nil || f.Class != Truncated {
			t.Errorf("%s, cut off: %+v", name, f)
		}
		s = Find(name).Stream(Request{})
		s.Line([]byte("too many requests"))
		if f := s.End(Exit{}).Failure; f == nil || f.Class != Truncated {
			t.Errorf("%s, exit 0: %+v", name, f)
		}
	}
}

// A program of the user's own that prints text and nothing else: what it says beside a standard error is the
// model's, too.
func TestPlainTextOfAProgram(t *testing.T) {
	t.Parallel()
	h, err := New(Spec{Name: "mine", Program: "mine", Args: [][]string{{"{prompt}"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		out, stderr string
		want        Class
	}{
		{"too many requests", "", RateLimited},
		{"too many requests", "warning: old version", RateLimited},
		{"Your credit balance is too low", "", Billing},
		{"I fixed the authentication", "warning: old version", Other},
	} {
		s := h.Stream(Request{})
		s.Line([]byte(c.out))
		if f := s.End(Exit{Code: 1, Stderr: c.stderr}).Failure; f == nil || f.Class != c.want {
			t.Errorf("%q, %q: %+v, want %s", c.out, c.stderr, f, c.want)
		}
	}
}
