package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// An Endpoint is where one kind of telemetry goes, by OTLP over HTTP.
type Endpoint struct {
	URL     string // with /v1/traces or /v1/metrics; "" = nothing is sent
	Headers [][2]string
	Timeout time.Duration // of one request
}

// post sends a body, and returns the status of the answer, 0 where there is none. A status of 300 or more is an error.
func (e *Endpoint) post(ctx context.Context, body []byte) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return http.StatusBadRequest, err
	}
	r.Header.Set("Content-Type", "application/json")
	for _, h := range e.Headers {
		r.Header.Set(h[0], h[1])
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()                                       //nolint:errcheck // it was read
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, 64<<10)) // so that the connection can be used again
	if a.StatusCode >= 300 {
		return a.StatusCode, fmt.Errorf("the collector answers %s", a.Status)
	}
	return a.StatusCode, nil
}
