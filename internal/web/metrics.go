package web

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"loops/engine/project"
	"loops/internal/auth"
	"loops/internal/config"
	"loops/internal/humanize"
	"loops/internal/telemetry"
)

// A gauges counts what the projects of a server record from its start on. The zero gauges is not ready: since is set.
type gauges struct {
	since time.Time

	mu    sync.Mutex
	feeds map[string]*telemetry.Feed // guarded by mu; by name of the project
}

// feed returns what counts for a project.
func (g *gauges) feed(name string) *telemetry.Feed {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.feeds == nil {
		g.feeds = map[string]*telemetry.Feed{}
	}
	if g.feeds[name] == nil {
		g.feeds[name] = &telemetry.Feed{Meter: &telemetry.Meter{}, Project: name, Since: g.since}
	}
	return g.feeds[name]
}

// close closes the stores.
func (g *gauges) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.feeds {
		f.Close()
	}
}

var (
	errMetricsToken  = errors.New("send the token that serve.metrics_token names: Authorization: Bearer TOKEN")
	errMetricsUnread = errors.New("the token that serve.metrics_token names cannot be read")
	errMetricsLocal  = errors.New("without serve.metrics_token only this machine may read metrics, and not " +
		"through a proxy")
)

// metrics answers with the metrics of the projects that want it and that the client may read. Others are left out, and
// where all are the answer is a refusal.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	var meters []*telemetry.Meter
	var refusal error
	for _, served := range s.Projects {
		p, err := served.Again()
		var conf *config.Config
		if err == nil {
			conf, err = p.Config()
		}
		if err != nil {
			http.Error(w, humanize.OneLine(err), http.StatusInternalServerError)
			return
		}
		if conf.Metrics.On != "true" {
			continue
		}
		if err := s.mayMeasure(r, p, conf.Metrics.Token); err != nil {
			refusal = err
			continue
		}
		feed := s.gauges.feed(served.Name)
		if err := look(r.Context(), feed, p); err != nil {
			http.Error(w, humanize.OneLine(err), http.StatusServiceUnavailable)
			return
		}
		meters = append(meters, feed.Meter)
	}
	switch {
	case meters == nil && refusal != nil:
		s.tell(r, "metrics", "result", "refused")
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, refusal.Error(), http.StatusUnauthorized)
		return
	case meters == nil:
		http.Error(w, "no project that is served has serve.metrics: true in its settings", http.StatusNotFound)
		return
	}
	var text bytes.Buffer
	_ = telemetry.Write(&text, meters...) // into memory
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(text.Bytes()) // the client may be gone
}

// scrapeTime is how long the answer waits for what is new.
const scrapeTime = 30 * time.Second

func look(ctx context.Context, f *telemetry.Feed, p *project.Project) error {
	ctx, cancel := context.WithTimeout(ctx, scrapeTime)
	defer cancel()
	return f.Look(ctx, p)
}

// mayMeasure returns why a client may not read the metrics of a project.
func (s *Server) mayMeasure(r *http.Request, p *project.Project, token config.Secret) error {
	if !token.Set() {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil || !IsLoopback(host) || s.Access.Proxy != nil ||
			r.Header.Get("X-Forwarded-For")+r.Header.Get("Forwarded") != "" {
			return errMetricsLocal
		}
		return nil
	}
	word, err := token.Read(func(name string) (string, bool) { return project.LookEnv(p.Env, name) })
	if err != nil {
		return errMetricsUnread
	}
	bearer, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !is || len(r.Header["Authorization"]) != 1 || !auth.Same(bearer, word) {
		return errMetricsToken
	}
	return nil
}
