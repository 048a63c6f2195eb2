package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http/httptest"
	"testing"
	"time"
)

// TestHSTSOnAnyHost_35_2_7: a browser that had once opened a server with a certificate of its own could open no
// other port of that host for a year.
func TestHSTSOnAnyHost_35_2_7(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		DNSNames:    []string{"ci.example.org", "localhost", "ci", "x.localhost"},
		IPAddresses: []net.IP{net.IPv4(10, 0, 0, 7)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	own := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	known := x509.NewCertPool()
	known.AddCert(leaf)
	for _, c := range []struct {
		host, mode string
		roots      *x509.CertPool
		want       bool
	}{
		{"ci.example.org", "", known, true},
		{"ci.example.org:443", "auto", known, true},
		{"ci.example.org", "", x509.NewCertPool(), false}, // a certificate of its own
		{"ci.example.org", "never", known, false},
		{"ci.example.org", "always", x509.NewCertPool(), true},
		{"ci.example.org:8443", "", known, false},
		{"other.example.org", "", known, false},
		{"ci", "", known, false},
		{"localhost", "", known, false},
		{"x.localhost", "", known, false},
		{"10.0.0.7", "", known, false},
		{"[::1]", "", known, false},
	} {
		s, _ := newServer(t, &Access{})
		s.Hosts = append(s.Hosts, c.host)
		s.HSTS, s.trusted.roots = c.mode, c.roots
		s.TLS = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own, nil },
		}
		r := httptest.NewRequest("GET", "https://"+c.host+"/signin", nil)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if got := w.Header().Get("Strict-Transport-Security") != ""; got != c.want {
			t.Errorf("%s %s: %v, want %v", c.host, c.mode, got, c.want)
		}
	}
}
