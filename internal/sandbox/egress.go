package sandbox

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"loops/fsm/confine"
)

// An interceptor ends the TLS of commands that ask hosts which get a secret, and asks them itself: with the secret in
// place of its stand-in. It has an authority of its own for certificates, whose key is nowhere but in its memory.
type interceptor struct {
	list  []confine.Egress
	dir   string // of the files that commands trust
	vars  []string
	to    *http.Transport
	key   *ecdsa.PrivateKey
	root  *x509.Certificate
	mu    sync.Mutex
	leafs map[string]*tls.Certificate
}

// certificateTime is how long a run may take at most in which certificates of its proxy are accepted.
const certificateTime = 366 * 24 * time.Hour

// bundles are where systems keep the certificates that they trust.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
}

// newInterceptor makes an authority, and files below dir by which programs trust it. The user's own files with
// certificates, which the environment names, are trusted besides, by commands and for what is asked for them.
func newInterceptor(list []confine.Egress, dir string, env []string) (*interceptor, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "loops: the proxy of one run"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateTime), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	if root, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	system := lookup(env, "SSL_CERT_FILE")
	if system == "" {
		if i := slices.IndexFunc(bundles, func(f string) bool { _, err := os.Stat(f); return err == nil }); i >= 0 {
			system = bundles[i]
		}
	}
	trusted := slices.Clone(own)
	for _, file := range []string{system, lookup(env, "NODE_EXTRA_CA_CERTS")} {
		if b, err := os.ReadFile(file); err == nil {
			pool.AppendCertsFromPEM(b)
			trusted = append(append(trusted, '\n'), b...)
		}
	}
	if dir, err = os.MkdirTemp(dir, ".ca-*"); err != nil {
		return nil, err
	}
	bundle := filepath.Join(dir, "trusted.pem")
	if err := os.WriteFile(bundle, trusted, 0o600); err != nil {
		return nil, err
	}
	return &interceptor{
		list: list, dir: dir, key: key, root: root, leafs: map[string]*tls.Certificate{},
		to: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: true, DisableCompression: true,
		},
		vars: []string{
			"NODE_EXTRA_CA_CERTS=" + bundle, "SSL_CERT_FILE=" + bundle, "CURL_CA_BUNDLE=" + bundle,
			"REQUESTS_CA_BUNDLE=" + bundle,
			"GIT_SSL_CAINFO=" + bundle, "CODEX_CA_CERTIFICATE=" + bundle,
		},
	}, nil
}

// close removes the files that commands trust.
func (i *interceptor) close() {
	if i != nil {
		i.to.CloseIdleConnections()
		_ = os.RemoveAll(i.dir)
	}
}

// covers reports whether a host gets a secret.
func (i *interceptor) covers(target string) bool {
	return i != nil && slices.ContainsFunc(i.list, func(e confine.Egress) bool {
		return confine.Reaches(e.Hosts, target)
	})
}

// leaf returns a certificate for a host.
func (i *interceptor) leaf(host string) (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c := i.leafs[host]; c != nil {
		return c, nil
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: host},
		NotBefore: i.root.NotBefore, NotAfter: i.root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, i.root, &i.key.PublicKey, i.key)
	if err != nil {
		return nil, err
	}
	i.leafs[host] = &tls.Certificate{Certificate: [][]byte{der, i.root.Raw}, PrivateKey: i.key}
	return i.leafs[host], nil
}

// serve answers the requests of a connection that a command takes for one to target, HOST:PORT.
func (i *interceptor) serve(conn net.Conn, early *bufio.Reader, target string) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return
	}
	c, err := i.leaf(host)
	if err != nil {
		return
	}
	secure := tls.Server(buffered{conn, early},
		&tls.Config{Certificates: []tls.Certificate{*c}, MinVersion: tls.VersionTLS12})
	name := target
	if port == "443" {
		name = host
	}
	pass := &httputil.ReverseProxy{
		Transport: i.to, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			// To the host that was asked for, whatever the request says: another one after the same address
			// gets nothing.
			r.Out.URL = &url.URL{
				Scheme: "https", Host: target, Path: r.In.URL.Path, RawPath: r.In.URL.RawPath,
				RawQuery: r.In.URL.RawQuery,
			}
			r.Out.Host = name
			for header, values := range r.Out.Header {
				for k, v := range values {
					values[k] = confine.Write(i.list, target, header, v)
				}
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the proxy of the sandbox cannot ask "+target+": "+err.Error(), http.StatusBadGateway)
		},
	}
	one := &oneConn{conn: secure, done: make(chan struct{})}
	taken := false // by another protocol, which lasts as long as its request
	handle := func(w http.ResponseWriter, r *http.Request) {
		pass.ServeHTTP(w, r)
		if taken {
			one.over()
		}
	}
	server := &http.Server{
		Handler: http.HandlerFunc(handle), ReadHeaderTimeout: dialTimeout,
		ConnState: func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateHijacked:
				taken = true
			case http.StateClosed:
				one.over()
			}
		},
	}
	_ = server.Serve(one)
}

// buffered is a connection of which something was read already.
type buffered struct {
	net.Conn
	early *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.early.Read(p) }

// oneConn is a listener to which one connection comes. It ends with that.
type oneConn struct {
	conn net.Conn
	once sync.Once
	done chan struct{}
	mu   sync.Mutex
}

func (l *oneConn) over() { l.once.Do(func() { close(l.done) }) }

// Accept implements [net.Listener].
func (l *oneConn) Accept() (net.Conn, error) {
	l.mu.Lock()
	conn := l.conn
	l.conn = nil
	l.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

// Close implements [net.Listener].
func (l *oneConn) Close() error { return nil }

// Addr implements [net.Listener].
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
