package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/engine/action"
	"loops/internal/config"
)

// The headers of a webhook besides its content type.
const (
	HeaderEvent     = "X-Loops-Event"     // the kind of the event
	HeaderDelivery  = "X-Loops-Delivery"  // Event.Delivery: the same in every attempt
	HeaderSignature = "X-Loops-Signature" // see Sign
)

const (
	firstPause    = 500 * time.Millisecond // before the second attempt; doubles
	longestPause  = 10 * time.Second
	longestAsked  = time.Minute // that a receiver may ask to wait
	mostAnswer    = 4 << 10     // bytes of an answer that are read
	mostRedirects = 3           // that are followed
)

// Sign returns the signature of a body that is sent at t: "t=SECONDS,v1=HEX", where HEX is the HMAC-SHA256 of
// "SECONDS.BODY" with the secret.
func Sign(secret string, t time.Time, body []byte) string {
	at := strconv.FormatInt(t.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	return "t=" + at + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// A message is what a webhook gets.
type message struct {
	kind, delivery string // of the headers
	form           string // content type
	body           []byte
}

// post sends a message, again if that may help.
func (s *Sender) post(t config.Notify, m message, limit time.Duration) (attempts int, err error) {
	secret := ""
	if t.Secret.Set() {
		if secret, err = t.Secret.Read(s.Getenv); err != nil {
			return 0, fmt.Errorf("the key of the signature is missing: %w", err)
		}
	}
	client := newClient()
	defer client.CloseIdleConnections()
	pause := s.backoff
	if pause == 0 {
		pause = firstPause
	}
	for {
		attempts++
		wait, err := s.attempt(client, t, m, secret, limit)
		switch {
		case err == nil:
			return attempts, nil
		case s.ctx.Err() != nil:
			return attempts, context.Cause(s.ctx)
		case wait == never || attempts > t.Retries:
			return attempts, err
		case wait > longestAsked:
			return attempts, fmt.Errorf("%w, and asks to wait %s", err, wait)
		}
		// Others who failed at the same time should not come back at the same time.
		wait = max(wait, pause/2+rand.N(pause/2+1))
		pause = min(2*pause, longestPause)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
			return attempts, fmt.Errorf("%w; the last attempt: %w", context.Cause(s.ctx), err)
		}
	}
}

// never is the wait after an error that another attempt would not fix.
const never time.Duration = -1

// attempt sends a message once. wait is how long the receiver wants not to be asked again, 0 if it does not say.
func (s *Sender) attempt(client *http.Client, t config.Notify, m message, secret string,
	limit time.Duration,
) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(s.ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(m.body))
	if err != nil {
		return never, plain(err)
	}
	action.EscapeURL(req.URL)
	req.Header.Set("Content-Type", m.form)
	req.Header.Set("User-Agent", "loops")
	req.Header.Set(HeaderEvent, m.kind)
	req.Header.Set(HeaderDelivery, m.delivery)
	if secret != "" {
		req.Header.Set(HeaderSignature, Sign(secret, time.Now(), m.body))
	}
	resp, err := client.Do(req)
	if err != nil {
		var cert *tls.CertificateVerificationError
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case errors.As(err, &cert):
			return never, plain(err)
		}
		return 0, plain(err)
	}
	defer resp.Body.Close()
	code := resp.StatusCode
	if code >= 200 && code < 300 {
		return 0, nil
	}
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, mostAnswer)) // what it says is for the message only
	err = fmt.Errorf("it answered %d %s", code, http.StatusText(code))
	if to, e := resp.Location(); e == nil && code < 400 {
		err = fmt.Errorf("it answered %d, to go to %s, which is not followed: only 307 and 308 to the same host "+
			"are, %d times", code, to.Host, mostRedirects)
	} else if line, _, _ := strings.Cut(strings.TrimSpace(string(answer)), "\n"); line != "" {
		err = fmt.Errorf("%w: %s", err, shortened(printable(discreet(line, req.URL, secret)), 200))
	}
	if code == http.StatusTooManyRequests || code >= 500 {
		return retryAfter(resp.Header.Get("Retry-After"), time.Now()), err
	}
	return never, err
}

// discreet takes out of an answer what may be secret of what was sent: many receivers say which path they do not know.
func discreet(line string, u *url.URL, secret string) string {
	hide := []string{secret, u.RawQuery}
	if password, ok := u.User.Password(); ok {
		hide = append(hide, password)
	}
	for _, values := range u.Query() {
		hide = append(hide, values...)
	}
	hide = append(hide, strings.Split(u.Path, "/")...)
	hide = append(hide, strings.Split(u.EscapedPath(), "/")...)
	slices.SortFunc(hide, func(a, b string) int { return len(b) - len(a) })
	for _, h := range hide {
		if len(h) >= leastSecret {
			line = strings.ReplaceAll(line, h, "…")
		}
	}
	return line
}

// leastSecret is how long a part of an address is, in bytes, that opens anything.
const leastSecret = 5

// shortened cuts a line after so many characters.
func shortened(line string, most int) string {
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + "…"
	}
	return line
}

// newClient returns a client that checks certificates, keeps no connection, and follows a redirect only where the event
// stays with the host it is meant for.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			first := via[0]
			if req.Method != first.Method || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host ||
				len(via) > mostRedirects {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// retryAfter reads the header of that name: seconds, or a time.
func retryAfter(value string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(value); err == nil && n >= 0 {
		return time.Duration(min(n, 1e6)) * time.Second
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(0, t.Sub(now).Round(time.Second))
	}
	return 0
}

// plain takes the address out of an error, which may be secret.
func plain(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
