// Package web serves the runs and loops of projects over HTTP: pages for people, objects for programs, a stream
// of what changes. It owns no run: what it starts is carried by processes that outlive it, and what it sends to
// a run is a command on record.
//
// # Pages
//
// The server draws pages, and reads for each what it shows: of the parts of a run's page (?tab=) only the one that is
// asked for. What a run did is read once into a chronicle, a line a step, and from its end on after that; for a long
// run that happens beside the first page, which shows the newest steps, read backwards from the end, until the whole
// is there. The last eight runs that were looked at are kept.
//
// A page that is open is fetched again when its runs change, and the parts that differ (data-swap) take the place of
// the old ones; links inside a run and windows of older steps are fetched in the same manner. htmx would do that too,
// with a vendored file of 50 KB and attributes that hold code unless they are switched off; assets/app.js does it in
// some 200 lines that know one rule, and the rest of what it does (one stream a browser, focus and selection that
// stay) would be our own with htmx as well. The policy of the pages forbids code and styles in them: a colour is a
// class, the width of a bar an attribute of SVG.
package web

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/engine/trigger"
	"loops/internal/app"
)

// A Session is what one request works with. The caller that opened it closes it.
type Session struct {
	*app.Service
	InWords func(err error) error // says an error, and what was noted before it, as the command does
	Known   []string              // the name of the user who asks, where users sign in; nil = it proves nothing
}

// A Project is one folder with loops whose runs are served.
type Project struct {
	Name string // in addresses
	Dir  string
	Open func() (*Session, error)
	// has another process carry a run
	Begin func(ctx context.Context, request engine.Request, words []string) (run string, err error)
	// takes its webhooks; nil = it takes none
	Hooks *trigger.Desk
	// opens the folder again, with its files as they are now
	Again func() (*project.Project, error)

	Examine func(ctx context.Context) ([]app.Finding, error) // what doctor finds without a prompt
}

// Options are what a server is made of.
type Options struct {
	Projects []Project
	Access   *Access      // how users are known
	BasePath string       // "" or "/loops": what is before each address
	Hosts    []string     // the values of the header Host that are answered, exactly
	AnyIP    string       // a port with which each address of IP is answered, too; "" = none is
	TLS      *tls.Config  // nil = nothing is encrypted
	Edit     bool         // authors may change loops
	HSTS     string       // one of HSTSModes; "" = the first
	Audit    func(string) // takes a line for each write, and for each attempt to sign in
}

// A Server answers requests. Make it with [New].
type Server struct {
	Options
	hub     hub
	streams chan struct{} // a place for each stream
	pacer   pacer
	trusted trusted

	chronicles chronicles // of the runs that pages show
	spent      spent
	uses       uses
	examined   examined
	gauges     gauges
	bundles    chan struct{} // a place for each that is made
	places     struct {      // which of the projects are where
		once    sync.Once
		workers bool // guarded by once
	}
	done <-chan struct{}
}

// Limits of what a request may be and take.
const (
	maxHeader  = 64 << 10
	maxBody    = 1 << 20
	maxStreams = 64
	maxBundles = 2
	headerTime = 5 * time.Second
	bodyTime   = 30 * time.Second
	answerTime = 2 * time.Minute
	idleTime   = 2 * time.Minute
)

// New returns a server that works until ctx ends.
func New(ctx context.Context, o Options) *Server {
	s := &Server{
		Options: o, streams: make(chan struct{}, maxStreams), bundles: make(chan struct{}, maxBundles),
		done: ctx.Done(),
	}
	s.Access.prepare()
	s.gauges.since = time.Now()
	s.hub.look = func() map[string]string { return s.digest(ctx) }
	return s
}

// Serve answers what comes to l until the context of the server ends. Streams end with it, and what is being
// answered gets a few seconds.
func (s *Server) Serve(l net.Listener) error { return s.serve(l, s.Handler()) }

func (s *Server) serve(l net.Listener, handler http.Handler) error {
	defer s.gauges.close()
	server := &http.Server{
		Handler: handler, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime,
		IdleTimeout: idleTime,
		TLSConfig:   s.TLS, ErrorLog: log.New(io.Discard, "", 0), // what clients do wrong is theirs to see
	}
	ended := make(chan error, 1)
	go func() {
		<-s.done
		ctx, cancel := context.WithTimeout(context.Background(), headerTime)
		defer cancel()
		_ = server.Shutdown(ctx) // what takes longer is cut off
		ended <- server.Close()
	}()
	var most func(string) bool
	if p := s.Access.Proxy; p != nil {
		most = p.Trusts
	}
	from := newLimited(l, most)
	server.ConnState = from.Track
	var err error
	if s.TLS != nil {
		err = server.ServeTLS(from, "", "")
	} else {
		err = server.Serve(from)
	}
	if err != http.ErrServerClosed { //nolint:errorlint // it is returned as it is
		return err
	}
	return <-ended
}

// Handler returns what answers, behind all that guards it.
func (s *Server) Handler() http.Handler {
	root := http.NewServeMux()
	root.HandleFunc("GET "+s.BasePath+"/healthz", healthy)
	root.Handle(s.BasePath+"/", http.StripPrefix(s.BasePath, s.guard(timed(s.exchange(s.mux())))))
	return root
}

func healthy(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }

// project returns the project that an address names.
func (s *Server) project(r *http.Request) (Project, bool) {
	for _, p := range s.Projects {
		if p.Name == r.PathValue("project") {
			return p, true
		}
	}
	return Project{}, false
}

// CleanBase returns a base path as a server has it: "" or "/a/b".
func CleanBase(path string) string {
	if path = strings.Trim(path, "/"); path == "" {
		return ""
	}
	return "/" + path
}
