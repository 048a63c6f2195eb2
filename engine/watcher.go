package engine

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
)

// How much of the answer of a URL is kept, and how often it may send a look on.
const (
	mostAnswer   = 64 << 10
	mostRedirect = 10
)

// A Watcher looks at what states wait for; see [fsm.Watcher].
type Watcher struct {
	Records *project.Records // of the other runs; nil = there are none
}

// URL implements [fsm.Watcher]. Each look has a connection of its own, and the time that ctx leaves it.
func (w Watcher) URL(ctx context.Context, address string, follow bool) (fsm.Answered, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return fsm.Answered{}, fmt.Errorf("wait: %w", err)
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "" {
		return fsm.Answered{}, fmt.Errorf("wait: url is %q; expected an address that begins with http:// or https://",
			address)
	}
	action.EscapeURL(req.URL)
	client := http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			action.EscapeURL(req.URL)
			if !follow || len(via) >= mostRedirect {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
	res, err := client.Do(req)
	if err != nil {
		return fsm.Answered{Problem: err.Error()}, nil //nolint:nilerr // it is what the look saw
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	got := fsm.Answered{Status: res.StatusCode, Body: value.OutputText(body)}
	if err != nil {
		got.Problem = err.Error()
	}
	return got, nil
}

// Run implements [fsm.Watcher].
func (w Watcher) Run(ctx context.Context, name string) (fsm.OtherRun, error) {
	var runs []persistence.Run
	var err error
	if w.Records != nil {
		runs, err = w.Records.Finder().Runs(ctx, name, 1)
	}
	switch {
	case err != nil:
		return fsm.OtherRun{}, err
	case len(runs) == 0:
		return fsm.OtherRun{}, fmt.Errorf("wait: there is no run %q here, and no loop of that name has one", name)
	}
	r := runs[0]
	return fsm.OtherRun{ID: string(r.ID), Status: string(r.Status), State: r.State, End: endOf(r)}, nil
}

// endOf is how a run ended for one that waits for it; "" = it has not, or can be resumed as if it had not.
func endOf(r persistence.Run) string {
	switch r.Status {
	case persistence.Completed:
		return fsm.RunCompleted
	case persistence.Failed, persistence.TimedOut:
		return fsm.RunFailed
	case persistence.UserStopped:
		return fsm.RunStopped
	}
	return ""
}
