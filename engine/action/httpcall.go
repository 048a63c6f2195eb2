package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The limits of a response, and how many redirects are followed.
const (
	MostBody      = 10 << 20
	mostHeaders   = 64 << 10
	mostRedirects = 10
)

// A HTTPHeader is one header of a request.
type HTTPHeader struct{ Name, Value string }

// A HTTPSecret is a text that is shown as Shown wherever the response or an error has it.
type HTTPSecret struct{ Text, Shown string }

// A HTTPCall is one request.
type HTTPCall struct {
	Method, URL string
	Headers     []HTTPHeader
	Body        string
	HasBody     bool
	Secrets     []HTTPSecret
	Idle        time.Duration              // longest time in which nothing comes; 0 = none
	Refuse      func(address string) error // why a redirect to an address is not followed; nil = all may be
}

// A HTTPResponse is what a server answered.
type HTTPResponse struct {
	Status     int
	Reason     string            // "404 Not Found", or why a redirect was not followed
	Headers    map[string]string // by names in lower case; several of one name are joined by ", ". Cookies are left out
	RetryAfter time.Duration     // 0 = the server does not say
	Body       []byte
}

// ErrIdle is the error of a call during which nothing came for too long.
var ErrIdle = errors.New("nothing came for too long")

// Do makes the request, and waits until the whole response is there or ctx ends. Each call has a connection of
// its own, and goes through the proxy that the environment of this process names. Redirects are followed: to
// another host without the headers of the call, and not at all where its body would go there. An error means
// that there is no response, or one with more than MostBody.
func (c *HTTPCall) Do(ctx context.Context) (*HTTPResponse, error) {
	hide := newHider(c.Secrets, c.URL)
	res, err := c.do(ctx)
	if err != nil {
		return nil, hide.err(err)
	}
	res.Body = hide.bytes(res.Body)
	res.Reason = hide.text(res.Reason)
	for name, v := range res.Headers {
		res.Headers[name] = hide.text(v)
	}
	return res, nil
}

func (c *HTTPCall) do(ctx context.Context) (*HTTPResponse, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := watch(c.Idle, func() { cancel(ErrIdle) })
	defer w.stop()
	req, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true,
		MaxResponseHeaderBytes: mostHeaders,
	}
	defer transport.CloseIdleConnections()
	guard := redirects{first: req.URL, refuse: c.Refuse}
	client := http.Client{Transport: transport, CheckRedirect: guard.check}
	res, err := client.Do(req)
	if err != nil {
		return nil, because(ctx, err)
	}
	defer res.Body.Close()
	w.heard()
	body, err := io.ReadAll(io.LimitReader(w.reader(res.Body), MostBody+1))
	switch {
	case err != nil:
		return nil, because(ctx, err)
	case len(body) > MostBody:
		return nil, fmt.Errorf("the response is larger than %d MiB; get it with curl in a shell action, into a file",
			MostBody>>20)
	}
	reason := res.Status
	if guard.refused != "" {
		reason += ": " + guard.refused
	}
	return &HTTPResponse{
		Status: res.StatusCode, Reason: reason, Headers: headers(res.Header), Body: body,
		RetryAfter: retryAfter(res.Header.Get("Retry-After"), time.Now()),
	}, nil
}

// because is the cause of an error where that is the end of ctx.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); ctx.Err() != nil && cause != nil {
		return cause
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err // what the request is, is printed beside it
	}
	return err
}

func (c *HTTPCall) request(ctx context.Context) (*http.Request, error) {
	var body io.Reader = http.NoBody
	if c.HasBody {
		body = strings.NewReader(c.Body)
	}
	req, err := http.NewRequestWithContext(ctx, c.Method, c.URL, body)
	if err != nil {
		return nil, because(ctx, err)
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "" {
		return nil, fmt.Errorf("the url is %q; expected an address that begins with http:// or https://", c.URL)
	}
	EscapeURL(req.URL)
	req.Header.Set("User-Agent", "loops")
	for _, h := range c.Headers {
		if strings.EqualFold(h.Name, "Host") {
			req.Host = h.Value
			continue
		}
		req.Header.Set(h.Name, h.Value)
	}
	return req, nil
}

// EscapeURL replaces what cannot stand in the first line of a request, such as blanks and quotes, in the query
// of an address: that of a path is replaced when it is sent.
func EscapeURL(u *url.URL) {
	var b strings.Builder
	for _, c := range []byte(u.RawQuery) {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	u.RawQuery = b.String()
}

// headers are those that are kept of a response.
func headers(of http.Header) map[string]string {
	kept := make(map[string]string, len(of))
	for name, values := range of {
		if name != "Set-Cookie" && name != "Set-Cookie2" {
			kept[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\ufffd")
		}
	}
	return kept
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(text string, now time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// redirects decides which redirects of a request are followed, and with what.
type redirects struct {
	first   *url.URL
	refuse  func(address string) error
	refused string // why one was not
}

func (r *redirects) check(req *http.Request, via []*http.Request) error {
	EscapeURL(req.URL)
	req.Header.Del("Referer") // it may hold the query of the address before
	switch {
	case len(via) >= mostRedirects:
		r.refused = fmt.Sprintf("%d redirects in a row", len(via))
		return http.ErrUseLastResponse
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		r.refused = "a redirect to something else than a web address is not followed"
		return http.ErrUseLastResponse
	case r.refuse != nil && r.refuse(req.URL.String()) != nil:
		r.refused = "the redirect was not followed: " + r.refuse(req.URL.String()).Error()
		return http.ErrUseLastResponse
	case sameServer(r.first, req.URL):
		return nil
	case req.Body != nil && req.Body != http.NoBody:
		r.refused = "the redirect to " + req.URL.Host + " was not followed, because the body would go to another server"
		return http.ErrUseLastResponse
	}
	for name := range req.Header {
		if name != "User-Agent" {
			req.Header.Del(name)
		}
	}
	req.Host = ""
	return nil
}

// sameServer reports whether what may be sent to the one may be sent to the other: it is the same host and
// port, or the same host by TLS instead of without.
func sameServer(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	if a.Scheme == b.Scheme {
		return port(a) == port(b)
	}
	return a.Scheme == "http" && port(a) == "80" && port(b) == "443"
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
