package fsm

import "testing"

// TestGatewayFailuresAreErrorsOfTheAPI: "503 Service Unavailable" on a host's standard error was taken as a
// failure of the network, which is not tried again; "500 Internal Server Error" was.
func TestGatewayFailuresAreErrorsOfTheAPI(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"502 Bad Gateway", "503 Service Unavailable", "HTTP 503: Service Temporarily Unavailable",
		"504 Gateway Timeout", "<h1>504 Gateway Time-out</h1>",
		"unexpected status 502 Bad Gateway: , url: http://127.0.0.1/v1", "500 Internal Server Error",
		"API Error: 503 x",
	} {
		for _, res := range []Result{
			{
				ExitCode: 1, Stderr: text,
				Reply: &Reply{Failure: FailTransient, Reason: "it exited with code 1: " + text},
			},
			{
				ExitCode: 1, Stderr: "a notice",
				Reply: &Reply{Failure: FailTransient, Reason: "it exited with code 1: " + text},
			},
			{
				ExitCode: 1, Stderr: ResultMark + text,
				Reply: &Reply{Failure: FailTransient, Complete: true, Reason: text},
			},
		} {
			if class, kind := failureOf(res); class != FailureTransient || kind != "api_error" {
				t.Errorf("%q: %s, %s", res.Stderr, class, kind)
			}
		}
	}
	if _, kind := failureOf(Result{
		ExitCode: 1, Stderr: "connection refused",
		Reply: &Reply{Failure: FailTransient},
	}); kind != "network" {
		t.Errorf("a failure of the network: %s", kind)
	}
}

// TestModelTextIsNoRateLimit: an agent that had written about "too many requests" and then failed for another
// reason was waited for.
func TestModelTextIsNoRateLimit(t *testing.T) {
	t.Parallel()
	const wrote = "I saw too many requests in the log"
	for name, c := range map[string]struct {
		res  Result
		want string
	}{
		"the stream says why": {
			Result{Stderr: ResultMark + "odd", Reply: &Reply{Failure: "failed", Complete: true, Reason: "odd"}}, "real",
		},
		"after a notice": {
			Result{
				Stderr: "a notice\n" + ResultMark + "odd",
				Reply:  &Reply{Failure: "failed", Complete: true, Reason: "odd"},
			}, "real",
		},
		"cut off": {
			Result{Stderr: "a notice", Reply: &Reply{Failure: FailTruncated, Reason: "it ended"}},
			"real",
		},
		"plain text": {
			Result{Stderr: "a notice", Reply: &Reply{Failure: "failed", Reason: "it exited with code 1: api limit"}},
			"rate_limit",
		},
		"nothing says why": {Result{Reply: &Reply{Failure: "failed", Complete: true}}, "rate_limit"},
	} {
		c.res.ExitCode, c.res.Stdout = 1, wrote
		if _, kind := failureOf(c.res); kind != c.want {
			t.Errorf("%s: %s, want %s", name, kind, c.want)
		}
	}
}
