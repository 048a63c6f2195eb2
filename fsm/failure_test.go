package fsm

import "testing"

// A bill that is not paid is no rate limit, with whatever text and status the API reports it: nothing would come of a
// wait.
func TestBillingIsNoRateLimit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Your credit balance is too low; too many requests",
		"Error: 429 insufficient_quota: You exceeded your current quota, please check your plan and billing details",
		"402 Payment Required: rate limit",
		"429: insufficient balance",
	} {
		if class, kind := FailureClass(text, 1, false); class != FailureNonRecoverable || kind != "limit" {
			t.Errorf("%q: %s, %s", text, class, kind)
		}
	}
	if class, kind := FailureClass("429: quota exceeded", 1, false); class != FailureTransient || kind != "rate_limit" {
		t.Errorf("a rate limit: %s, %s", class, kind)
	}
}

// A refused address whose port had the digits of a status was taken for a rate limit, and waited for.
func TestPortsAreNoStatus(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"unexpected status 404 Not Found, url: http://127.0.0.1:42997/v1": FailureReal,
		"unexpected status 404 Not Found, url: http://127.0.0.1:40312/v1": FailureReal,
		"unexpected status 404 Not Found, url: http://127.0.0.1:15297/v1": FailureReal,
		"unexpected status 429, url: http://127.0.0.1:40312/v1":           FailureTransient,
		"HTTP429": FailureTransient,
	} {
		if class, kind := FailureClass(text, 1, false); class != want {
			t.Errorf("%s: %s, %s", text, class, kind)
		}
	}
}
