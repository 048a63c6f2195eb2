package sandbox

import (
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/fsm/confine"
)

// A proxy lets commands reach some hosts, by CONNECT and by requests over plain HTTP.
type proxy struct {
	hosts   []string     // HOST:PORT
	secrets *interceptor // nil = no host gets a secret
	mu      sync.Mutex
	refused []string // since the last look
}

const dialTimeout = 30 * time.Second

// serve serves what comes to a listener, until the server is closed.
func (p *proxy) serve(l net.Listener) *http.Server {
	s := &http.Server{Handler: p, ReadHeaderTimeout: dialTimeout}
	go func() { _ = s.Serve(l) }()
	return s
}

// takeRefused returns what was refused since the last call, each once.
func (p *proxy) takeRefused() []string {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.refused
	p.refused = nil
	return list
}

// mostRefused bounds what is remembered of a program that tries everything.
const mostRefused = 20

func (p *proxy) lets(target string) bool {
	if confine.Reaches(p.hosts, target) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) < mostRefused && !slices.Contains(p.refused, target) {
		p.refused = append(p.refused, target)
	}
	return false
}

// ServeHTTP implements [http.Handler].
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.Host
	if r.Method != http.MethodConnect {
		if target = r.URL.Host; r.URL.Port() == "" {
			target = net.JoinHostPort(r.URL.Hostname(), "80")
		}
	}
	if !p.lets(target) {
		http.Error(w, "the sandbox does not let this reach "+target, http.StatusForbidden)
		return
	}
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}).ServeHTTP(w, r)
}

// tunnel passes bytes between the command and the host, or requests where the host gets a secret.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	secret := p.secrets.covers(r.Host)
	var out net.Conn
	if !secret {
		var err error
		if out, err = net.DialTimeout("tcp", r.Host, dialTimeout); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = out.Close() }()
	}
	in, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = in.Close() }()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	if secret {
		p.secrets.serve(in, buffered.Reader, r.Host)
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(out, buffered)
		_ = out.(*net.TCPConn).CloseWrite()
	})
	both.Go(func() {
		_, _ = io.Copy(in, out)
		if t, ok := in.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
	})
	both.Wait()
}

// proxyVars are the variables that name a proxy to programs.
func proxyVars(address string, hosts []string) []string {
	url := "http://" + address
	local := "localhost,127.0.0.1,::1" // of the command's own network
	for _, h := range hosts {
		if name, _, _ := net.SplitHostPort(h); slices.Contains(strings.Split(local, ","), name) {
			local = ""
			break
		}
	}
	return []string{
		"HTTP_PROXY=" + url, "HTTPS_PROXY=" + url, "http_proxy=" + url, "https_proxy=" + url, "NO_PROXY=" + local, "no_proxy=" + local,
		"NODE_USE_ENV_PROXY=1",
	}
}
