package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"loops/fsm"
	"loops/fsm/confine"
	"loops/fsm/value"
	"loops/internal/sandbox"
)

// errForced ends requests when everything is to end at once.
var errForced = errors.New("stopped at once")

// call makes a request over HTTP, in this process: it ends with it, so nothing of it has to be found after a kill.
func (r *Runner) call(ctx context.Context, box *sandbox.Box, a fsm.Action, out func(string)) (fsm.Result, error) {
	ctx, release := r.forcible(ctx)
	defer release()
	began := time.Now()
	limited, cancel := ctx, context.CancelFunc(func() {})
	if a.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, a.Timeout)
	}
	defer cancel()
	call := r.requestOf(a)
	if box != nil {
		call.Refuse = func(address string) error { return mayReach(box, address) }
	}
	got, err := call.Do(limited)
	res := fsm.Result{Response: &fsm.Response{Headers: value.NewMap()}, Duration: time.Since(began)}
	switch {
	case err == nil:
		err = r.responded(&res, a, got, out)
		return res, err
	case ctx.Err() != nil:
		return res, nil //nolint:nilerr // a stop: the result is of no use
	case limited.Err() != nil:
		res.ExitCode, res.TimeoutKind, res.Stderr = 124, "wall", "HTTP call timed out"
	case errors.Is(err, ErrIdle):
		res.ExitCode, res.TimeoutKind, res.Stderr = 124, "idle", "HTTP call idle-timed out"
	case scarce(err): // no connection was made
		return res, err
	default:
		res.ExitCode, res.Stderr = fsm.CallFailed, r.Mask.Text(err.Error())
	}
	return res, nil
}

// forcible returns a context that also ends when [Runner.Force] is called.
func (r *Runner) forcible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[int]context.CancelCauseFunc{}
	}
	n := r.nextCall
	r.nextCall++
	r.calls[n] = cancel
	if r.forced.Load() {
		cancel(errForced)
	}
	return ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls, n)
		cancel(nil)
	}
}

func (r *Runner) requestOf(a fsm.Action) *HTTPCall {
	c := &HTTPCall{Method: a.Call.Method, URL: a.Call.URL, Body: a.Call.Body, HasBody: a.Call.HasBody, Idle: a.Idle}
	target, secure := targetOf(c.URL)
	for _, h := range a.Call.Headers {
		if secure {
			h.Value = confine.Write(r.Egress, target, h.Name, h.Value)
		}
		c.Headers = append(c.Headers, HTTPHeader(h))
	}
	for _, s := range a.Call.Secrets {
		c.Secrets = append(c.Secrets, HTTPSecret{Text: s.Value, Shown: fsm.EnvReference(s.Name)})
	}
	return c
}

// responded makes the result of a response, of which the body is the output.
func (r *Runner) responded(res *fsm.Result, a fsm.Action, got *HTTPResponse, out func(string)) error {
	res.Response.Status, res.Response.RetryAfter = got.Status, got.RetryAfter
	got.Body, got.Reason = r.Mask.Bytes(got.Body), r.Mask.Text(got.Reason)
	for _, name := range slices.Sorted(maps.Keys(got.Headers)) {
		res.Response.Headers.Set(name, r.Mask.Text(got.Headers[name]))
	}
	switch {
	case got.Status >= 200 && got.Status < 300:
	case got.Status >= 400 && got.Status < 500:
		res.ExitCode = fsm.CallRefused
	default:
		res.ExitCode = fsm.CallOther
	}
	if res.ExitCode != 0 {
		res.Stderr = got.Reason
	}
	text := []byte(value.OutputText(got.Body))
	if out != nil && !a.Quiet {
		l := lines{out: out}
		l.add(text, time.Now())
		l.end()
	}
	limit := cmp.Or(r.Cap, DefaultCap)
	var k keeper
	k.reset(limit, int64(min(fileFrom, limit)), r.outputFile(a, ".out"), r.settler())
	if err := errors.Join(k.add(got.Body, text), k.end(a.Keep)); err != nil {
		return fmt.Errorf("the response of state %q cannot be written to a file: %w", a.State, err)
	}
	res.Bytes, res.File = k.total, k.path
	res.Stdout, res.Truncated = k.text()
	return nil
}
