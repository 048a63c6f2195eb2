package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// seen is what a server saw of the requests, one line each.
type seen struct {
	*httptest.Server
	lines chan string
}

// serve starts a server that records each request, and answers as answer says.
func serve(t *testing.T, answer http.HandlerFunc) *seen {
	s := &seen{lines: make(chan string, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.lines <- fmt.Sprintf("%s %s key=%q auth=%q cookie=%q referer=%q body=%q", r.Method, r.URL.Path,
			r.Header.Get("X-Key"), r.Header.Get("Authorization"), r.Header.Get("Cookie"), r.Header.Get("Referer"), body)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *seen) all() (lines []string) {
	for {
		select {
		case l := <-s.lines:
			lines = append(lines, l)
		default:
			return lines
		}
	}
}

func doHTTP(t *testing.T, c *HTTPCall) *HTTPResponse {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := c.Do(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// What a call carries to a server does not go to the one that this sends it on to.
func TestRedirectsToOthersCarryNothing(t *testing.T) {
	t.Parallel()
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "there") }
	other := serve(t, ok)
	first := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch to := r.URL.Query().Get("to"); {
		case to == "other":
			http.Redirect(w, r, other.URL+"/landed", http.StatusFound)
		case to == "keep":
			http.Redirect(w, r, other.URL+"/landed", http.StatusTemporaryRedirect)
		case to == "self":
			http.Redirect(w, r, "/self", http.StatusFound)
		case to == "file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case r.URL.Path == "/circle":
			http.Redirect(w, r, "/circle", http.StatusFound)
		default:
			ok(w, r)
		}
	})
	headers := []HTTPHeader{{"X-Key", "k"}, {"Authorization", "a"}, {"Cookie", "c=1"}}
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		reason                   string
		first, other             []string
	}{
		{
			"to another", "GET", "/?to=other", "", 200, "200 OK",
			[]string{`GET / key="k" auth="a" cookie="c=1" referer="" body=""`},
			[]string{`GET /landed key="" auth="" cookie="" referer="" body=""`},
		},
		{
			"a body that would go along", "POST", "/?to=keep", "b", 307,
			"was not followed, because the body would go to another server",
			[]string{`POST / key="k" auth="a" cookie="c=1" referer="" body="b"`},
			nil,
		},
		{
			"to itself", "GET", "/?to=self", "", 200, "200 OK",
			[]string{
				`GET / key="k" auth="a" cookie="c=1" referer="" body=""`,
				`GET /self key="k" auth="a" cookie="c=1" referer="" body=""`,
			},
			nil,
		},
		{"to a file", "GET", "/?to=file", "", 302, "something else than a web address", nil, nil},
		{"in circles", "GET", "/circle", "", 302, "10 redirects in a row", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := doHTTP(t, &HTTPCall{
				Method: c.method, URL: first.URL + c.path, Headers: headers, Body: c.body,
				HasBody: c.body != "",
			})
			if got.Status != c.status || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("status %d (%s), want %d (%s)", got.Status, got.Reason, c.status, c.reason)
			}
			at, there := first.all(), other.all()
			if c.first != nil && strings.Join(at, "\n") != strings.Join(c.first, "\n") ||
				strings.Join(there, "\n") != strings.Join(c.other, "\n") {
				t.Errorf("the first server saw\n%s\nand the other\n%s", strings.Join(at, "\n"),
					strings.Join(there, "\n"))
			}
		})
	}
}

// However a server sends a secret back, it does not come out; nor does it in an error.
func TestSecretsDoNotComeBack(t *testing.T) {
	t.Parallel()
	const secret = `pa"ss wörd/4711`
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Back", r.Header.Get("X-Key"))
		w.Header().Set("Set-Cookie", "session=1")
		_, _ = fmt.Fprintf(w, "plain %s, as JSON %q, in a query %s, as a path %s; %s", secret, secret,
			url.QueryEscape(secret), url.PathEscape(secret), r.Header.Get("Authorization"))
	})
	at := strings.Replace(server.URL, "http://", "http://me:"+url.PathEscape(secret)+"@", 1)
	c := &HTTPCall{
		Method: "GET", URL: at + "/?q=" + url.QueryEscape(secret),
		Secrets: []HTTPSecret{
			{secret, "${env.PW}"},
			{"x", "${env.X}"},
			{server.URL, "${env.BASE}"},
			{url.PathEscape(secret), "${env.PW}"},
		},
	}
	c.Headers = []HTTPHeader{{"X-Key", url.QueryEscape(secret)}}
	got := doHTTP(t, c)
	if want := "plain ${env.PW}, as JSON \"${env.PW}\", in a query ${env.PW}, as a path ${env.PW}; Basic " +
		"[credentials of the url]"; string(got.Body) != want {
		t.Errorf("%s\nwant\n%s", got.Body, want)
	}
	if got.Headers["x-back"] != "${env.PW}" || got.Headers["set-cookie"] != "" {
		t.Errorf("headers %v", got.Headers)
	}
	c.URL = "http://127.0.0.1:1/" + url.PathEscape(secret)
	if _, err := c.Do(t.Context()); err == nil || strings.Contains(err.Error(), "4711") ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("a refused connection: %v", err)
	}
	c.URL = "gopher://" + url.PathEscape(secret)
	if _, err := c.Do(t.Context()); err == nil || strings.Contains(err.Error(), "4711") {
		t.Errorf("no web address: %v", err)
	}
}

func TestHidden(t *testing.T) {
	t.Parallel()
	const server = "https://api.example.com:8443"
	for _, c := range []struct{ text, want string }{
		{"s3cret", "s3cret"},
		{"https://api.example.com:8443", ""},
		{"api.example.com", ""},
		{"8443", ""},
		{"https://api.example.com:8443/v1", ""},
		{"https://hooks.example.com/services/T1/B2", "https://hooks.example.com/services/T1/B2 /services/T1/B2"},
		{"https://me:pass@api.example.com:8443/", "https://me:pass@api.example.com:8443/ pass"},
		{"https://token@api.example.com:8443/", "https://token@api.example.com:8443/ token"},
	} {
		if got := strings.Join(hidden(c.text, server), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestALargeResponse(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(w, zerosOfBody{}, MostBody+int64(len(r.URL.RawQuery)))
	})
	if got := doHTTP(t, &HTTPCall{Method: "GET", URL: server.URL}); len(got.Body) != MostBody {
		t.Errorf("%d bytes", len(got.Body))
	}
	if _, err := (&HTTPCall{Method: "GET", URL: server.URL + "?x"}).Do(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "larger than 10 MiB") {
		t.Errorf("one byte more: %v", err)
	}
}

type zerosOfBody struct{}

func (zerosOfBody) Read(p []byte) (int, error) { return len(p), nil }

// A server that says nothing, or stops in the middle of it, is given up after the silence that is allowed; so
// is one whose call is not wanted any more.
func TestSilence(t *testing.T) {
	t.Parallel()
	for _, begin := range []string{"", "the beginning"} {
		arrived := make(chan struct{})
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/stopped" {
				close(arrived)
			}
			if begin != "" {
				_, _ = io.WriteString(w, begin)
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		})
		if _, err := (&HTTPCall{Method: "GET", URL: server.URL, Idle: 100 * time.Millisecond}).Do(
			t.Context()); !errors.Is(err, ErrIdle) {
			t.Errorf("after %q: %v", begin, err)
		}
		stop := errors.New("not wanted any more")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-arrived; cancel(stop) }()
		if _, err := (&HTTPCall{Method: "GET", URL: server.URL + "/stopped"}).Do(ctx); !errors.Is(err, stop) {
			t.Errorf("after %q: %v", begin, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, " 120 ": 2 * time.Minute, "-1": 0, "0": 0, "soon": 0, "99999999999": 0,
		"Mon, 23 Nov 2026 12:00:30 GMT": 30 * time.Second, "Mon, 23 Nov 2026 11:00:30 GMT": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestSameServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"http://a/", "http://a/x", true},
		{"http://a/", "http://A:80/", true},
		{"http://a/", "https://a/", true},
		{"https://a/", "http://a/", false},
		{"http://a/", "http://a:81/", false},
		{"https://a/", "https://b.a/", false},
		{"http://a:81/", "https://a/", false},
	} {
		a, _ := url.Parse(c.a)
		b, _ := url.Parse(c.b)
		if got := sameServer(a, b); got != c.want {
			t.Errorf("%s to %s: %v", c.a, c.b, got)
		}
	}
}
