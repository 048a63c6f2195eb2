package web

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"sync"
)

// HSTSModes are when browsers are told to open a host over HTTPS only, for a year: where that is certain to be
// right, always, never.
var HSTSModes = []string{"auto", "always", "never"}

// strict reports whether a browser is told to open the host of a request over HTTPS only. That holds for all
// ports of a host, and outlives the server. So "auto" is true only for a name with a dot, at the port of HTTPS,
// for which the certificate is one that the system trusts.
func (s *Server) strict(host string) bool {
	switch s.HSTS {
	case "always":
		return true
	case "never":
		return false
	}
	name := strings.TrimSuffix(host, ":443")
	if !strings.Contains(name, ".") || strings.Contains(name, ":") || net.ParseIP(name) != nil ||
		strings.HasSuffix(name, ".localhost") {
		return false
	}
	if s.TLS == nil || s.TLS.GetCertificate == nil {
		return false
	}
	c, err := s.TLS.GetCertificate(&tls.ClientHelloInfo{ServerName: name})
	return err == nil && s.trusted.has(c, name)
}

// trusted remembers for which hosts a certificate is one that the system trusts. The zero value is ready, for
// several goroutines at once.
type trusted struct {
	roots *x509.CertPool // nil = those of the system

	mu    sync.Mutex
	of    *tls.Certificate // guarded by mu
	hosts map[string]bool  // guarded by mu: of that certificate
}

func (t *trusted) has(c *tls.Certificate, host string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c != t.of {
		t.of, t.hosts = c, map[string]bool{}
	}
	is, known := t.hosts[host]
	if !known {
		is = verifies(c, host, t.roots)
		t.hosts[host] = is
	}
	return is
}

// verifies reports whether a client with these roots would take the certificate for the host.
func verifies(c *tls.Certificate, host string, roots *x509.CertPool) bool {
	if len(c.Certificate) == 0 {
		return false
	}
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		return false
	}
	between := x509.NewCertPool()
	for _, der := range c.Certificate[1:] {
		if one, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(one)
		}
	}
	_, err = leaf.Verify(x509.VerifyOptions{DNSName: host, Intermediates: between, Roots: roots})
	return err == nil
}
