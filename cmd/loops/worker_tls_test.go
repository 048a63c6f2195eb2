package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	text string // its own, in PEM
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	a := &authority{t: t, key: key, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, key.Public(), key)
	must(t, err)
	a.text = block("CERTIFICATE", der)
	return a
}

// certify returns a certificate for a name, which may be the address of a server, and its key.
func (a *authority) certify(name string) (cert, key string) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(a.t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		c.IPAddresses = []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, private.Public(), a.key)
	must(a.t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	must(a.t, err)
	return block("CERTIFICATE", der), block("PRIVATE KEY", secret)
}

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// TestWorkersOverTLS: workers and those who submit reach a database that takes nothing but client certificates,
// and refuse one that is not the one they mean.
func TestWorkersOverTLS(t *testing.T) {
	t.Parallel()
	f := fleetOn(t, ownPostgres(t), workerLease)
	f.write(".loops/three.yaml", threeSteps)
	f.write("go", "")
	ours, other := newAuthority(t, "ours"), newAuthority(t, "other")
	file := func(name, text string) string {
		path := filepath.Join(f.dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	cert, key := ours.certify("127.0.0.1")
	must(t, f.server.Write("server.crt", cert))
	must(t, f.server.Write("server.key", key))
	must(t, f.server.Write("root.crt", ours.text))
	must(t, f.server.Write("tls_hba.conf",
		"local all all trust\nhostssl all all 127.0.0.1/32 cert\nhostssl all all ::1/128 cert\n"))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f.server.Port = free.Addr().(*net.TCPAddr).Port
	must(t, free.Close())
	must(t, f.server.Stop())
	must(t, f.server.Configure("listen_addresses = 'localhost'", "ssl = on", "ssl_ca_file = 'root.crt'",
		"hba_file = '"+filepath.Join(f.server.Dir, "data/tls_hba.conf")+"'"))
	must(t, f.server.Launch(t.Context()))

	cert, key = ours.certify("loops") // the name of the user
	good := url.Values{
		"sslmode": {"verify-full"}, "sslrootcert": {file("root.crt", ours.text)}, "sslcert": {file("user.crt", cert)},
		"sslkey":      {file("user.key", key)},
		"search_path": {"fleet"}, "lease": {workerLease}, "connect_timeout": {"30"},
	}
	at := func(host string, change url.Values) string {
		q := url.Values{}
		for name, values := range good {
			q[name] = values
		}
		for name, values := range change {
			if q[name] = values; values == nil {
				delete(q, name)
			}
		}
		return fmt.Sprintf("postgres://loops@%s:%d/postgres?%s", host, f.server.Port, q.Encode())
	}
	foreign, foreignKey := other.certify("loops")
	anna, annaKey := ours.certify("anna")
	for what, c := range map[string]struct {
		location, want string
	}{
		"no certificate of the user": {
			at("127.0.0.1", url.Values{"sslcert": nil, "sslkey": nil}),
			"requires a valid client certificate",
		},
		"one of another authority": {
			at("127.0.0.1", url.Values{
				"sslcert": {file("foreign.crt", foreign)},
				"sslkey":  {file("foreign.key", foreignKey)},
			}), "requires a valid client certificate",
		},
		"one of another user": {
			at("127.0.0.1", url.Values{"sslcert": {file("anna.crt", anna)}, "sslkey": {file("anna.key", annaKey)}}),
			`certificate authentication failed for user "loops"`,
		},
		"a server of another authority": {
			at("127.0.0.1", url.Values{"sslrootcert": {file("other.crt", other.text)}}),
			"certificate signed by unknown authority",
		},
		"a server whose name is another's": {at("localhost", nil), "localhost"},
		"without encryption":               {at("127.0.0.1", url.Values{"sslmode": {"disable"}}), "no encryption"},
	} {
		g := f
		g.store = c.location
		for _, args := range [][]string{{"submit", "three"}, {"worker"}} {
			cmd := g.command(args...)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 74 || !strings.Contains(string(out), c.want) ||
				strings.Contains(string(out), "PRIVATE") {
				t.Errorf("%s: %v exits with %d and says %s, want %q", what, args, code, out, c.want)
			}
		}
	}
	f.store = at("127.0.0.1", nil)
	f.worker()
	id := f.submit("three")
	f.until("the run is over", func() bool { return f.status(id) == "completed" })
	f.wholeHistory(id, "a b c")
}
