package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/internal/config"
)

// A receiver is a webhook that answers as configured and keeps what it got.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	got  []*http.Request
	body []string
}

// receive starts a receiver; answer gets the number of the request, from 1.
func receive(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	rec := &receiver{}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender gave up
		}
		rec.mu.Lock()
		rec.got, rec.body = append(rec.got, r), append(rec.body, string(b))
		n := len(rec.got)
		rec.mu.Unlock()
		answer(n, w, r)
	}))
	t.Cleanup(rec.Close)
	return rec
}

func status(codes ...int) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(codes[min(n, len(codes))-1])
		fmt.Fprint(w, "why\x1b[31m\nmore")
	}
}

// send delivers one event to one target.
func send(t *testing.T, target config.Notify) Result {
	t.Helper()
	s := NewSender([]config.Notify{target})
	s.backoff = time.Millisecond
	s.Getenv = func(name string) (string, bool) { return "s3cret", name == "KEY" }
	s.Tell(Event{Kind: "failed", Loop: "fix", Run: "fix-1", Text: "it failed", Time: time.Unix(0, 0).UTC()})
	results := s.Close(t.Context())
	if len(results) != 1 {
		t.Fatalf("results: %v", results)
	}
	return results[0]
}

// TestWebhook: what a receiver answers, how often it is asked, and what is reported to a person.
func TestWebhook(t *testing.T) {
	t.Parallel()
	other := receive(t, status(200))
	for name, c := range map[string]struct {
		answer   func(int, http.ResponseWriter, *http.Request)
		requests int
		err      string // "" = delivered
	}{
		"at once":              {status(204), 1, ""},
		"fails twice":          {status(500, 503, 200), 3, ""},
		"too many requests":    {status(429, 200), 2, ""},
		"fails for good":       {status(502), 3, "it answered 502 Bad Gateway: why [31m"},
		"not retried":          {status(404), 1, "it answered 404 Not Found: why [31m"},
		"gone":                 {status(410), 1, "it answered 410 Gone: why [31m"},
		"a redirect to itself": {redirect("/again", 307, 308, 200), 3, ""},
		"a redirect elsewhere": {
			redirect(other.URL, 307), 1,
			"it answered 307, to go to " + strings.TrimPrefix(other.URL, "http://") +
				", which is not followed: only 307 and 308 to the same host are, 3 times",
		},
		"a redirect that is GET": {
			redirect("/again", 302, 200), 1,
			"it answered 302, to go to HOST, which is not followed: only 307 and 308 to the same host are, 3 times",
		},
		"redirects in a circle": {
			redirect("/again", 307), 4,
			"it answered 307, to go to HOST, which is not followed: only 307 and 308 to the same host are, 3 times",
		},
		"says the path": {func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Error(w, "Cannot POST "+r.URL.Path+"?"+r.URL.RawQuery+" of "+r.URL.Query().Get("key")+", s3cret", 404)
		}, 1, "it answered 404 Not Found: Cannot POST /…?… of …, …"},
		"hangs": {
			func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 3,
			"no answer within 50ms",
		},
		"cuts the line": {func(int, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 3, "EOF"},
		"asks for a long wait": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}, 1, "it answered 429 Too Many Requests, and asks to wait 1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			rec := receive(t, c.answer)
			limit := 10 * time.Minute
			if name == "hangs" {
				limit = 50 * time.Millisecond
			}
			r := send(t, config.Notify{
				URL: rec.URL + "/token?key=abcdef", Secret: config.Secret{Env: "KEY"},
				Retries: 2, Timeout: limit,
			})
			got := ""
			if r.Err != nil {
				got = strings.ReplaceAll(r.Err.Error(), strings.TrimPrefix(rec.URL, "http://"), "HOST")
			}
			rec.mu.Lock()
			defer rec.mu.Unlock()
			requests := len(rec.got)
			if name == "hangs" {
				requests = r.Attempts // some may have been given up before they arrived
			}
			if got != c.err || requests != c.requests {
				t.Errorf("%d requests, %q; want %d, %q", requests, got, c.requests, c.err)
			}
			for i, req := range rec.got {
				if err := verify(req, rec.body[i], "s3cret"); err != nil {
					t.Errorf("request %d: %v", i+1, err)
				}
				if id := req.Header.Get("X-Loops-Delivery"); len(id) != 32 ||
					id != rec.got[0].Header.Get("X-Loops-Delivery") {
					t.Errorf("request %d has the delivery %q", i+1, id)
				}
			}
		})
	}
	if len(other.got) > 0 {
		t.Errorf("the other host got %d requests", len(other.got))
	}
}

func redirect(to string, codes ...int) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, r *http.Request) {
		if code := codes[min(n, len(codes))-1]; code >= 300 {
			http.Redirect(w, r, to, code)
		}
	}
}

// TestAnswerWithoutEnd: the body of an answer that is a success is not read to its end.
func TestAnswerWithoutEnd(t *testing.T) {
	t.Parallel()
	rec := receive(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // a server of net/http can
		<-r.Context().Done()
	})
	limit := 10 * time.Minute
	if r := send(t, config.Notify{URL: rec.URL, Timeout: limit}); r.Err != nil || r.Took >= limit {
		t.Errorf("%v after %v", r.Err, r.Took)
	}
}

// verify does what the documentation asks of receivers.
func verify(r *http.Request, body, secret string) error {
	var at, sum string
	for part := range strings.SplitSeq(r.Header.Get("X-Loops-Signature"), ",") {
		switch k, v, _ := strings.Cut(part, "="); k {
		case "t":
			at = v
		case "v1":
			sum = v
		}
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(at + "." + body))
	if want := fmt.Sprintf("%x", mac.Sum(nil)); want != sum || at == "" {
		return fmt.Errorf("signature %q of %q", r.Header.Get("X-Loops-Signature"), body)
	}
	var e map[string]any
	if err := json.Unmarshal([]byte(body), &e); err != nil || e["event"] != r.Header.Get("X-Loops-Event") ||
		e["run"] != "fix-1" || e["delivery"] != r.Header.Get("X-Loops-Delivery") {
		return fmt.Errorf("body %s: %w", body, err)
	}
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		return errors.New(r.Method + " " + r.Header.Get("Content-Type"))
	}
	return nil
}

// TestSignVector holds the scheme, which receivers depend on. The sum was made with another program:
//
//	printf '%s' '1700000000.{"a":1}' | openssl dgst -sha256 -hmac key
func TestSignVector(t *testing.T) {
	t.Parallel()
	const want = "t=1700000000,v1=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03"
	if got := Sign("key", time.Unix(1700000000, 0), []byte(`{"a":1}`)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWebhookErrors(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	for name, c := range map[string]struct {
		target   config.Notify
		attempts int
		err      string
	}{
		"no secret": {
			config.Notify{URL: "http://127.0.0.1:1/token", Secret: config.Secret{Env: "NOKEY"}},
			0,
			"the key of the signature is missing: the environment variable NOKEY is not set",
		},
		"no file of secret": {
			config.Notify{URL: "http://127.0.0.1:1/token", Secret: config.Secret{File: "/nowhere/key"}},
			0,
			"the key of the signature is missing: the file /nowhere/key cannot be read: no such file or directory",
		},
		"nobody":   {config.Notify{URL: "http://127.0.0.1:1/token", Retries: 1}, 2, "connection refused"},
		"stranger": {config.Notify{URL: secure.URL + "/token", Retries: 1}, 1, "certificate"},
		"no url":   {config.Notify{URL: "http://[token"}, 1, "missing ']'"},
	} {
		t.Run(name, func(t *testing.T) {
			r := send(t, c.target)
			if r.Err == nil || !strings.Contains(r.Err.Error(), c.err) || r.Attempts != c.attempts {
				t.Errorf("%d attempts, %v; want %d, %s", r.Attempts, r.Err, c.attempts, c.err)
			}
			if strings.Contains(fmt.Sprint(r.Err, r.Target), "/token") {
				t.Errorf("the address is told: %v", r.Err)
			}
		})
	}
}

// TestCloseGivesUp: a caller that cannot wait does not have to.
func TestCloseGivesUp(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	rec := receive(t, func(int, http.ResponseWriter, *http.Request) { <-hang })
	defer close(hang)
	s := NewSender([]config.Notify{
		{URL: rec.URL, Timeout: time.Hour, Retries: 9},
		{Command: "sleep 1000", Timeout: time.Hour},
	})
	for range 3 {
		s.Tell(Event{Kind: "completed"})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range s.Close(ctx) {
		if !errors.Is(r.Err, errGivenUp) {
			t.Errorf("%s: %v", r.Target, r.Err)
		}
	}
	if len(s.results) != 6 {
		t.Errorf("%d results", len(s.results))
	}
}

// TestFull: a target that hangs holds up no caller that sends to it.
func TestFull(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	rec := receive(t, func(int, http.ResponseWriter, *http.Request) { <-hang })
	s := NewSender([]config.Notify{{URL: rec.URL, Timeout: time.Hour}})
	for range queued + 10 {
		s.Tell(Event{Kind: "completed"})
	}
	close(hang)
	lost, told := 0, 0
	for _, r := range s.Close(t.Context()) {
		if r.Err == nil {
			told++
		} else {
			lost++
		}
	}
	if lost < 9 || told < queued {
		t.Errorf("%d lost, %d told", lost, told)
	}
}

// TestManyAtOnce: a command that finds a hundred dead runs notifies of all of them.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	rec := receive(t, func(int, http.ResponseWriter, *http.Request) { <-hang })
	s := NewSender([]config.Notify{{URL: rec.URL, Timeout: time.Hour}})
	for range 100 {
		s.Tell(Event{Kind: "interrupted"})
	}
	close(hang)
	for _, r := range s.Close(t.Context()) {
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
	if len(s.results) != 100 {
		t.Errorf("%d results", len(s.results))
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999999999999999999": 0, "9999999": 1e6 * time.Second,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
