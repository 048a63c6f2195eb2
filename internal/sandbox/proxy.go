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
	refused map[string][]string // by the address at which a command that runs asks the proxy
	last    uint16              // number of the newest command
}

const dialTimeout = 30 * time.Second

// serve serves what comes to a listener, until the server is closed.
func (p *proxy) serve(l net.Listener) *http.Server {
	s := &http.Server{Handler: p, ReadHeaderTimeout: dialTimeout}
	go func() { _ = s.Serve(l) }()
	return s
}

// begin returns the address at which a new command asks the proxy: each has its own, so that what was refused
// is told of the command that asked.
func (p *proxy) begin() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		p.last++
		address := net.IPv4(127, 1, byte(p.last>>8), byte(p.last)).String()
		if _, runs := p.refused[address]; !runs {
			p.refused[address] = nil
			return address
		}
	}
}

// end returns what was refused at an address, each once. The command has ended.
func (p *proxy) end(address string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.refused[address]
	delete(p.refused, address)
	return list
}

// mostRefused bounds what is remembered of a program that tries everything.
const mostRefused = 20

// lets reports whether a target may be reached. What is refused is remembered of the command that asks at an address.
func (p *proxy) lets(address, target string) bool {
	if confine.Reaches(p.hosts, target) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if list, runs := p.refused[address]; runs && len(list) < mostRefused && !slices.Contains(list, target) {
		p.refused[address] = append(list, target)
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
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	address, _, _ := net.SplitHostPort(at.String())
	if !p.lets(address, target) {
		http.Error(w, "the sandbox does not let this reach "+target, http.StatusForbidden)
		return
	}
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	(&httputil.ReverseProxy{
		Rewrite:   func(*httputil.ProxyRequest) {},
		Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true},
	}).ServeHTTP(w, r)
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
		"HTTP_PROXY=" + url, "HTTPS_PROXY=" + url, "http_proxy=" + url, "https_proxy=" + url, "NO_PROXY=" + local,
		"no_proxy=" + local,
		"NODE_USE_ENV_PROXY=1",
	}
}
