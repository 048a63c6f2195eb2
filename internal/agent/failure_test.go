package agent

import "testing"

// TestClassesOfText: what hosts and the gateways before them say in plain text, by the class it is.
func TestClassesOfText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		text   string
		want   Class
	}{
		{0, "RESOURCE_EXHAUSTED", RateLimited},
		{0, "Resource exhausted, please try again later.", RateLimited},
		{0, "rpc error: code = ResourceExhausted desc = slow down", RateLimited},
		{0, "Resource has been exhausted (e.g. check quota).", RateLimited},
		{400, "resource-exhausted", RateLimited},
		{503, "Too Many Requests", RateLimited},
		{0, "TooManyRequests", RateLimited},
		{0, "Quota exceeded for metric: generate_requests", RateLimited},
		{429, "quota_exceeded", RateLimited},
		{0, "You're out of extra usage, resets 8pm", RateLimited},
		{0, "system resources were exhausted", Other},
		{529, "Overloaded", Transient},
		{0, "overloaded_error", Transient},
		{429, "You exceeded your current quota, please check your plan and billing details.", Billing},
		{429, "insufficient_quota", Billing},
		{0, "Quota exceeded. Check your plan and billing details.", Billing},
		{402, "", Billing},
		{400, "Credit balance is too low", Billing},
		{404, "model: claude-nine (not_found_error)", NoModel},
		{0, "The model `gpt-9` does not exist or you do not have access to it.", NoModel},
		{0, "The model `gpt-9.1` does not exist or you do not have access to it.", NoModel},
		{
			404, "models/gemini-9.5-pro is not found for API version v1beta, or is not supported for generateContent.",
			NoModel,
		},
		{400, "Model warm. The file is not found.", Other},
		{400, "gpt-9 (model_not_found)", NoModel},
		{0, "unknown model: nine", NoModel},
		{
			404, "There's an issue with the selected model (nine). It may not exist or you may not have access to it.",
			NoModel,
		},
		{404, "page not found", Other},
		{500, "model runner: file not found", Transient},
		{401, "invalid x-api-key", Auth},
		{403, "Request not allowed", Auth},
		{403, "You have hit your rate limit", RateLimited},
		{0, "prompt is too long: 210000 tokens > 200000 maximum", Context},
	} {
		if got := classify(c.status, c.text); got != c.want {
			t.Errorf("status %d, %q is %s, want %s", c.status, c.text, got, c.want)
		}
	}
}
