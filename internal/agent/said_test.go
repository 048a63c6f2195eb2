package agent

import (
	"testing"
	"time"
)

func TestAfterIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want time.Duration
	}{
		{"Please try again in 20s.", 20 * time.Second},
		{"try again in 1.5s", 1500 * time.Millisecond},
		{"Please try again in 6m0s.", 6 * time.Minute},
		{"try again in 250ms", 250 * time.Millisecond},
		{"or try again in 3 days 4 hours 5 minutes.", 76*time.Hour + 5*time.Minute},
		{"Try again in about 1 hour and 30 minutes", 90 * time.Minute},
		{"Suggested retry after 3600s.", time.Hour},
		{"retrying in 2 secs", 2 * time.Second},
		{"resets in 2 weeks", 14 * 24 * time.Hour},
		{"try again in a moment", 0},
		{"try again later", 0},
		{"try again in 99999999999 weeks", 0},
		{"wait 20s", 0},
		{"", 0},
	} {
		if got := afterIn(c.text); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestAPIError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said    string
		status  int
		message string
	}{
		{`plain words`, 0, `plain words`},
		{`{"error":{"code":401,"message":"no","status":"UNAUTHENTICATED"}}`, 401, `no`},
		{
			`[API Error: {"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}]`, 429,
			`slow down (RESOURCE_EXHAUSTED)`,
		},
		{`{"error":{"message":"no money","type":"x","code":"insufficient_quota"}}`, 0, `no money (insufficient_quota)`},
		{`{"error":{"code":500,"message":"{\"error\":{\"code\":503,\"message\":\"busy\"}}"}}`, 503, `busy`},
		{`{"error":{"code":7,"message":"odd"}}`, 0, `odd`},
		{`{"error":"text"}`, 0, `{"error":"text"}`},
		{`} before {`, 0, `} before {`},
		{`{"error":{"message":""}}`, 0, `{"error":{"message":""}}`},
	} {
		if status, message := apiError(c.said); status != c.status || message != c.message {
			t.Errorf("%s: %d %q, want %d %q", c.said, status, message, c.status, c.message)
		}
	}
}

// What OpenAI takes is the same schema, or none is handed over.
func TestStrictSchema(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, want string }{
		{
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
			`{"additionalProperties":false,"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`,
		},
		{
			`{"type":"object","properties":{"type":{"type":"string"}},"required":["type"]}`,
			`{"additionalProperties":false,"properties":{"type":{"type":"string"}},"required":["type"],"type":"object"}`,
		},
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, ``},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":true}`, ``},
		{`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"]}`, ``},
		{
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"object","properties":{"b":{}}}]}},"required":["a"]}`,
			``,
		},
		{`{"type":"object"}`, ``},
		{`{"type":"array","items":{"type":"string"}}`, ``},
		{`true`, ``},
		{`nonsense`, ``},
	} {
		if got, ok := strictSchema(c.schema); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %s, want %s", c.schema, got, c.want)
		}
	}
}
