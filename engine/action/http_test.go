package action

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"loops/fsm"
)

// caller returns a server that answers a request in some way, and a runner for requests to it.
func caller(t *testing.T, answer http.HandlerFunc) (fsm.Action, *Runner) {
	server := httptest.NewServer(answer)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	r := &Runner{Dir: t.TempDir(), RunDir: t.TempDir()}
	t.Cleanup(func() { _ = r.Close() })
	return fsm.Action{
		Kind: fsm.KindHTTP, State: "ask", Step: 1, Attempt: 1, Text: "GET x", Timeout: time.Minute,
		Call: &fsm.Request{Method: "GET", URL: server.URL},
	}, r
}

// The body of a response is the output: as text with line ends as those of programs, whole in a file where it
// is long or asked for.
func TestCallOutput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcde\n", 10_000)
	for _, c := range []struct {
		name, body, want string
		keep, cut, file  bool
	}{
		{name: "lines", body: "a\r\nb\xff\rc", want: "a\nb\ufffd\nc"},
		{name: "kept", body: "short", want: "short", keep: true, file: true},
		{name: "long", body: long, want: long, file: true},
		{name: "over the cap", body: strings.Repeat(long, 10), cut: true, file: true},
		{name: "nothing", body: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, r := caller(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.body) })
			a.Keep = c.keep
			var printed strings.Builder
			res, err := r.Run(t.Context(), a, func(text string) { printed.WriteString(text + "\n") })
			if err != nil || res.ExitCode != 0 || res.Response.Status != 200 || res.Truncated != c.cut ||
				(res.File != "") != c.file {
				t.Fatalf("%+v, %v", res, err)
			}
			if !c.cut && res.Stdout != c.want {
				t.Errorf("the output is %.60q", res.Stdout)
			}
			if want := strings.TrimSuffix(c.want, "\n"); !c.cut && strings.TrimSuffix(printed.String(), "\n") != want {
				t.Errorf("passed on: %.60q", printed.String())
			}
			if c.file {
				if whole, err := os.ReadFile(res.File); err != nil || string(whole) != c.body {
					t.Errorf("the file has %d bytes, %v", len(whole), err)
				}
			}
		})
	}
}

// What a status means, and what is in the way of a response.
func TestCallExitCodes(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int{
		200: 0, 204: 0, 304: fsm.CallOther, 400: fsm.CallRefused,
		404: fsm.CallRefused, 429: fsm.CallRefused, 500: fsm.CallOther, 503: fsm.CallOther,
	} {
		a, r := caller(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
		})
		res, err := r.Run(t.Context(), a, nil)
		if err != nil || res.ExitCode != want || res.Response.Status != status ||
			res.Response.RetryAfter != 7*time.Second || (want != 0) != (res.Stderr != "") {
			t.Errorf("%d: %+v, %v", status, res, err)
		}
	}
	a, r := caller(t, nil)
	a.Call.URL = "http://127.0.0.1:1/"
	if res, err := r.Run(t.Context(), a, nil); err != nil || res.ExitCode != fsm.CallFailed ||
		res.Response.Status != 0 || !strings.Contains(res.Stderr, "refused") {
		t.Errorf("nobody there: %+v, %v", res, err)
	}
	a.Call.URL = "nowhere"
	if res, err := r.Run(t.Context(), a, nil); err != nil || res.ExitCode != fsm.CallFailed ||
		!strings.Contains(res.Stderr, "begins with http://") {
		t.Errorf("no address: %+v, %v", res, err)
	}
}

// A request that hangs ends at its time-out, after its silence, when it is stopped, and when all is to end at once.
func TestCallEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(a *fsm.Action, r *Runner, stop context.CancelCauseFunc, asked <-chan struct{})
		kind string
	}{
		{"at its time-out", func(a *fsm.Action, _ *Runner, _ context.CancelCauseFunc, _ <-chan struct{}) {
			a.Timeout = 50 * time.Millisecond
		}, "wall"},
		{"after its silence", func(a *fsm.Action, _ *Runner, _ context.CancelCauseFunc, _ <-chan struct{}) {
			a.Idle = 50 * time.Millisecond
		}, "idle"},
		{"by a stop", func(_ *fsm.Action, _ *Runner, stop context.CancelCauseFunc, asked <-chan struct{}) {
			go func() { <-asked; stop(&fsm.Stop{}) }()
		}, ""},
		{"by force", func(_ *fsm.Action, r *Runner, _ context.CancelCauseFunc, asked <-chan struct{}) {
			go func() { <-asked; r.Force() }()
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			a, r := caller(t, func(_ http.ResponseWriter, req *http.Request) {
				asked <- struct{}{}
				<-req.Context().Done()
			})
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			c.end(&a, r, stop, asked)
			res, err := r.Run(ctx, a, nil)
			if err != nil || res.TimeoutKind != c.kind || c.kind != "" &&
				(res.ExitCode != 124 || !strings.Contains(res.Stderr, "timed out")) {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	a, r := caller(t, nil)
	r.Force()
	if _, err := r.Run(t.Context(), a, nil); err == nil || errors.Is(err, errForced) {
		t.Errorf("a request after force: %v", err)
	}
}
